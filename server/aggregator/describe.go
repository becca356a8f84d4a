package aggregator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/openapi"
)

// partName names the part of a version's description that its own server gives.
const partName = "APIService"

// describe tells clients what a server has, as far as it says so. Of one that is away they see what it had, marked as stale.
func (s *Server) describe(ctx context.Context, gv schema.GroupVersion, r *remote, there bool) {
	known := discovery.Remote{Priority: discovery.Priority{Group: r.spec.GroupPriorityMinimum, Version: r.spec.VersionPriority}, Stale: true}
	if !there {
		s.config.Discovery.SetRemote(gv, known)
		return
	}
	host, err := s.locate(ctx, r.ref)
	if err == nil {
		known.Resources, err = r.list(ctx, host, gv)
	}
	if known.Stale = err != nil; err == nil && known.Resources == nil {
		known.Resources = []apidiscoveryv2.APIResourceDiscovery{}
	}
	if r.resources.Store(nil); err == nil {
		r.resources.Store(&known.Resources)
	}
	s.config.Discovery.SetRemote(gv, known)
	if err == nil {
		err = s.describeOpenAPI(ctx, host, gv, r)
	}
	if err != nil && ctx.Err() == nil {
		s.config.Kit.Log.Warn("a server of an API service does not say what it has", "name", r.name, "error", err)
	}
}

// asList is the media type of one document of all resources.
const asList = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// list has the resources of a version, by the document of all that the server has, or by the page of the version if it has none.
func (r *remote) list(ctx context.Context, host string, gv schema.GroupVersion) ([]apidiscoveryv2.APIResourceDiscovery, error) {
	if gv.Group != "" {
		body, mediaType, err := r.read(ctx, host, "/apis", asList)
		if _, parameters, bad := mime.ParseMediaType(mediaType); err == nil && bad == nil && parameters["as"] == "APIGroupDiscoveryList" {
			return ofList(body, gv)
		}
	}
	body, _, err := r.read(ctx, host, r.page(), runtime.ContentTypeJSON)
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read the resources of %s: %w", gv, err)
	}
	return discovery.Aggregate(list.APIResources), nil
}

func ofList(body []byte, gv schema.GroupVersion) ([]apidiscoveryv2.APIResourceDiscovery, error) {
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read the resources of %s: %w", gv, err)
	}
	for _, group := range list.Items {
		for _, version := range group.Versions {
			if group.Name == gv.Group && version.Version == gv.Version {
				return withKinds(version.Resources), nil
			}
		}
	}
	return nil, nil
}

// withKinds fills in kinds that are missing: clients of some releases crash without.
func withKinds(all []apidiscoveryv2.APIResourceDiscovery) []apidiscoveryv2.APIResourceDiscovery {
	for i := range all {
		if all[i].ResponseKind == nil {
			all[i].ResponseKind = &metav1.GroupVersionKind{}
		}
		for j := range all[i].Subresources {
			if sub := &all[i].Subresources[j]; sub.ResponseKind == nil {
				sub.ResponseKind = &metav1.GroupVersionKind{}
			}
		}
	}
	return all
}

// describeOpenAPI takes over what the server says of a version in OpenAPI, if that is new. A server need not say anything.
func (s *Server) describeOpenAPI(ctx context.Context, host string, gv schema.GroupVersion, r *remote) error {
	body, _, err := r.read(ctx, host, "/openapi/v3", runtime.ContentTypeJSON)
	if err != nil {
		return nil // it has none
	}
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(body, &index); err != nil {
		return fmt.Errorf("read the index of its OpenAPI: %w", err)
	}
	at := index.Paths[strings.TrimPrefix(r.page(), "/")].ServerRelativeURL
	if at == r.described || !strings.HasPrefix(at, "/") {
		return nil
	}
	v3, _, err := r.read(ctx, host, at, runtime.ContentTypeJSON)
	if err != nil {
		return err
	}
	v2, _, err := r.read(ctx, host, "/openapi/v2", runtime.ContentTypeJSON)
	if err != nil {
		return err
	}
	s.config.OpenAPI.UpdatePart(gv, openapi.Part{
		Name: partName, Hash: fmt.Sprintf("%x %x", sha256.Sum256(v3), sha256.Sum256(v2)),
		V3: func() (*spec3.OpenAPI, error) {
			document := &spec3.OpenAPI{}
			return document, json.Unmarshal(v3, document)
		},
		V2: func() (*spec.Swagger, error) {
			document := &spec.Swagger{}
			if err := json.Unmarshal(v2, document); err != nil {
				return nil, err
			}
			return aggregator.FilterSpecByPathsWithoutSideEffects(document, []string{r.page() + "/"}), nil
		},
	})
	r.described = at
	return nil
}

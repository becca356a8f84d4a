package aggregator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/openapi"
)

// partV3 and partV2 name the parts of a version's description that its own server gives, by the version of OpenAPI. The first by name gives
// the document's info.
const partV3, partV2 = "APIService", "APIService of v2"

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
	if ctx.Err() != nil {
		return
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

// describeOpenAPI takes over what the server says of a version in OpenAPI, if that is new. A server need not have either version of it,
// and one that can't be read stays as it was.
func (s *Server) describeOpenAPI(ctx context.Context, host string, gv schema.GroupVersion, r *remote) error {
	at, err3 := r.findV3(ctx, host)
	if err3 == nil && at == r.described && at != "" {
		return nil
	}
	var v3 []byte
	if err3 == nil && at != "" {
		v3, err3 = r.readIfThere(ctx, host, at)
	}
	if err3 == nil {
		r.hasV3 = v3 != nil
		s.describeV3(gv, v3)
	}
	v2, err2 := r.readIfThere(ctx, host, "/openapi/v2")
	if err2 == nil {
		s.describeV2(gv, r, v2)
	}
	r.described = ""
	if err3 == nil && err2 == nil && hasHash(at) {
		r.described = at
	}
	return errors.Join(err3, err2)
}

// findV3 finds where the server has OpenAPI v3 of its version. It returns an empty address if it has none.
func (r *remote) findV3(ctx context.Context, host string) (at string, err error) {
	body, err := r.readIfThere(ctx, host, "/openapi/v3")
	if body == nil || err != nil {
		return "", err
	}
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(body, &index); err != nil {
		return "", fmt.Errorf("read the index of its OpenAPI: %w", err)
	}
	if at = index.Paths[strings.TrimPrefix(r.page(), "/")].ServerRelativeURL; !strings.HasPrefix(at, "/") {
		return "", nil
	}
	return at, nil
}

// hasHash says whether an address of a document changes with the document.
func hasHash(at string) bool {
	parsed, err := url.Parse(at)
	return err == nil && parsed.Query().Get("hash") != ""
}

// readIfThere returns no document if the server has none.
func (r *remote) readIfThere(ctx context.Context, host, path string) ([]byte, error) {
	body, _, err := r.read(ctx, host, path, runtime.ContentTypeJSON)
	if bad := (*badStatus)(nil); errors.As(err, &bad) && bad.code == http.StatusNotFound {
		return nil, nil
	}
	return body, err
}

// describeV3 describes a version by a document of v3, or no longer if there is none.
func (s *Server) describeV3(gv schema.GroupVersion, data []byte) {
	if data == nil {
		s.config.OpenAPI.RemovePart(gv, partV3)
		return
	}
	s.config.OpenAPI.UpdatePart(gv, openapi.Part{
		Name: partV3, Hash: fmt.Sprintf("%x", sha256.Sum256(data)),
		V3: func() (*spec3.OpenAPI, error) {
			document := &spec3.OpenAPI{}
			return document, json.Unmarshal(data, document)
		},
		V2: func() (*spec.Swagger, error) { return &spec.Swagger{}, nil },
	})
}

// describeV2 is describeV3 for v2. Where there is no v3, that is made of it too, as a kube-apiserver does.
func (s *Server) describeV2(gv schema.GroupVersion, r *remote, data []byte) {
	if data == nil {
		s.config.OpenAPI.RemovePart(gv, partV2)
		return
	}
	read := func() (*spec.Swagger, error) {
		document := &spec.Swagger{}
		if err := json.Unmarshal(data, document); err != nil {
			return nil, err
		}
		return aggregator.FilterSpecByPathsWithoutSideEffects(document, []string{r.page() + "/"}), nil
	}
	convert := !r.hasV3
	s.config.OpenAPI.UpdatePart(gv, openapi.Part{
		Name: partV2, Hash: fmt.Sprintf("%x %t", sha256.Sum256(data), convert), V2: read,
		V3: func() (*spec3.OpenAPI, error) {
			if !convert {
				return &spec3.OpenAPI{}, nil
			}
			document, err := read()
			if err != nil {
				return nil, err
			}
			return openapiconv.ConvertV2ToV3(document), nil
		},
	})
}

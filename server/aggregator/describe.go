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

// partV3 and partV2 name the parts of a version's OpenAPI document that its own server provides. The part with the
// first name provides the document's info.
const partV3, partV2 = "APIService", "APIService of v2"

// describe publishes the resources of a server in discovery and OpenAPI. For an unreachable server the last known ones
// stay, marked as stale.
func (s *Server) describe(ctx context.Context, gv schema.GroupVersion, r *remote, there bool) {
	known := discovery.Remote{Priority: discovery.Priority{Group: r.spec.GroupPriorityMinimum, Version: r.spec.VersionPriority},
		Stale: true}
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

// asList is the media type of a single document with all resources.
const asList = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// list reads the resources of a version from the document with all resources, or from the page of the version if there
// is no such document.
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

// withKinds fills in missing kinds: clients of some releases crash without them.
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

// describeOpenAPI takes over the server's OpenAPI documents of a version, if they are new. A server may lack either
// version of OpenAPI. If a document can't be read, the previous one stays.
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

// findV3 returns the address of the version's OpenAPI v3 document. It is empty if the server has none.
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

// hasHash reports whether the address of a document contains its hash.
func hasHash(at string) bool {
	parsed, err := url.Parse(at)
	return err == nil && parsed.Query().Get("hash") != ""
}

// readIfThere returns nil if the server does not have the document.
func (r *remote) readIfThere(ctx context.Context, host, path string) ([]byte, error) {
	body, _, err := r.read(ctx, host, path, runtime.ContentTypeJSON)
	if bad := (*badStatus)(nil); errors.As(err, &bad) && bad.code == http.StatusNotFound {
		return nil, nil
	}
	return body, err
}

// describeV3 replaces the version's description by a document of v3, or removes it if data is nil.
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

// describeV2 is describeV3 for v2. If the server has no v3, the v3 description is made from v2, too, as in a
// kube-apiserver.
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

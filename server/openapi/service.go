package openapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Service answers /openapi/v2, /openapi/v3 and what is below the latter.
type Service struct {
	info spec.Info
	v3   *handler3.OpenAPIService
	v2   *handler.OpenAPIService
	mux  *http.ServeMux

	// mu guards changes. Reading takes none of ours.
	mu sync.Mutex
	// parts are the sections' v2 documents by their v3 path, such as apis/apps/v1.
	parts map[string]part
	// paths are the keys of parts, for readers.
	paths atomic.Pointer[map[string]struct{}]
	// changes counts them, so that each makes a new tag.
	changes int
}

// part is one section of the v2 document.
type part struct {
	// gv is empty for what is not of one group version.
	gv schema.GroupVersion
	v2 cached.Value[*spec.Swagger]
}

// NewService describes a server that has nothing but discovery. version is the one that /version shows as gitVersion.
func NewService(version string) *Service {
	s := &Service{
		info:  spec.Info{InfoProps: spec.InfoProps{Title: title, Version: version}},
		v3:    handler3.NewOpenAPIService(),
		mux:   http.NewServeMux(),
		parts: map[string]part{},
	}
	s.v2 = handler.NewOpenAPIServiceLazy(s.merged())
	s.v2.RegisterOpenAPIVersionedService("/openapi/v2", s.mux)
	s.mux.HandleFunc("/openapi/v3", s.v3.HandleDiscovery)
	s.mux.HandleFunc("/openapi/v3/", s.serveGroupVersion)

	s.installDiscovery("/apis", schema.GroupVersion{}, "getAPIVersions", "get available API versions", definitionAPIGroupList)
	s.installDiscovery("/version", schema.GroupVersion{}, "getCodeVersion", "get the version information for this server", definitionVersion)
	return s
}

// ServeHTTP answers GET and HEAD.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "405: Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// serveGroupVersion refuses what is not there, which the library would answer with nothing and 200.
func (s *Service) serveGroupVersion(w http.ResponseWriter, r *http.Request) {
	if _, ok := (*s.paths.Load())[strings.TrimPrefix(r.URL.Path, "/openapi/v3/")]; !ok {
		http.NotFound(w, r)
		return
	}
	s.v3.HandleGroupVersion(w, r)
}

// InstallGroupVersion describes built-in resources. Every kind needs a definition (see internal/gen).
func (s *Service) InstallGroupVersion(gv schema.GroupVersion, resources []Resource) {
	if gv.Group == "" {
		s.installDiscovery("/api", schema.GroupVersion{}, "getAPIVersions", "get available API versions", definitionAPIVersions)
	} else {
		group := schema.GroupVersion{Group: gv.Group}
		s.installDiscovery("/apis/"+gv.Group, group, "getAPIGroup", "get information of a group", definitionAPIGroup)
	}
	resources = slices.Clone(resources)
	one := section{info: s.info, gv: gv, root: rootPath(gv), routes: func() []*route { return resourceRoutes(gv, resources) }}
	s.UpdateGroupVersion(gv, one.v3, one.v2)
}

// UpdateGroupVersion adds or replaces the description of a group version. Either function is called once, when somebody
// asks for the result.
func (s *Service) UpdateGroupVersion(gv schema.GroupVersion, v3 func() (*spec3.OpenAPI, error), v2 func() (*spec.Swagger, error)) {
	s.update(rootPath(gv), gv, v3, v2)
}

// RemoveGroupVersion forgets a group version.
func (s *Service) RemoveGroupVersion(gv schema.GroupVersion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(rootPath(gv), "/")
	delete(s.parts, path)
	s.v3.DeleteGroupVersion(path)
	s.changed()
}

func (s *Service) installDiscovery(root string, gv schema.GroupVersion, operation, description string, response model) {
	one := section{info: s.info, gv: gv, root: root, routes: func() []*route {
		return []*route{discoveryRoute(gv, root, operation, description, response)}
	}}
	s.update(root, schema.GroupVersion{}, one.v3, one.v2)
}

func (s *Service) update(root string, gv schema.GroupVersion, v3 func() (*spec3.OpenAPI, error), v2 func() (*spec.Swagger, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(root, "/")
	s.changes++
	tag := strconv.Itoa(s.changes)
	s.parts[path] = part{gv: gv, v2: once(tag, root, v2, &spec.Swagger{})}
	s.v3.UpdateGroupVersionLazy(path, once(tag, root, v3, &spec3.OpenAPI{Version: "3.0.0", Info: &s.info, Paths: &spec3.Paths{}}))
	s.changed()
}

// changed tells readers, and makes the next one of v2 merge again. mu is held.
func (s *Service) changed() {
	paths := make(map[string]struct{}, len(s.parts))
	for path := range s.parts {
		paths[path] = struct{}{}
	}
	s.paths.Store(&paths)
	if s.v2 != nil {
		s.v2.UpdateSpecLazy(s.merged())
	}
}

// merged is the v2 document of everything that is described now. mu is held.
func (s *Service) merged() cached.Value[*spec.Swagger] {
	s.changes++
	tag, parts := strconv.Itoa(s.changes), maps.Clone(s.parts)
	return once(tag, "/openapi/v2", func() (*spec.Swagger, error) {
		var swaggers []*spec.Swagger
		var gvs []schema.GroupVersion
		for _, path := range slices.Sorted(maps.Keys(parts)) {
			swagger, _, err := parts[path].v2.Get()
			if err != nil {
				return nil, err
			}
			swaggers = append(swaggers, swagger)
			if gv := parts[path].gv; !gv.Empty() {
				gvs = append(gvs, gv)
			}
		}
		return mergeV2(s.info, swaggers, gvs), nil
	}, nil)
}

// once builds when first asked. A description that can't be built becomes instead, so that it does not hide the others.
func once[T any](tag, root string, build func() (T, error), instead T) cached.Value[T] {
	return cached.Once(cached.Func(func() (T, string, error) {
		document, err := build()
		if err != nil {
			utilruntime.HandleError(fmt.Errorf("describe %s: %w", root, err))
			return instead, tag, nil
		}
		return document, tag, nil
	}))
}

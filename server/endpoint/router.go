package endpoint

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// Router passes requests for resources to their handlers.
type Router struct {
	name       string
	serializer runtime.NegotiatedSerializer
	delegate   http.Handler

	// mu serializes writers. Readers load routes, which writers replace and never change.
	mu     sync.Mutex
	routes atomic.Pointer[routes]
}

// routes holds all routes at one moment.
type routes struct {
	// roots are the paths of the groups. The delegate gets no requests below them.
	roots     map[string]bool
	resources map[resourceKey]*paths
}

// claims reports whether path is the root of an installed group or lies below it. The delegate does not serve other
// versions of such a group.
func (known *routes) claims(path string) bool {
	if known.roots[legacyRoot] && (path == legacyRoot || strings.HasPrefix(path, legacyRoot+"/")) {
		return true
	}
	rest, ok := strings.CutPrefix(path, groupsRoot)
	if !ok {
		return false
	}
	group, _, _ := strings.Cut(rest, "/")
	return known.roots[groupsRoot+group]
}

const legacyRoot, groupsRoot = "/api", "/apis/"

// rootOf returns the path of a group.
func rootOf(group string) string {
	if group == "" {
		return legacyRoot
	}
	return groupsRoot + group
}

type resourceKey struct {
	gv                    schema.GroupVersion
	resource, subresource string
}

// NewRouter makes a Router without routes, for the server called name. serializer encodes its 404s and 405s; delegate
// serves all other paths.
func NewRouter(name string, serializer runtime.NegotiatedSerializer, delegate http.Handler) *Router {
	r := &Router{name: name, serializer: serializer, delegate: delegate}
	r.routes.Store(&routes{})
	return r
}

// paths holds the handlers of a resource or subresource, by place and method.
type paths struct {
	namespaced bool
	places     [numPlaces]map[string]http.HandlerFunc
}

func (p *paths) add(at place, method string, h http.HandlerFunc) {
	if p.places[at] == nil {
		p.places[at] = map[string]http.HandlerFunc{}
	}
	p.places[at][method] = h
}

// place is the shape of a path below its group version.
type place uint8

const (
	// atCollection is resource, or namespaces/NS/resource if the resource is namespaced.
	atCollection place = iota
	// atItem is a collection's path plus a name, and plus a subresource's name if there is one.
	atItem
	// atAllNamespaces is resource, for a namespaced resource.
	atAllNamespaces
	// The old paths of watches: the same three, behind "watch/".
	atWatchCollection
	atWatchItem
	atWatchAllNamespaces
	// atSubpath is any path behind a subresource that passes requests on.
	atSubpath

	numPlaces
)

// placeOf returns the place of info's path among the paths of a resource. It is false if the path has none of their
// shapes.
func placeOf(info *request.RequestInfo, namespaced bool) (place, bool) {
	prefix := 2 // api/v1
	if info.APIPrefix != "api" {
		prefix = 3 // apis/group/version
	}
	segments := strings.Count(strings.Trim(info.Path, "/"), "/") + 1 - prefix
	watch := strings.HasPrefix(segmentsFrom(info.Path, prefix), "watch/")
	if watch {
		segments--
	}
	inNamespace := false
	switch segments - len(info.Parts) {
	case 0:
	case 2:
		inNamespace = true
	default:
		return 0, false
	}
	if inNamespace && (info.Namespace == "" || !namespaced) {
		return 0, false
	}
	at := atCollection
	switch {
	case len(info.Parts) > 3 && (watch || info.Parts[1] == "" || namespaced && !inNamespace):
		return 0, false
	case len(info.Parts) > 3:
		return atSubpath, true
	case len(info.Parts) == 1 && namespaced && !inNamespace:
		at = atAllNamespaces
	case len(info.Parts) == 1:
	case info.Parts[1] == "" || namespaced && !inNamespace:
		return 0, false
	default:
		at = atItem
	}
	if watch {
		at += atWatchCollection
	}
	return at, true
}

// segmentsFrom returns the path without its first n segments.
func segmentsFrom(path string, n int) string {
	path = strings.Trim(path, "/")
	for range n {
		_, path, _ = strings.Cut(path, "/")
	}
	return path
}

// ServeHTTP needs a RequestInfo in the request's context.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	next, err := r.route(w, req)
	if err != nil {
		responsewriters.ErrorNegotiated(err, r.serializer, schema.GroupVersion{}, w, req)
		return
	}
	next.ServeHTTP(w, req)
}

var (
	pathTaken = trace.Because("path-taken",
		"taken: the server has the group, the resource and the verb",
		"接下：该 server 有这个组、资源和动词")
	pathLeft = trace.Because("path-left",
		"left to the next server: no group that is installed here has the path",
		"交给下一个 server：这里安装的组都没有该路径")
	resourceMissing = trace.Because("resource-missing",
		"taken, for the group is installed here, but it has no such resource in this version",
		"接下，因为组安装在这里，但这个版本没有该资源")
	placeMissing = trace.Because("place-missing",
		"taken, for the resource is installed here, but it has nothing at a path of this shape",
		"接下，因为资源安装在这里，但它没有这种形式的路径")
	methodMissing = trace.Because("method-missing",
		"taken, for the resource is installed here, but it has no such method at this path",
		"接下，因为资源安装在这里，但该路径不支持这个方法")
)

// route returns the handler for a request: one of this server, or the delegate. The step ends before the handler runs.
func (r *Router) route(w http.ResponseWriter, req *http.Request) (_ http.Handler, err error) {
	ctx, step := trace.Start(req.Context(), steps.HandlerRoute, r.name)
	defer step.End(&err)
	info, ok := request.RequestInfoFrom(ctx)
	known := r.routes.Load()
	if !ok || !known.claims(req.URL.Path) {
		step.Why(pathLeft)
		return r.delegate, nil
	}
	p := known.lookup(info)
	if p == nil {
		step.Why(resourceMissing)
		return nil, failure(http.StatusNotFound)
	}
	at, ok := placeOf(info, p.namespaced)
	if !ok || p.places[at] == nil {
		step.Why(placeMissing)
		return nil, failure(http.StatusNotFound)
	}
	h, ok := p.places[at][req.Method]
	if !ok {
		step.Why(methodMissing)
		methods := slices.Sorted(maps.Keys(p.places[at]))
		w.Header().Set("Allow", strings.Join(methods, ", "))
		return nil, handler.MethodNotSupported(ctx, req.Method, methods, failure(http.StatusMethodNotAllowed))
	}
	step.Why(pathTaken)
	return h, nil
}

// Delegate returns the handler of all other paths.
func (r *Router) Delegate() http.Handler { return r.delegate }

// Serves reports whether a request is for an installed resource.
func (r *Router) Serves(info *request.RequestInfo) bool {
	return info.IsResourceRequest && r.routes.Load().lookup(info) != nil
}

func (known *routes) lookup(info *request.RequestInfo) *paths {
	gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	return known.resources[resourceKey{gv, info.Resource, info.Subresource}]
}

// Fail answers with a Status that contains only a code.
func Fail(code int, serializer runtime.NegotiatedSerializer, w http.ResponseWriter, req *http.Request) {
	responsewriters.ErrorNegotiated(failure(code), serializer, schema.GroupVersion{}, w, req)
}

func failure(code int) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", http.StatusText(code), 0, false)
}

// install adds the routes of a group version.
func (r *Router) install(gv schema.GroupVersion, resources map[resourceKey]*paths) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.routes.Load()
	next := &routes{roots: map[string]bool{rootOf(gv.Group): true}, resources: resources}
	maps.Copy(next.roots, old.roots)
	maps.Copy(next.resources, old.resources)
	r.routes.Store(next)
}

// NotFoundHandler ends a chain of delegates with a 404.
var NotFoundHandler http.Handler = http.HandlerFunc(notFound)

var nobodyHasPath = trace.Because("nobody-has-path",
	"every server of the chain has left the path to the next one, and there is none behind the last",
	"链上每个 server 都把路径交给了下一个，最后一个之后再没有了")

// notFound answers a path that no server of the chain has.
func notFound(w http.ResponseWriter, req *http.Request) {
	err := errors.New("404 page not found")
	_, step := trace.Start(req.Context(), steps.HandlerNotFound, req.URL.Path)
	defer step.End(&err)
	step.Why(nobodyHasPath)
	http.Error(w, err.Error(), http.StatusNotFound)
}

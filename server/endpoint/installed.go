package endpoint

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler"
)

// Installation records a storage's installation: the routes and verbs that it has and lacks, and why.
type Installation struct {
	Resource    schema.GroupVersionResource
	Subresource string
	// Kind is the kind that clients see, and StoredAs the stored one. StoredAs is empty if the storage does not report
	// it.
	Kind, StoredAs schema.GroupVersionKind
	Storage        rest.Storage
	// Described is the entry in discovery.
	Described metav1.APIResource

	Routes []Route
	Absent []Absence

	notes *trace.Notes // nil for resources that another package serves
	scope *handler.RequestScope
}

// madeBy returns the notes about the creation of a storage on etcd, the outermost first; nil for a storage elsewhere.
func madeBy(storage rest.Storage) []*trace.Notes {
	if store, ok := storage.(interface{ CreationNotes() []*trace.Notes }); ok {
		return store.CreationNotes()
	}
	return nil
}

// AddCreation adds the creation of the storage to w, if it is on etcd.
func (i *Installation) AddCreation(w *trace.Way) {
	for _, notes := range madeBy(i.Storage) {
		w.Add(notes)
	}
}

// Way adds to w how the resource got its routes: the capabilities that each action found in the storage, and the paths
// and the handler that it has now.
func (i *Installation) Way(w *trace.Way) {
	first := w.Add(i.notes)
	if first < 0 {
		return
	}
	actions := actionsOf(i.Storage)
	for at := first; at < len(w.Steps) && len(actions) > 0; at++ {
		if w.Steps[at].ID != steps.InstallVerb {
			continue
		}
		a := actions[0]
		actions = actions[1:]
		paths, handler := i.routesOf(a)
		if len(paths) == 0 {
			continue
		}
		w.Say(at, a.has(i.Storage)+": "+a.method+" "+strings.Join(paths, ", "))
		w.Steps[at].Attrs = []trace.Attr{{Name: "handler", Text: handler}}
	}
}

// routesOf returns the paths of an action that no later action has taken, and the function that made its handler.
func (i *Installation) routesOf(a *action) (paths []string, handler string) {
	all := a.paths(i.Resource, i.Subresource, i.Described.Namespaced)
	for _, route := range i.Routes {
		if route.Method == a.method && route.Verb == a.verb && slices.Contains(all, route.Path) {
			paths, handler = append(paths, route.Path), trace.SiteOf(route.Handler).Function
		}
	}
	return paths, handler
}

// Route is a path of the resource.
type Route struct {
	Verb, Method, Path string
	// Handler is the handler itself, without the wrapper that warns of a deprecated kind.
	Handler http.HandlerFunc
}

// Absence is a verb that the resource does not have.
type Absence struct{ Verb, Reason string }

// route records the routes of an action. If two actions of a subresource share a path, the later one wins.
func (i *Installation) route(a *action, namespaced bool, h http.HandlerFunc) {
	for _, path := range a.paths(i.Resource, i.Subresource, namespaced) {
		i.Routes = slices.DeleteFunc(i.Routes, func(r Route) bool { return r.Path == path && r.Method == a.method })
		i.Routes = append(i.Routes, Route{a.verb, a.method, path, h})
	}
}

// leaveOut records why an action has no route. A subresource has one place for all actions of a verb, so it records the
// reason of the last one, which needs the fewest interfaces.
func (i *Installation) leaveOut(a *action, reason string) {
	if i.Subresource != "" {
		i.Absent = slices.DeleteFunc(i.Absent, func(other Absence) bool { return other.Verb == a.verb })
	}
	if absence := (Absence{a.verb, reason}); !slices.Contains(i.Absent, absence) {
		i.Absent = append(i.Absent, absence)
	}
}

// RoutesOf returns the routes of a resource that another package serves, and the verbs that it lacks.
func RoutesOf(resource schema.GroupVersionResource, subresource string, namespaced bool, storage rest.Storage,
	handlers map[string]http.HandlerFunc) ([]Route, []Absence) {
	i := Installation{Resource: resource, Subresource: subresource}
	for _, a := range actions {
		if h := handlers[a.verb]; h != nil {
			i.route(a, namespaced, h)
		} else if lacking := a.lacks(storage); lacking != "" {
			i.leaveOut(a, lacking)
		} else {
			i.leaveOut(a, "there is no handler for it")
		}
	}
	return i.Routes, i.Absent
}

// places returns the places of the action for a resource. All places of a subresource map to its one path.
func (a *action) places(subresource string) []place {
	if subresource == "" {
		return a.at
	}
	at := make([]place, len(a.at))
	for i := range a.at {
		at[i] = placeOfSubresource[a.at[i]]
	}
	return slices.Compact(at)
}

// placeOfSubresource maps a resource's places to those of a subresource.
var placeOfSubresource = [numPlaces]place{
	atCollection: atItem, atItem: atItem, atAllNamespaces: atItem,
	atWatchCollection: atWatchItem, atWatchItem: atWatchItem, atWatchAllNamespaces: atWatchItem,
	atSubpath: atSubpath,
}

// paths returns the places as paths.
func (a *action) paths(resource schema.GroupVersionResource, subresource string, namespaced bool) []string {
	var paths []string
	for _, at := range a.places(subresource) {
		if namespaced || at != atAllNamespaces && at != atWatchAllNamespaces {
			paths = append(paths, at.path(resource, subresource, namespaced))
		}
	}
	return paths
}

// PathOf returns the path of all objects of a resource.
func PathOf(resource schema.GroupVersionResource) string {
	return atAllNamespaces.path(resource, "", false)
}

// path returns the shape of the paths for which [placeOf] returns the place.
func (at place) path(resource schema.GroupVersionResource, subresource string, namespaced bool) string {
	path := rootOf(resource.Group) + "/" + resource.Version
	if at >= atWatchCollection && at != atSubpath {
		path += "/watch"
		at -= atWatchCollection
	}
	if namespaced && at != atAllNamespaces {
		path += "/namespaces/{namespace}"
	}
	path += "/" + resource.Resource
	if at == atItem || at == atSubpath {
		path += "/{name}"
	}
	if subresource != "" {
		path += "/" + subresource
	}
	if at == atSubpath {
		path += "/{path}"
	}
	return path
}

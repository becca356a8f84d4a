package endpoint

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
)

// Installed is what became of one storage when it was installed: the server's own account of why it answers as it does.
type Installed struct {
	Resource    schema.GroupVersionResource
	Subresource string
	// Kind is what clients see, StoredAs what is kept; empty if the storage does not say.
	Kind, StoredAs schema.GroupVersionKind
	Storage        rest.Storage
	// Described is what discovery tells of it.
	Described metav1.APIResource

	Routes []Route
	Absent []Absence
}

// Route is one path that the resource has.
type Route struct {
	Verb, Method, Path string
	// Handler is what answers, without the warning that a deprecated kind has around it.
	Handler http.HandlerFunc
}

// Absence is a verb that the resource does not have.
type Absence struct{ Verb, Reason string }

// route notes the routes of an action. Of a subresource the later action has the path.
func (i *Installed) route(a *action, namespaced bool, h http.HandlerFunc) {
	for _, path := range a.paths(i.Resource, i.Subresource, namespaced) {
		i.Routes = slices.DeleteFunc(i.Routes, func(r Route) bool { return r.Path == path && r.Method == a.method })
		i.Routes = append(i.Routes, Route{a.verb, a.method, path, h})
	}
}

// leaveOut notes why there is no route of an action. A subresource has one place for all actions of a verb: the last, which
// asks for least, says it.
func (i *Installed) leaveOut(a *action, reason string) {
	if i.Subresource != "" {
		i.Absent = slices.DeleteFunc(i.Absent, func(other Absence) bool { return other.Verb == a.verb })
	}
	if absence := (Absence{a.verb, reason}); !slices.Contains(i.Absent, absence) {
		i.Absent = append(i.Absent, absence)
	}
}

// RoutesOf are the routes of a resource that is routed by its verbs, and what it lacks for the others.
func RoutesOf(resource schema.GroupVersionResource, subresource string, namespaced bool, storage rest.Storage, handlers map[string]http.HandlerFunc) ([]Route, []Absence) {
	i := Installed{Resource: resource, Subresource: subresource}
	for k := range actions {
		a := &actions[k]
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

// places are where the action is done to a resource, or to a subresource, which has one path for all.
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

// placeOfSubresource is where a subresource has what a resource has in these places.
var placeOfSubresource = [numPlaces]place{
	atCollection: atItem, atItem: atItem, atAllNamespaces: atItem,
	atWatchCollection: atWatchItem, atWatchItem: atWatchItem, atWatchAllNamespaces: atWatchItem,
}

// paths are those places as they are written.
func (a *action) paths(resource schema.GroupVersionResource, subresource string, namespaced bool) []string {
	var paths []string
	for _, at := range a.places(subresource) {
		if namespaced || at != atAllNamespaces && at != atWatchAllNamespaces {
			paths = append(paths, at.path(resource, subresource, namespaced))
		}
	}
	return paths
}

// path is the shape of the paths that [placeOf] finds there.
func (at place) path(resource schema.GroupVersionResource, subresource string, namespaced bool) string {
	path := rootOf(resource.Group) + "/" + resource.Version
	if at >= atWatchCollection {
		path += "/watch"
		at -= atWatchCollection
	}
	if namespaced && at != atAllNamespaces {
		path += "/namespaces/{namespace}"
	}
	path += "/" + resource.Resource
	if at == atItem {
		path += "/{name}"
	}
	if subresource != "" {
		path += "/" + subresource
	}
	return path
}

package endpoint

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/handler"
)

// action is something that a storage may be able to do.
type action struct {
	// verb is what discovery calls it.
	verb   string
	method string
	at     []place
	// offer returns the handler, or nil if the storage can't.
	offer func(s rest.Storage, scope *handler.RequestScope, g *APIGroupVersion) http.HandlerFunc
}

// actions are what is looked for in a storage. A subresource has one path, that of its item, for all of them.
var actions = []action{
	{"list", http.MethodGet, []place{atCollection, atAllNamespaces}, offerList},
	{"watch", http.MethodGet, []place{atWatchCollection, atWatchAllNamespaces}, offerWatchList},
	{"watch", http.MethodGet, []place{atWatchItem}, offerWatch},
	{"create", http.MethodPost, []place{atCollection}, offerCreate},
	{"deletecollection", http.MethodDelete, []place{atCollection}, offerDeleteCollection},
	{"get", http.MethodGet, []place{atItem}, offerGet},
	{"update", http.MethodPut, []place{atItem}, offerUpdate},
	{"patch", http.MethodPatch, []place{atItem}, offerPatch},
	{"delete", http.MethodDelete, []place{atItem}, offerDelete},
}

func offerList(s rest.Storage, scope *handler.RequestScope, g *APIGroupVersion) http.HandlerFunc {
	lister, ok := s.(rest.Lister)
	if !ok {
		return nil
	}
	watcher, _ := s.(rest.Watcher)
	return handler.ListResource(lister, watcher, scope, false, g.MinRequestTimeout)
}

// offerWatchList is for kinds that have both: a watch of a list begins with a list.
func offerWatchList(s rest.Storage, scope *handler.RequestScope, g *APIGroupVersion) http.HandlerFunc {
	lister, isLister := s.(rest.Lister)
	watcher, isWatcher := s.(rest.Watcher)
	if !isLister || !isWatcher {
		return nil
	}
	return handler.ListResource(lister, watcher, scope, true, g.MinRequestTimeout)
}

func offerWatch(s rest.Storage, scope *handler.RequestScope, g *APIGroupVersion) http.HandlerFunc {
	watcher, ok := s.(rest.Watcher)
	if !ok {
		return nil
	}
	return handler.ListResource(nil, watcher, scope, true, g.MinRequestTimeout)
}

func offerCreate(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	switch creater := s.(type) {
	case rest.NamedCreater:
		return handler.CreateNamedResource(creater, scope)
	case rest.Creater:
		return handler.CreateResource(creater, scope)
	}
	return nil
}

func offerDeleteCollection(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	deleter, ok := s.(rest.CollectionDeleter)
	if !ok {
		return nil
	}
	return handler.DeleteCollection(deleter, true, scope)
}

func offerGet(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	getter, ok := s.(rest.Getter)
	if !ok {
		return nil
	}
	if reader, ok := s.(rest.QueryReader); ok {
		return handler.GetResourceWithQuery(getter, reader, scope)
	}
	return handler.GetResource(getter, scope)
}

func offerUpdate(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	updater, ok := s.(rest.Updater)
	if !ok {
		return nil
	}
	return handler.UpdateResource(updater, scope)
}

func offerPatch(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	patcher, ok := s.(rest.Patcher)
	if !ok {
		return nil
	}
	_, untyped := patcher.New().(runtime.Unstructured)
	return handler.PatchResource(patcher, scope, handler.PatchTypes(!untyped))
}

func offerDelete(s rest.Storage, scope *handler.RequestScope, _ *APIGroupVersion) http.HandlerFunc {
	deleter, ok := s.(rest.GracefulDeleter)
	if !ok {
		return nil
	}
	return handler.DeleteResource(deleter, true, scope)
}

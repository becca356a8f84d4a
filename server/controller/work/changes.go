package work

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// watchStorage is a storage with list and watch.
type watchStorage interface {
	rest.Lister
	rest.Watcher
}

// Changes sends a signal for each change of a wanted object of a resource, as the server's own user, until ctx
// ends. It does not wait for the receiver: one pending signal stands for all changes since the last. When a
// watch ends it starts another, with a signal for changes that it may have missed.
func Changes(ctx context.Context, storages Storages, resource schema.GroupVersionResource, wanted func(metav1.Object) bool,
	changes chan<- struct{}) {
	tell := func() {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
	storage, ok := storages()[resource].(watchStorage)
	if !ok {
		return
	}
	var pause Backoff
	for {
		if w := watchFromNow(ctx, storage, resource); w != nil {
			tell()
			for event := range w.ResultChan() {
				if event.Type == watch.Bookmark {
					continue
				}
				pause = Backoff{}
				if m, err := meta.Accessor(event.Object); err != nil || wanted(m) { // the event that ends a watch has no object
					tell()
				}
			}
			w.Stop()
		}
		if !pause.Wait(ctx) {
			return
		}
	}
}

// All wants all objects.
func All(metav1.Object) bool { return true }

// watchFromNow returns nil if the resource can't be watched.
func watchFromNow(ctx context.Context, storage watchStorage, resource schema.GroupVersionResource) watch.Interface {
	as := func(verb string) context.Context {
		return WithRequest(ctx, APIServer, &request.RequestInfo{
			IsResourceRequest: true, Verb: verb, APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
		})
	}
	list, _, err := builtin.ListReadable(as("list"), storage, &metainternalversion.ListOptions{Limit: 1})
	if err != nil {
		return nil
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil
	}
	w, err := storage.Watch(as("watch"), &metainternalversion.ListOptions{ResourceVersion: m.GetResourceVersion()})
	if err != nil {
		return nil
	}
	return w
}

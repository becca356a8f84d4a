package bearer

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// Reader reads the objects that tokens depend on. Until Initialize it finds none.
type Reader struct {
	storages map[schema.GroupVersionResource]rest.Storage
	// used is called with the secret of each token that a request shows.
	used func(context.Context, *corev1.Secret)
}

// Initialize sets the storages and the function that notes each use of a secret's token. It must be called before the
// first request.
func (o *Reader) Initialize(storages map[schema.GroupVersionResource]rest.Storage, used func(context.Context, *corev1.Secret)) {
	o.storages, o.used = storages, used
}

// noteUse notes that a request has shown the token of a secret.
func (o *Reader) noteUse(ctx context.Context, secret *corev1.Secret) { o.used(ctx, secret) }

// getObject reads the current state of an object in the core group.
func getObject[T runtime.Object](ctx context.Context, o *Reader, resource, namespace, name string) (obj T, err error) {
	// The storage's errors name the resource of this request info.
	ctx = request.WithRequestInfo(request.WithNamespace(ctx, namespace), &request.RequestInfo{
		IsResourceRequest: true, Verb: "get", APIVersion: corev1.SchemeGroupVersion.Version, Resource: resource,
		Namespace: namespace, Name: name,
	})
	obj, err = builtin.Get[T](ctx, o.storages[corev1.SchemeGroupVersion.WithResource(resource)], name, &metav1.GetOptions{})
	if errors.Is(err, builtin.ErrNotServed) {
		err = errors.New(resource + " are not served")
	}
	return obj, err
}

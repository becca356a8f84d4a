package account

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

// Objects reads the objects that tokens depend on. Until it is initialized there are none.
type Objects struct {
	storages map[schema.GroupVersionResource]rest.Storage
}

// Initialize gives it the storages, before the first request.
func (o *Objects) Initialize(storages map[schema.GroupVersionResource]rest.Storage) {
	o.storages = storages
}

// read gets an object of the core group as it is now.
func read[T runtime.Object](ctx context.Context, o *Objects, resource, namespace, name string) (none T, err error) {
	getter, ok := o.storages[corev1.SchemeGroupVersion.WithResource(resource)].(rest.Getter)
	if !ok {
		return none, errors.New(resource + " are not served")
	}
	// Errors name the resource of the request.
	ctx = request.WithRequestInfo(request.WithNamespace(ctx, namespace), &request.RequestInfo{
		IsResourceRequest: true, Verb: "get", APIVersion: corev1.SchemeGroupVersion.Version, Resource: resource, Namespace: namespace, Name: name,
	})
	object, err := getter.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return none, err
	}
	return builtin.As[T](object)
}

package crd

import (
	"context"
	"errors"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/controller/finalizing"
	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/server/crd/lister"
)

// collection gives controllers a definition's objects, in the storage version, so that they can be deleted. It holds no
// storage: each call counts as a request to whatever serves the definition at that time.
type collection struct {
	handler  *crdHandler
	crd      *lister.Definition
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
}

var (
	_ rest.Scoper            = &collection{}
	_ rest.Lister            = &collection{}
	_ rest.CollectionDeleter = &collection{}
)

// collections finds collections for the controller that empties definitions.
type collections struct{ handler *crdHandler }

func (c collections) GetCustomResourceListerCollectionDeleter(crd *lister.Definition) (finalizing.ListerCollectionDeleter, error) {
	return newCollection(c.handler, crd)
}

// newCollection fails for a definition that was never served, since it has no objects.
func newCollection(handler *crdHandler, crd *lister.Definition) (*collection, error) {
	names := &crd.Status.AcceptedNames
	if names.Plural == "" || names.ListKind == "" {
		return nil, errors.New("its names have not been accepted")
	}
	version, err := apihelpers.GetCRDStorageVersion(crd)
	if err != nil {
		return nil, err
	}
	gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version}
	return &collection{handler, crd, gv.WithResource(names.Plural), gv.WithKind(names.ListKind)}, nil
}

func (c *collection) New() runtime.Object { return &unstructured.Unstructured{} }

// Destroy does nothing: the storage belongs to the definition.
func (*collection) Destroy() {}

func (c *collection) NamespaceScoped() bool {
	return c.crd.Spec.Scope == apiextensionsv1.NamespaceScoped
}

func (c *collection) NewList() runtime.Object {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(c.kind)
	return list
}

func (c *collection) List(ctx context.Context, options *metainternalversion.ListOptions) (list runtime.Object, err error) {
	return c.use(ctx, func(r *customresource.REST) (runtime.Object, error) { return r.List(ctx, options) })
}

func (c *collection) ListEncoded(ctx context.Context, options *metainternalversion.ListOptions) (list runtime.Object, err error) {
	return c.use(ctx, func(r *customresource.REST) (runtime.Object, error) { return r.ListEncoded(ctx, options) })
}

func (c *collection) DeleteCollection(ctx context.Context, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	return c.use(ctx, func(r *customresource.REST) (runtime.Object, error) {
		return r.DeleteCollection(ctx, deleteValidation, options, listOptions)
	})
}

func (c *collection) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return rest.NewDefaultTableConvertor(c.resource.GroupResource()).ConvertToTable(ctx, object, tableOptions)
}

// use calls f with the storage. A deleted definition has no objects, even if a later one has its name.
func (c *collection) use(ctx context.Context, f func(*customresource.REST) (runtime.Object, error)) (runtime.Object, error) {
	info, err := c.handler.getOrCreateServingInfoFor(ctx, c.crd)
	if apierrors.IsNotFound(err) {
		return c.NewList(), nil
	}
	if err != nil {
		return nil, err
	}
	defer info.requests.leave()
	if info.crd.Load().UID != c.crd.UID {
		return c.NewList(), nil
	}
	return f(info.resource.Versions[info.resource.StorageVersion].Storage.CustomResource)
}

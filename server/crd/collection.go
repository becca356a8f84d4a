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
	"github.com/kx-apiserver/kx/server/crd/controller"
	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/server/crd/lister"
)

// collection gives controllers access to a definition's objects, in the storage version. It holds no storage:
// each call uses the storage that serves the definition at that moment, and counts as one of its requests.
type collection struct {
	handler  *crdHandler
	crd      *lister.Definition
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
	// version is the version of the objects.
	version string
}

var (
	_ rest.Scoper            = &collection{}
	_ rest.Lister            = &collection{}
	_ rest.CollectionDeleter = &collection{}
	_ rest.GracefulDeleter   = &collection{}
	_ rest.Updater           = &collection{}
)

// collections finds collections for the controller that empties definitions.
type collections struct{ handler *crdHandler }

func (c collections) GetCustomResourceListerCollectionDeleter(crd *lister.Definition) (controller.ListerCollectionDeleter, error) {
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
	return &collection{handler, crd, gv.WithResource(names.Plural), gv.WithKind(names.ListKind), version}, nil
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

// Kinds lists the kinds of the objects in the served versions.
func (c *collection) Kinds() (kinds []schema.GroupVersionKind) {
	for _, v := range c.crd.Spec.Versions {
		if v.Served {
			kinds = append(kinds, schema.GroupVersionKind{Group: c.crd.Spec.Group, Version: v.Name, Kind: c.crd.Status.AcceptedNames.Kind})
		}
	}
	return kinds
}

func (c *collection) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (out runtime.Object, created bool, err error) {
	err = c.useOne(ctx, name, func(r *customresource.REST) (err error) {
		out, created, err = r.Update(ctx, name, objInfo, admit, options)
		return err
	})
	return out, created, err
}

func (c *collection) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (out runtime.Object, gone bool, err error) {
	err = c.useOne(ctx, name, func(r *customresource.REST) (err error) {
		out, gone, err = r.Delete(ctx, name, deleteValidation, options)
		return err
	})
	return out, gone, err
}

// useOne is use for one object. If the definition is not served, the object is not found.
func (c *collection) useOne(ctx context.Context, name string, f func(*customresource.REST) error) error {
	served := false
	_, err := c.use(ctx, func(r *customresource.REST) (runtime.Object, error) {
		served = true
		return nil, f(r)
	})
	if err == nil && !served {
		return apierrors.NewNotFound(c.resource.GroupResource(), name)
	}
	return err
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
	version := info.resource.Versions[c.version]
	if version == nil {
		return c.NewList(), nil
	}
	return f(version.Storage.CustomResource)
}

package crd

import (
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/customresource"
)

// OfKind returns the storage of a kind's custom resources, in the kind's version, if clients can read them at
// present.
func (s *Server) OfKind(kind schema.GroupVersionKind) (resource schema.GroupVersionResource, storage rest.Storage, found bool) {
	for _, crd := range s.lister.List() {
		if crd.Spec.Group != kind.Group || crd.Status.AcceptedNames.Kind != kind.Kind ||
			!apihelpers.HasServedCRDVersion(crd, kind.Version) {
			continue
		}
		if c, err := newCollection(s.crdHandler, crd); err == nil && slices.Contains(c.Kinds(), kind) {
			c.version = kind.Version
			return kind.GroupVersion().WithResource(c.resource.Resource), reader{c}, true
		}
	}
	return resource, nil, false
}

// reader adds reads of single objects to a collection.
type reader struct{ *collection }

var _ rest.Getter = reader{}

func (r reader) Get(ctx context.Context, name string, options *metav1.GetOptions) (obj runtime.Object, err error) {
	err = r.useOne(ctx, name, func(storage *customresource.REST) (err error) {
		obj, err = storage.Get(ctx, name, options)
		return err
	})
	return obj, err
}

package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/registry"
)

// verbs lists the methods that namespaces take unchanged from a Store. DeleteCollection is left out: no request may
// delete all namespaces.
type verbs interface {
	rest.StorageWithReadiness
	rest.Scoper
	rest.SingularNameProvider
	rest.ShortNamesProvider
	rest.CategoriesProvider
	rest.StorageVersionProvider
	rest.Getter
	rest.EncodedGetter
	rest.Lister
	rest.EncodedLister
	rest.CreaterUpdater
	rest.Watcher
	rest.EncodedWatcher
	rest.ResetFieldsStrategy

	Declaration() string
	Etcd() store.Etcd
}

// NamespaceREST is the storage of namespaces.
type NamespaceREST struct {
	verbs

	store *registry.Store
}

// FinalizeREST is the subresource finalize.
type FinalizeREST struct {
	subresource *builtin.StatusREST
}

// shouldDeleteDuringUpdate keeps a namespace until spec.finalizers is empty too.
func shouldDeleteDuringUpdate(ctx context.Context, key string, obj, existing runtime.Object) bool {
	ns, ok := obj.(*corev1.Namespace)
	return ok && len(ns.Spec.Finalizers) == 0 && registry.ShouldDeleteDuringUpdate(ctx, key, obj, existing)
}

func (r *FinalizeREST) New() runtime.Object { return r.subresource.New() }

// Destroy does nothing: the resource namespaces owns the storage.
func (r *FinalizeREST) Destroy() {}

func (r *FinalizeREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.subresource.GetResetFields()
}

// Update changes spec.finalizers, and removes a deleted namespace if no finalizer is left.
func (r *FinalizeREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.subresource.Update(ctx, name, objInfo, admit, options)
}

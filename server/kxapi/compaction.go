package kxapi

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// CompactFunc makes etcd forget the history before a revision, and returns that revision. 0 stands for the current one.
type CompactFunc func(ctx context.Context, revision int64) (int64, error)

// CompactionREST is the storage of compactions. Creating one compacts etcd; it is not kept.
type CompactionREST struct {
	compact   CompactFunc
	allow     *recordings
	snapshots *snapshots
}

var compactionResource = groupResource("compactions")

func (r *CompactionREST) New() runtime.Object     { return &v1alpha1.Compaction{} }
func (r *CompactionREST) Destroy()                {}
func (r *CompactionREST) NamespaceScoped() bool   { return false }
func (r *CompactionREST) GetSingularName() string { return "compaction" }

// Create compacts etcd and waits until that is done.
func (r *CompactionREST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	compaction := obj.(*v1alpha1.Compaction).DeepCopy()
	if err := r.allow.refuse("compactions", v1alpha1.AllowFaults); err != nil {
		return nil, apierrors.NewForbidden(compactionResource, compaction.Name, err)
	}
	revision := field.NewPath("spec", "revision")
	invalid := func(errs field.ErrorList) error {
		return apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("Compaction").GroupKind(), compaction.Name, errs)
	}
	if errs := atLeast(revision, compaction.Spec.Revision, 0); len(errs) > 0 {
		return nil, invalid(errs)
	}
	if len(options.DryRun) > 0 {
		return nil, apierrors.NewBadRequest("a compaction can't be tried: leave out dryRun")
	}
	if err := r.snapshots.checkCompaction(compaction.Spec.Revision); err != nil {
		return nil, apierrors.NewConflict(compactionResource, compaction.Name, err)
	}
	if err := validate(ctx, compaction.DeepCopy()); err != nil {
		return nil, err
	}
	start := time.Now()
	done, err := r.compact(ctx, compaction.Spec.Revision)
	switch {
	case errors.Is(err, etcd3.ErrNoRevision):
		return nil, invalid(field.ErrorList{field.Invalid(revision, compaction.Spec.Revision, err.Error())})
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	}
	compaction.CreationTimestamp = metav1.Now()
	compaction.Status = v1alpha1.CompactionStatus{Revision: done, TookMicros: time.Since(start).Microseconds()}
	return compaction, nil
}

package registry

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// tryUpdate computes the next state from the stored one. The storage calls it again after another writer's change, so
// every attempt starts over from what the client sent.
func (u *update) tryUpdate(ctx context.Context, existing runtime.Object, res store.ResponseMeta) (next runtime.Object, ttl *uint64,
	err error) {
	u.attempts++
	ctx, step := trace.Start(ctx, steps.StoreTryUpdate, u.key)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return nil, nil, err
	}
	step.Int("attempt", int64(u.attempts))
	step.Before(existing)

	revision, err := u.Storage.Versioner().ObjectResourceVersion(existing)
	if err != nil {
		return nil, nil, err
	}
	step.Int("revision", int64(revision))
	u.noteReason(step, revision)
	u.created, u.emptied = nil, nil
	if revision == 0 && !u.mayCreate {
		return nil, nil, apierrors.NewNotFound(u.resource, u.name)
	}
	obj, err := u.objInfo.UpdatedObject(ctx, existing)
	if err != nil {
		return nil, nil, err
	}
	if revision == 0 {
		next, ttl, err = u.tryCreate(ctx, obj)
	} else {
		next, ttl, err = u.tryChange(ctx, step, obj, existing, revision, res)
	}
	if next != nil {
		step.After(next)
	}
	return next, ttl, err
}

var (
	firstAttempt = trace.Because("first-attempt",
		"attempt 1: on revision {revision}",
		"第 1 次尝试：基于修订版本 {revision}")
	firstAttemptEmpty = trace.Because("first-attempt-empty", "nothing is there yet", "还没有对象")
	conflictRetried   = trace.Because("conflict-retried",
		"attempt {attempt}: conflict: somebody else wrote in between, so it is tried again on revision {revision}",
		"第 {attempt} 次尝试：版本冲突，期间有别人写入，改为基于修订版本 {revision} 重试")
)

func (u *update) noteReason(step *trace.Step, revision uint64) {
	switch {
	case u.attempts > 1:
		step.Why(conflictRetried, int64(u.attempts), int64(revision))
	case revision == 0:
		step.Why(firstAttemptEmpty)
	default:
		step.Why(firstAttempt, int64(revision))
	}
}

// tryCreate makes the next state of an object that does not exist. It wipes system fields that the client took from an
// earlier object of that name.
func (u *update) tryCreate(ctx context.Context, obj runtime.Object) (_ runtime.Object, _ *uint64, err error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, err
	}
	if m.GetName() != u.name { // admission may have changed it
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
			m.GetName(), u.name))
	}
	rest.WipeObjectMetaSystemFields(m)
	rest.FillObjectMetaSystemFields(m)
	finish, err := u.beginCreate(ctx, obj, u.createOptions())
	if err != nil {
		return nil, nil, err
	}
	defer finish(ctx, false)

	u.created = obj
	if err := BeforeCreate(ctx, u.CreateStrategy, obj); err != nil {
		return nil, nil, err
	}
	if u.admit.Create != nil {
		if err := u.admit.Create(ctx, obj); err != nil {
			return nil, nil, err
		}
	}
	ttl, err := u.calculateTTL(obj, 0, false)
	if err != nil {
		return nil, nil, err
	}
	finish(ctx, true)
	return obj, &ttl, nil
}

// tryChange makes the next state of an object that exists, at revision.
func (u *update) tryChange(
	ctx context.Context, step *trace.Step, obj, existing runtime.Object, revision uint64, res store.ResponseMeta,
) (_ runtime.Object, _ *uint64, err error) {
	if err := u.checkResourceVersion(step, obj, revision, res); err != nil {
		return nil, nil, err
	}
	finish, err := u.beginUpdate(ctx, obj, existing, u.options)
	if err != nil {
		return nil, nil, err
	}
	defer finish(ctx, false)

	if err := BeforeUpdate(ctx, u.UpdateStrategy, obj, existing); err != nil {
		return nil, nil, err
	}
	if err := ignoreManagedFieldsTimestamps(obj, existing); err != nil {
		return nil, nil, err
	}
	if u.admit.Update != nil {
		if err := u.admit.Update(ctx, obj, existing); err != nil {
			return nil, nil, err
		}
	}
	if u.emptiesFinalizers(ctx, obj, existing) {
		m, err := meta.Accessor(existing)
		if err != nil {
			return nil, nil, err
		}
		u.emptied, u.only = obj, store.NewUIDPreconditions(string(m.GetUID()))
		return nil, nil, errEmptiedFinalizers
	}
	ttl, err := u.calculateTTL(obj, res.TTL, true)
	if err != nil {
		return nil, nil, err
	}
	finish(ctx, true)
	if int64(ttl) == res.TTL {
		return obj, nil, nil
	}
	return obj, &ttl, nil
}

var revisionMoved = trace.Because("revision-moved",
	"the request was made on revision {sent}, and the object is at revision {revision}",
	"请求基于修订版本 {sent}，而对象已在修订版本 {revision}")

// checkResourceVersion is the optimistic lock: the client must have seen the present state. A client that sends no
// version accepts any present state, if the resource allows that.
func (u *update) checkResourceVersion(step *trace.Step, obj runtime.Object, revision uint64, res store.ResponseMeta) error {
	versioner := u.Storage.Versioner()
	seen, err := versioner.ObjectResourceVersion(obj)
	switch {
	case err != nil:
		return err
	case seen == 0 && u.UpdateStrategy.AllowUnconditionalUpdate():
		return versioner.UpdateObject(obj, res.ResourceVersion)
	case seen == 0:
		return apierrors.NewInvalid(schema.GroupKind{Group: u.resource.Group, Kind: u.resource.Resource}, u.name, field.ErrorList{
			field.Invalid(metadataPath.Child("resourceVersion"), seen, "must be specified for an update"),
		})
	case seen != revision:
		step.Int("sent", int64(seen))
		step.Why(revisionMoved, int64(seen), int64(revision))
		return apierrors.NewConflict(u.resource, u.name, errors.New(OptimisticLockErrorMsg))
	}
	return nil
}

func (u *update) emptiesFinalizers(ctx context.Context, obj, existing runtime.Object) bool {
	return ShouldDeleteDuringUpdate(ctx, u.key, obj, existing) &&
		(u.ShouldDeleteDuringUpdate == nil || u.ShouldDeleteDuringUpdate(ctx, u.key, obj, existing))
}

// ShouldDeleteDuringUpdate reports whether an update from existing to obj completes a deletion: it was requested, its
// grace period is over, and no finalizer is left.
func ShouldDeleteDuringUpdate(_ context.Context, _ string, obj, existing runtime.Object) bool {
	m, err := meta.Accessor(obj)
	if err != nil {
		utilruntime.HandleError(err)
		return false
	}
	old, err := meta.Accessor(existing)
	if err != nil {
		utilruntime.HandleError(err)
		return false
	}
	grace := old.GetDeletionGracePeriodSeconds()
	return len(m.GetFinalizers()) == 0 && old.GetDeletionTimestamp() != nil && (grace == nil || *grace == 0)
}

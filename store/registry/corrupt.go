package registry

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store"
)

// NewCorruptObjectDeleter returns a deleter that removes only objects that can't be decrypted or decoded. Their
// content is unreadable, so there are no preconditions, finalizers, validation or hooks: whatever depends on such an
// object may break.
func NewCorruptObjectDeleter(e *Store) rest.GracefulDeleter { return &corruptObjectDeleter{store: e} }

type corruptObjectDeleter struct{ store *Store }

// errUnsafeDeleteDryRun stops a dry run at the last moment. That it was reached says that the object is corrupt: the
// storage validates a deletion after it has made sure of that, and before it removes anything.
var errUnsafeDeleteDryRun = errors.New("aborting unsafe delete, dry run requested")

// Delete implements rest.GracefulDeleter. It returns a nil object, since there is nothing readable to show. It
// bypasses DryRunnableStorage, whose dry run would read the object.
func (d *corruptObjectDeleter) Delete(ctx context.Context, name string, _ rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if options == nil || options.IgnoreStoreReadErrorWithClusterBreakingPotential == nil ||
		!*options.IgnoreStoreReadErrorWithClusterBreakingPotential {
		return nil, false, apierrors.NewInternalError(errors.New("initialization error, expected normal deletion flow to be used"))
	}
	key, err := d.store.KeyFunc(ctx, name)
	if err != nil {
		return nil, false, err
	}
	dryRun := isDryRun(options.DryRun)
	validate := store.ValidateObjectFunc(store.ValidateAllObjectFunc)
	if dryRun {
		validate = func(context.Context, runtime.Object) error { return errUnsafeDeleteDryRun }
	}
	err = d.store.Storage.Storage.Delete(ctx, key, d.store.NewFunc(), validate, store.DeleteOptions{ExpectTransformOrDecodeError: true})
	switch {
	case dryRun && errors.Is(err, errUnsafeDeleteDryRun):
		return nil, true, nil
	case dryRun && err == nil:
		return nil, false, apierrors.NewInternalError(errors.New("storage deleted the object despite the dry run request"))
	case err != nil:
		return nil, false, InterpretDeleteError(ctx, err, d.store.qualifiedResourceFromContext(ctx), name)
	}
	return nil, true, nil
}

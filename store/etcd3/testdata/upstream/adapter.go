package upstream

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/transform"
)

// Adapt makes a kx store one of upstream's.
func Adapt(kx store.Interface) storage.Interface { return adapter{kx} }

type adapter struct{ kx store.Interface }

func (a adapter) Versioner() storage.Versioner { return a.kx.Versioner() }

func (a adapter) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	return fromKx(a.kx.Create(ctx, key, obj, out, ttl))
}

func (a adapter) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, opts storage.DeleteOptions) error {
	return fromKx(a.kx.Delete(ctx, key, out, store.ValidateObjectFunc(validate), store.DeleteOptions{
		Preconditions: (*store.Preconditions)(preconditions), Suggestion: cached,
		ExpectTransformOrDecodeError: opts.ExpectTransformOrDecodeError,
	}))
}

func (a adapter) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	w, err := a.kx.Watch(ctx, key, listOptions(opts))
	if err != nil {
		return nil, fromKx(err)
	}
	// Upstream's storage tells its own priority and fairness filter, which kx does not know, that the watch has begun.
	utilflowcontrol.WatchInitialized(ctx)
	return w, nil
}

func (a adapter) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	return fromKx(a.kx.Get(ctx, key, store.GetOptions(opts), out))
}

func (a adapter) GetList(ctx context.Context, key string, opts storage.ListOptions, list runtime.Object) error {
	return fromKx(a.kx.GetList(ctx, key, listOptions(opts), list))
}

func (a adapter) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	return fromKx(a.kx.GuaranteedUpdate(ctx, key, destination,
		func(input runtime.Object, res store.ResponseMeta) (runtime.Object, *uint64, error) {
			return tryUpdate(input, storage.ResponseMeta(res))
		}, store.UpdateOptions{
			IgnoreNotFound: ignoreNotFound, Preconditions: (*store.Preconditions)(preconditions), Suggestion: cached,
		}))
}

func (a adapter) Stats(ctx context.Context) (storage.Stats, error) {
	stats, err := a.kx.Stats(ctx)
	return storage.Stats(stats), fromKx(err)
}

func (a adapter) ReadinessCheck() error { return fromKx(a.kx.ReadinessCheck()) }

func (a adapter) RequestWatchProgress(ctx context.Context) error {
	return fromKx(a.kx.RequestWatchProgress(ctx))
}

func (a adapter) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	rv, err := a.kx.GetCurrentResourceVersion(ctx)
	return rv, fromKx(err)
}

func (a adapter) EnableResourceSizeEstimation(keys storage.KeysFunc) error {
	return fromKx(a.kx.EnableResourceSizeEstimation(store.KeysFunc(keys)))
}

func (a adapter) CompactRevision() int64 { return a.kx.CompactRevision() }

func listOptions(o storage.ListOptions) store.ListOptions {
	return store.ListOptions{
		ResourceVersion:      o.ResourceVersion,
		ResourceVersionMatch: o.ResourceVersionMatch,
		Recursive:            o.Recursive,
		ProgressNotify:       o.ProgressNotify,
		SendInitialEvents:    o.SendInitialEvents,
		Predicate: store.SelectionPredicate{
			Label:               o.Predicate.Label,
			Field:               o.Predicate.Field,
			GetAttrs:            store.AttrFunc(o.Predicate.GetAttrs),
			IndexLabels:         o.Predicate.IndexLabels,
			IndexFields:         o.Predicate.IndexFields,
			Limit:               o.Predicate.Limit,
			Continue:            o.Predicate.Continue,
			AllowWatchBookmarks: o.Predicate.AllowWatchBookmarks,
		},
	}
}

// fromKx makes an error of kx's the same error of upstream's. Others are the same in both.
func fromKx(err error) error {
	if err == store.ErrResourceVersionSetOnCreate {
		return storage.ErrResourceVersionSetOnCreate
	}
	switch e := err.(type) {
	case *store.StorageError:
		return storageError(e)
	case store.InternalError:
		return storage.NewInternalError(errors.Unwrap(e))
	case object.InvalidError:
		return storage.NewInvalidError(e.Errs)
	}
	return err
}

func storageError(e *store.StorageError) error {
	var message string
	if cause := errors.Unwrap(e); cause != nil {
		message = cause.Error()
	}
	switch e.Code {
	case store.ErrCodeKeyNotFound:
		return storage.NewKeyNotFoundError(e.Key, e.ResourceVersion)
	case store.ErrCodeKeyExists:
		return storage.NewKeyExistsError(e.Key, e.ResourceVersion)
	case store.ErrCodeResourceVersionConflicts:
		return storage.NewResourceVersionConflictsError(e.Key, e.ResourceVersion)
	case store.ErrCodeInvalidObj:
		return storage.NewInvalidObjError(e.Key, message)
	case store.ErrCodeUnreachable:
		return storage.NewUnreachableError(e.Key, e.ResourceVersion)
	case store.ErrCodeTimeout:
		return storage.NewTimeoutError(e.Key, message)
	case store.ErrCodeCorruptObj:
		return storage.NewCorruptObjError(e.Key, errors.Unwrap(e))
	}
	return e
}

// AdaptTransformer makes a transformer of upstream's one of kx's.
func AdaptTransformer(t value.Transformer) transform.Transformer { return transformer{t} }

type transformer struct{ upstream value.Transformer }

func (t transformer) TransformFromStorage(ctx context.Context, data []byte, dataCtx transform.Context) ([]byte, bool, error) {
	return t.upstream.TransformFromStorage(ctx, data, dataCtx)
}

func (t transformer) TransformToStorage(ctx context.Context, data []byte, dataCtx transform.Context) ([]byte, error) {
	return t.upstream.TransformToStorage(ctx, data, dataCtx)
}

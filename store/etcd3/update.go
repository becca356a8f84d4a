package etcd3

import (
	"bytes"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// GuaranteedUpdate replaces the object at key by what tryUpdate makes of it, and decodes that into destination.
func (s *store) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, tryUpdate storage.UpdateFunc,
	opts storage.UpdateOptions) error {
	_, err := s.update(ctx, key, destination, tryUpdate, opts)
	return err
}

// UpdateEncoded replaces the object at key by what tryUpdate makes of it.
func (s *store) UpdateEncoded(ctx context.Context, key string, tryUpdate storage.UpdateFunc,
	opts storage.UpdateOptions) (*object.Encoded, error) {
	return s.update(ctx, key, nil, tryUpdate, opts)
}

var noConflict = trace.Because("no-conflict", "nobody else wrote meanwhile", "期间没有别人写入")

// update tries one state after another until one of them leads to a write, to nothing to write, or to an error that
// holds for the state in etcd. It returns the stored object, and decodes it into destination unless that is nil.
func (s *store) update(ctx context.Context, key string, destination runtime.Object, tryUpdate storage.UpdateFunc,
	opts storage.UpdateOptions) (_ *object.Encoded, err error) {
	key, err = s.prepareKey(key, false)
	if err != nil {
		return nil, err
	}
	ctx, step := trace.Start(ctx, steps.Etcd3Update, key)
	defer step.End(&err)
	reader, err := s.newStateReader(key, destination)
	if err != nil {
		return nil, err
	}
	reader.ignoreNotFound = opts.IgnoreNotFound
	state, err := reader.first(ctx, opts.Suggestion)
	if err != nil {
		return nil, err
	}
	u := update{
		store: s, key: key, reader: reader, step: step,
		destination: destination, preconditions: opts.Preconditions, tryUpdate: tryUpdate,
	}
	for tries := int64(1); ; tries++ {
		state, err = u.try(ctx, state)
		if err != nil || state == nil {
			step.Int("tries", tries)
			if tries == 1 && u.wrote {
				step.Why(noConflict)
			}
			return u.stored, err
		}
	}
}

// update is one update under way.
type update struct {
	store         *store
	key           string
	reader        *stateReader
	step          *trace.Step
	destination   runtime.Object
	preconditions *storage.Preconditions
	tryUpdate     storage.UpdateFunc
	// stored is the stored object after the update.
	stored *object.Encoded
	// wrote reports that the update wrote it.
	wrote bool
}

var (
	nothingChanged = trace.Because("nothing-changed",
		"the bytes are the same: nothing was written",
		"字节相同：没有写入")
	suggestionSame = trace.Because("suggestion-same",
		"the same as the suggested state, which etcd no longer has: try again with the stored object",
		"与缓存提供的状态相同，但 etcd 中已是另一状态：用已存储的对象重试")
)

// try makes the next state of one state and writes it. It returns the state to try next, or nil when it is done.
func (u *update) try(ctx context.Context, state *objState) (*objState, error) {
	next, ttl, err := u.next(state)
	if err != nil {
		again, err := u.reader.retry(ctx, state, err)
		if err == nil {
			u.step.Why(suggestionRefused)
		}
		return again, err
	}
	data, err := u.store.encode(ctx, u.key, next)
	if err != nil {
		return nil, err
	}
	if !state.stale && bytes.Equal(data, state.data) {
		if !state.current {
			// The stored object may differ from the guess.
			if state, err = u.reader.read(ctx); err != nil {
				return nil, err
			}
			if !bytes.Equal(data, state.data) {
				u.step.Why(suggestionSame)
				return state, nil
			}
		}
		if !state.stale {
			u.step.Why(nothingChanged)
			u.stored = object.NewEncoded(u.store.format, u.key, state.data, state.rev, false)
			return nil, u.store.fill(ctx, u.key, u.stored, state.data, u.destination)
		}
	}
	return u.write(ctx, state, next, data, ttl)
}

// next asks the caller for the next state, if state meets the preconditions.
func (u *update) next(state *objState) (runtime.Object, uint64, error) {
	if err := u.preconditions.Check(u.key, state.obj); err != nil {
		return nil, 0, err
	}
	next, ttl, err := u.tryUpdate(state.obj, state.meta)
	if err != nil {
		return nil, 0, err
	}
	if err := u.store.versioner.PrepareObjectForStorage(next); err != nil {
		return nil, 0, fmt.Errorf("PrepareObjectForStorage failed: %w", err)
	}
	if ttl == nil {
		return next, 0, nil
	}
	return next, *ttl, nil
}

// write stores data, which is obj, if the key is still at state's revision. Otherwise it returns the state that is
// there instead.
func (u *update) write(ctx context.Context, state *objState, obj runtime.Object, data []byte, ttl uint64) (*objState, error) {
	value, err := u.store.transformToStorage(ctx, u.key, data)
	if err != nil {
		return nil, storage.NewInternalError(err)
	}
	lease, err := u.store.lease(ctx, u.key, ttl)
	if err != nil {
		return nil, err
	}
	t := txn{
		operation: metrics.OperationUpdate, key: u.key, revision: state.rev,
		value: value, lease: lease, getOnFailure: true,
	}
	var result txnResult
	if state.rev == 0 {
		result, err = u.store.commitNew(ctx, u.step, t)
	} else {
		result, err = u.store.kv.commit(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	if !result.succeeded {
		u.step.Why(writeConflict, state.rev)
		return u.reader.decode(ctx, result.kv)
	}
	u.step.Int("resourceVersion", result.revision)
	u.wrote = true
	u.stored, err = u.store.wrote(ctx, u.key, data, obj, u.destination, result.revision)
	return nil, err
}

package cacher

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// GuaranteedUpdate is the storage's, which tries the cached object first.
func (c *Cacher) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, tryUpdate store.UpdateFunc,
	opts store.UpdateOptions) error {
	_, err := c.update(ctx, key, opts, func(ctx context.Context, opts store.UpdateOptions) (*object.Encoded, error) {
		return nil, c.Storage.GuaranteedUpdate(ctx, key, destination, tryUpdate, opts)
	})
	return err
}

// UpdateEncoded is the storage's, which tries the cached object first.
func (c *Cacher) UpdateEncoded(ctx context.Context, key string, tryUpdate store.UpdateFunc,
	opts store.UpdateOptions) (*object.Encoded, error) {
	return c.update(ctx, key, opts, func(ctx context.Context, opts store.UpdateOptions) (*object.Encoded, error) {
		return c.Storage.UpdateEncoded(ctx, key, tryUpdate, opts)
	})
}

// update calls write with the state that it should try first, if one is known.
func (c *Cacher) update(ctx context.Context, key string, opts store.UpdateOptions,
	write func(context.Context, store.UpdateOptions) (*object.Encoded, error)) (_ *object.Encoded, err error) {
	ctx, step := trace.Start(ctx, steps.CacherUpdate, key)
	defer step.End(&err)
	opts.Suggestion = c.suggestion(step, key, opts.Suggestion)
	return write(ctx, opts)
}

// Delete is the storage's, which first tries the newest state that is known: the cached object, or the caller's.
func (c *Cacher) Delete(ctx context.Context, key string, out runtime.Object, validate store.ValidateObjectFunc,
	opts store.DeleteOptions) (err error) {
	ctx, step := trace.Start(ctx, steps.CacherDelete, key)
	defer step.End(&err)
	opts.Suggestion = c.suggestion(step, key, opts.Suggestion)
	if err := c.Storage.Delete(ctx, key, out, validate, opts); err != nil {
		return err
	}
	if revision, err := c.Versioner().ObjectResourceVersion(out); err == nil && revision > 0 {
		c.await(ctx, int64(revision))
	}
	return nil
}

var (
	suggestionUnready = trace.Because("suggestion-unready",
		"the cache is {state:word}: the storage reads the object",
		"缓存状态为 {state:word}：由存储层读取对象")
	suggestionMissing = trace.Because("suggestion-missing",
		"the cache does not have the object: the storage reads it",
		"缓存中没有该对象：由存储层读取")
	suggestionCached = trace.Because("suggestion-cached",
		"the cache has the object at {revision}: that is tried first, which saves a read",
		"缓存中有该对象的修订版本 {revision}：先用它尝试，省去一次读")
	suggestionAgrees = trace.Because("suggestion-agrees",
		"the caller has the object at {revision}, and so has the cache: the caller's is tried first, which saves a read",
		"调用方有该对象的修订版本 {revision}，缓存也是：先用调用方的对象尝试，省去一次读")
	suggestionAhead = trace.Because("suggestion-ahead",
		"the caller has the object at {revision}, which the {state:word} cache lacks: the caller's is tried first, which saves a read",
		"调用方有该对象的修订版本 {revision}，缓存（状态为 {state:word}）中没有：先用调用方的对象尝试，省去一次读")
	suggestionBehind = trace.Because("suggestion-behind",
		"the caller has the object at {revision}, the cache at {cache} by now: the cached one is tried first, which saves a read",
		"调用方有该对象的修订版本 {revision}，缓存已到 {cache}：先用缓存的对象尝试，省去一次读")
)

// suggestion returns the state that a write should try first: the object that the caller has read, unless the cache has
// a newer one. It returns nil if there is neither.
func (c *Cacher) suggestion(step *trace.Step, key string, read runtime.Object) runtime.Object {
	c.sayLate(step)
	var revision int64
	if read != nil {
		if known, err := c.Versioner().ObjectResourceVersion(read); err == nil {
			revision = int64(known)
		}
	}
	state := c.state.get().State
	var cached *object.Encoded
	if state != Uninitialized {
		cached = c.latest(key)
	}
	switch {
	case revision > 0 && (cached == nil || cached.Revision() < revision):
		step.WhyText(suggestionAhead, state.String(), revision)
		return read
	case cached == nil && state == Uninitialized:
		step.WhyText(suggestionUnready, state.String())
		return nil
	case cached == nil:
		step.Why(suggestionMissing)
		return nil
	case revision == 0:
		step.Why(suggestionCached, cached.Revision())
	case revision == cached.Revision():
		step.Why(suggestionAgrees, revision)
		return read
	default:
		step.Why(suggestionBehind, revision, cached.Revision())
	}
	return cached
}

// wrote is called with each object that this process writes, before or after its event comes.
func (c *Cacher) wrote(ctx context.Context, obj *object.Encoded) {
	if !c.begun.Load() {
		return // its event will not come to take it
	}
	c.written.add(obj)
	c.await(ctx, obj.Revision())
}

// writeLog holds the objects that this process wrote and whose events have not come yet, by revision. mu guards its
// fields.
type writeLog struct {
	mu     sync.Mutex
	objs   [maxWritten]*object.Encoded
	newest int64
}

// maxWritten bounds how many objects wait for their events. Others are read from their events.
const maxWritten = 64

func (w *writeLog) add(obj *object.Encoded) {
	w.mu.Lock()
	w.objs[obj.Revision()%maxWritten] = obj
	w.newest = max(w.newest, obj.Revision())
	w.mu.Unlock()
}

// clear forgets all.
func (w *writeLog) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.objs[:])
	w.newest = 0
}

// find is the object that was written last at key, if that was after a revision and its event has not come.
func (w *writeLog) find(key string, after int64) (found *object.Encoded) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.newest <= after {
		return nil
	}
	for _, obj := range w.objs {
		if obj != nil && obj.Revision() > after && obj.Key() == key {
			found, after = obj, obj.Revision()
		}
	}
	return found
}

// take is the object that was written at key and revision, if it is known.
func (w *writeLog) take(key string, revision int64) *object.Encoded {
	w.mu.Lock()
	defer w.mu.Unlock()
	slot := &w.objs[revision%maxWritten]
	obj := *slot
	if obj == nil || obj.Revision() != revision || obj.Key() != key {
		return nil
	}
	*slot = nil
	return obj
}

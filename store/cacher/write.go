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
func (c *Cacher) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *store.Preconditions, tryUpdate store.UpdateFunc, suggestion runtime.Object) error {
	_, err := c.update(ctx, key, suggestion, func(ctx context.Context, suggestion runtime.Object) (*object.Encoded, error) {
		return nil, c.Storage.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, suggestion)
	})
	return err
}

// UpdateEncoded is the storage's, which tries the cached object first.
func (c *Cacher) UpdateEncoded(ctx context.Context, key string, ignoreNotFound bool, preconditions *store.Preconditions,
	tryUpdate store.UpdateFunc, suggestion runtime.Object) (*object.Encoded, error) {
	return c.update(ctx, key, suggestion, func(ctx context.Context, suggestion runtime.Object) (*object.Encoded, error) {
		return c.Storage.UpdateEncoded(ctx, key, ignoreNotFound, preconditions, tryUpdate, suggestion)
	})
}

// update calls write with the cached object as suggestion, if there is one.
func (c *Cacher) update(ctx context.Context, key string, suggestion runtime.Object,
	write func(context.Context, runtime.Object) (*object.Encoded, error)) (_ *object.Encoded, err error) {
	ctx, step := trace.Start(ctx, steps.CacherUpdate, key)
	defer step.End(&err)
	if cached := c.suggestion(step, key); cached != nil {
		suggestion = cached
	}
	return write(ctx, suggestion)
}

// Delete is the storage's, which tries the cached object first.
func (c *Cacher) Delete(ctx context.Context, key string, out runtime.Object, preconditions *store.Preconditions,
	validate store.ValidateObjectFunc, suggestion runtime.Object, opts store.DeleteOptions) (err error) {
	ctx, step := trace.Start(ctx, steps.CacherDelete, key)
	defer step.End(&err)
	if cached := c.suggestion(step, key); cached != nil {
		suggestion = cached
	}
	if err := c.Storage.Delete(ctx, key, out, preconditions, validate, suggestion, opts); err != nil {
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
)

// suggestion returns the cached object that a write should try first, nil if there is none.
func (c *Cacher) suggestion(step *trace.Step, key string) *object.Encoded {
	c.sayLate(step)
	state := c.state.get().State
	if state == Uninitialized {
		step.WhyText(suggestionUnready, state.String())
		return nil
	}
	obj := c.latest(key)
	if obj == nil {
		step.Why(suggestionMissing)
		return nil
	}
	step.Why(suggestionCached, obj.Revision())
	return obj
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

package cacher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/btree"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher/metrics"
)

// item is an object in the tree, under its key.
type item struct {
	key string
	obj *object.Encoded
}

type tree = btree.BTreeG[item]

// degree is that of the tree: large nodes are read fast, small ones are copied fast when a snapshot still holds them.
const degree = 16

func newTree() *tree { return btree.NewG(degree, func(a, b item) bool { return a.key < b.key }) }

// watchCache holds the present state of a resource, as far as it was seen, and the events that led to it.
//
// Invariants:
//
//  1. tree is the state at revision: all changes up to it are in, none after it.
//  2. history holds all changes after history.since, in order.
//  3. revision only grows, except that a refill may begin at an earlier one, if etcd itself went back.
//
// mu guards tree, stored, history, snapshots, filled and replaced. It is held for moments: never while decoding,
// sending, tracing or waiting. A reader that needs more than one object takes a snapshot: a copy of the tree that
// shares its nodes and costs nothing until the next change.
type watchCache struct {
	metrics *metrics.Cache

	mu   sync.RWMutex
	tree *tree
	// stored counts the bytes of the tree's objects in their stored form.
	stored    int64
	history   history
	snapshots snapshots
	filled    bool
	// replaced counts how often the state was replaced.
	replaced int

	revision atomic.Int64
	waiting  waiters
	// wake makes the cacher ask etcd for its revision, for a reader that waits for it.
	wake func()
	// stopped is closed when no more changes come.
	stopped <-chan struct{}
	// waitLimit bounds the wait for a revision.
	waitLimit time.Duration
}

// sizes returns the number of objects and the bytes of their stored form.
func (w *watchCache) sizes() (items int, bytes int64) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.tree.Len(), w.stored
}

// replace makes objects the state at revision.
func (w *watchCache) replace(objects []*object.Encoded, revision int64) {
	next, stored := newTree(), int64(0)
	for _, obj := range objects {
		next.ReplaceOrInsert(item{obj.Key(), obj})
		stored += int64(obj.StoredSize())
	}
	w.mu.Lock()
	w.tree, w.stored = next, stored
	w.history.reset(revision)
	w.snapshots.clear()
	w.replaced++
	w.filled = true
	w.revision.Store(revision)
	w.mu.Unlock()
	w.metrics.At(revision)
	w.waiting.wake(revision)
}

// processEvent makes changes part of the state, all of them at once, and returns their events. Changes that have been
// seen before are left out.
func (w *watchCache) processEvent(changes store.Changes, at time.Time) []*event {
	events := make([]*event, 0, len(changes.Changes))
	now := trace.MarkTime(steps.CacherProcessEvent)
	w.mu.Lock()
	seen := w.revision.Load()
	capacity := cap(w.history.events)
	for _, c := range changes.Changes {
		if c.Revision <= seen {
			continue
		}
		e := &event{revision: c.Revision, key: c.Key, object: c.Object, at: at, processed: now}
		var old item
		var existed bool
		if c.Object == nil {
			old, existed = w.tree.Delete(item{key: c.Key})
		} else {
			old, existed = w.tree.ReplaceOrInsert(item{c.Key, c.Object})
			w.stored += int64(c.Object.StoredSize())
		}
		if existed {
			w.stored -= int64(old.obj.StoredSize())
			e.prev = old.obj
		}
		if e.object == nil && e.prev == nil {
			continue // the deletion of what was deleted before
		}
		if n := len(events); n > 0 {
			events[n-1].more = events[n-1].revision == e.revision
		}
		w.history.append(e)
		events = append(events, e)
	}
	if changes.Revision > seen {
		w.revision.Store(changes.Revision)
	}
	grown := cap(w.history.events)
	w.mu.Unlock()
	w.metrics.Capacity(capacity, grown)
	w.metrics.EventsReceived.Add(float64(len(changes.Changes)))
	if changes.Revision > seen {
		w.metrics.At(changes.Revision)
		w.waiting.wake(changes.Revision)
	}
	return events
}

// get returns the object at key, nil if there is none, and the revision at which that holds.
func (w *watchCache) get(key string) (*object.Encoded, int64) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	found, _ := w.tree.Get(item{key: key})
	return found.obj, w.revision.Load()
}

// WaitUntilFreshAndGet is get as soon as the cache has seen revision.
func (w *watchCache) WaitUntilFreshAndGet(ctx context.Context, revision int64, key string) (*object.Encoded, int64, error) {
	if err := w.waitUntilFresh(ctx, revision); err != nil {
		return nil, 0, err
	}
	obj, seen := w.get(key)
	return obj, seen, nil
}

// WaitUntilFreshAndGetList is the state as soon as the cache has seen revision.
func (w *watchCache) WaitUntilFreshAndGetList(ctx context.Context, revision int64) (*tree, int64, error) {
	if err := w.waitUntilFresh(ctx, revision); err != nil {
		return nil, 0, err
	}
	t, seen := w.snapshot()
	return t, seen, nil
}

// snapshot is the present state.
func (w *watchCache) snapshot() (*tree, int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.snapshotLocked()
}

func (w *watchCache) snapshotLocked() (*tree, int64) {
	revision := w.revision.Load()
	if t := w.snapshots.find(revision); t != nil {
		return t, revision
	}
	t := w.tree.Clone()
	w.snapshots.keep(revision, t)
	return t, revision
}

// getExact is the state at a revision. It is nil if the cache has not seen that yet, or has forgotten what happened
// since.
func (w *watchCache) getExact(revision int64) *tree {
	w.mu.Lock()
	if t := w.snapshots.find(revision); t != nil {
		w.mu.Unlock()
		return t
	}
	seen := w.revision.Load()
	seq, ok := w.history.after(position{revision: revision})
	if revision > seen || !ok {
		w.mu.Unlock()
		return nil
	}
	t, replaced := w.tree.Clone(), w.replaced
	undo := make([]*event, w.history.next-seq)
	w.history.read(seq, undo)
	w.mu.Unlock()
	for i := len(undo) - 1; i >= 0; i-- {
		if e := undo[i]; e.prev != nil {
			t.ReplaceOrInsert(item{e.key, e.prev})
		} else {
			t.Delete(item{key: e.key})
		}
	}
	w.mu.Lock()
	if w.replaced == replaced { // else etcd may have another history by now, and another state at this revision
		w.snapshots.keep(revision, t)
	}
	w.mu.Unlock()
	return t
}

// trim drops expired events and snapshots.
func (w *watchCache) trim(now time.Time) {
	w.mu.Lock()
	before := cap(w.history.events)
	w.history.trim(now)
	w.snapshots.trim(now, w.history.limits.window)
	after := cap(w.history.events)
	w.mu.Unlock()
	w.metrics.Capacity(before, after)
}

// snapshots are states that were read lately: those that pages are read from, one after the other.
type snapshots struct{ kept []keptSnapshot }

type keptSnapshot struct {
	revision int64
	tree     *tree
	used     time.Time
}

const maxSnapshots = 8

func (s *snapshots) find(revision int64) *tree {
	for i := range s.kept {
		if s.kept[i].revision == revision {
			s.kept[i].used = time.Now()
			return s.kept[i].tree
		}
	}
	return nil
}

// keep stores a state. If there is no room, it replaces the state that was unused for the longest time.
func (s *snapshots) keep(revision int64, t *tree) {
	kept := keptSnapshot{revision, t, time.Now()}
	if len(s.kept) < maxSnapshots {
		s.kept = append(s.kept, kept)
		return
	}
	oldest := 0
	for i := range s.kept {
		if s.kept[i].used.Before(s.kept[oldest].used) {
			oldest = i
		}
	}
	s.kept[oldest] = kept
}

func (s *snapshots) clear() { s.kept = nil }

func (s *snapshots) trim(now time.Time, window time.Duration) {
	kept := s.kept[:0]
	for _, snapshot := range s.kept {
		if now.Sub(snapshot.used) <= window {
			kept = append(kept, snapshot)
		}
	}
	clear(s.kept[len(kept):])
	s.kept = kept
}

// waiters holds the readers that wait for a revision. mu guards list.
type waiters struct {
	mu   sync.Mutex
	list []waiter
}

type waiter struct {
	revision int64
	ready    chan struct{}
}

func (w *waiters) wake(revision int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.list[:0]
	for _, waiting := range w.list {
		if waiting.revision <= revision {
			close(waiting.ready)
		} else {
			kept = append(kept, waiting)
		}
	}
	clear(w.list[len(kept):])
	w.list = kept
}

func (w *waiters) waiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.list) > 0
}

func (w *waiters) leave(ready chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.list {
		if w.list[i].ready == ready {
			last := len(w.list) - 1
			w.list[i], w.list[last] = w.list[last], waiter{}
			w.list = w.list[:last]
			return
		}
	}
}

// notSeen says that the cache has not seen a revision in time.
type notSeen struct{ revision, seen int64 }

func (e notSeen) Error() string {
	return fmt.Sprintf("the cache has not seen revision %d, it is at %d", e.revision, e.seen)
}

var errStopping = errors.New("the watch cache is stopping")

// waitUntilFresh waits until the cache has seen revision, but not for ever: then the error is notSeen.
func (w *watchCache) waitUntilFresh(ctx context.Context, revision int64) (err error) {
	if w.revision.Load() >= revision {
		return nil
	}
	ctx, step := trace.Start(ctx, steps.CacherWait, "")
	defer step.End(&err)
	start := time.Now()
	if step.Recording() {
		step.Int("revision", revision)
		step.Int("seen", w.revision.Load())
	}
	ready := make(chan struct{})
	w.waiting.mu.Lock()
	w.waiting.list = append(w.waiting.list, waiter{revision, ready})
	w.waiting.mu.Unlock()
	if seen := w.revision.Load(); seen >= revision {
		w.waiting.wake(seen) // it came meanwhile
	}
	w.wake()
	timeout := time.NewTimer(w.waitLimit)
	defer timeout.Stop()
	select {
	case <-ready:
		w.metrics.ObserveWait(time.Since(start))
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-w.stopped:
		err = errStopping
	case <-timeout.C:
		err = notSeen{revision, w.revision.Load()}
	}
	w.waiting.leave(ready)
	w.metrics.ObserveWait(time.Since(start))
	return err
}

// ascend calls visit with all items at prefix, in the order of their keys, from the key "from" on, until it says no.
func ascend(t *tree, prefix, from string, visit func(item) bool) {
	// The end of the prefix is searched once: comparing each key with the prefix costs more than all the rest of a
	// walk.
	var after *object.Encoded
	t.AscendGreaterOrEqual(item{key: pastAll(prefix)}, func(i item) bool {
		after = i.obj
		return false
	})
	t.AscendGreaterOrEqual(item{key: max(prefix, from)}, func(i item) bool { return i.obj != after && visit(i) })
}

// pastAll is the smallest key that is larger than all that begin with prefix, which ends in a slash.
func pastAll(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

// readHistory copies the events from seq on into buf. Not ok says that the first of them is forgotten.
func (w *watchCache) readHistory(seq int64, buf []*event) (n int, ok bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.history.read(seq, buf)
}

// historyExtent says after which revision the history has all events, and how much of them.
func (w *watchCache) historyExtent() (since int64, events, bytes int) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.history.since, w.history.len(), w.history.bytes
}

// nextSeq is the seq that the next event will have.
func (w *watchCache) nextSeq() int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.history.next
}

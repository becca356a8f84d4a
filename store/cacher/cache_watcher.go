package cacher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// resultBuffer limits the events that wait in a watcher's channel. With one more, the watcher is behind.
const resultBuffer = 32

// catchUpBatch limits the events that a watcher behind takes from the history at a time.
const catchUpBatch = 64

// cacheWatcher is one watch. See dispatcher for who writes what.
type cacheWatcher struct {
	cacher *Cacher
	// key is the key, or what begins all keys, that it watches.
	key       string
	recursive bool
	pred      store.SelectionPredicate
	all       bool // pred selects everything
	// name and trigger are the one name and value of the trigger that it selects, if it selects one.
	name, trigger string
	triggered     bool
	bookmarks     bool
	end           time.Time // when it will be ended, if that is known
	since         time.Time
	who           string
	journey       *trace.Journey // nil if no request watches

	result chan watch.Event
	stop   chan struct{} // closed when the client stops reading
	// next is the seq of the first event that the watcher was not given, and noSeq if the history does not have that
	// event. come is the watcher's position while it is behind.
	next int64
	come position
	// epoch numbers the history of etcd that it watches: a restore from a backup begins another one.
	epoch int64
	// from is the revision that its client knows from the beginning: no bookmark is older.
	from int64
	// at is the revision of the last event that it was given: no bookmark is older. sent counts events, for Inspect.
	at, sent atomic.Int64

	// Guarded by the dispatcher's mu:
	id            int64
	slot          int
	live, stopped bool
	nextBookmark  time.Time
	bookmarked    int64 // the revision of the last one
	bookmarkedAt  time.Time
	release       func() bool
}

func (c *Cacher) newCacheWatcher(ctx context.Context, key string, opts store.ListOptions) *cacheWatcher {
	pred := opts.Predicate
	w := &cacheWatcher{
		cacher:    c,
		key:       key,
		recursive: opts.Recursive,
		pred:      pred,
		all:       pred.Empty(),
		bookmarks: pred.AllowWatchBookmarks,
		since:     time.Now(),
		end:       rest.WatchEnd(ctx),
		who:       watcherOf(ctx),
		journey:   trace.FromContext(ctx),
		result:    make(chan watch.Event, resultBuffer),
		stop:      make(chan struct{}),
		slot:      -1,
		next:      noSeq,
		epoch:     c.epoch.Load(),
	}
	if name, ok := pred.MatchesSingle(); ok {
		w.name = name
	} else if c.trigger != "" && pred.Field != nil {
		w.trigger, w.triggered = pred.Field.RequiresExactMatch(c.trigger)
	}
	w.scheduleBookmark(w.since)
	return w
}

func (w *cacheWatcher) ResultChan() <-chan watch.Event { return w.result }

func (w *cacheWatcher) Stop() {
	d := &w.cacher.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	w.stopLocked()
}

func (w *cacheWatcher) stopLocked() {
	if w.stopped {
		return
	}
	w.stopped = true
	close(w.stop)
	w.cacher.dispatcher.removeLocked(w)
	if w.release != nil {
		w.release()
	}
	if w.live {
		w.live = false
		close(w.result)
	}
}

// run gives the watcher what lies behind, until it is live or ends. begin, if not nil, gives it the state to begin
// with.
func (w *cacheWatcher) run(begin func() error) {
	var err error
	if begin != nil {
		err = begin()
	}
	if err == nil {
		err = w.catchUp()
	}
	if err != nil {
		w.fail(err)
	}
}

var errStopped = errors.New("stopped")

// catchUp goes through the history, and through what etcd tells of the time before.
func (w *cacheWatcher) catchUp() error {
	var batch [catchUpBatch]*event
	for {
		if w.epoch != w.cacher.epoch.Load() {
			return errNewEpoch
		}
		n, ok := w.cacher.watchCache.readHistory(w.next, batch[:])
		if !ok {
			var err error
			if n, err = w.readPast(batch[:]); err != nil {
				return err
			}
		}
		for _, e := range batch[:n] {
			if err := w.pass(e); err != nil {
				return err
			}
		}
		clear(batch[:n])
		if ok && n == 0 && w.cacher.dispatcher.goLive(w) {
			return nil
		}
		if w.isStopped() {
			return errStopped
		}
	}
}

// pass gives the watcher what e is to it, and goes on behind e.
func (w *cacheWatcher) pass(e *event) error {
	if err := w.give(e); err != nil {
		return err
	}
	w.next, w.come = e.seq+1, positionAfter(e)
	return nil
}

// readPast copies events that the history does not have into batch, or finds out that it goes on in the history.
func (w *cacheWatcher) readPast(batch []*event) (n int, err error) {
	c := w.cacher
	if next, _, ok := c.watchCache.eventsAfter(w.come); ok {
		w.next = next
		return 0, nil
	}
	w.next = noSeq
	found, err := c.past.page(w.stop, w.come.after())
	switch {
	case apierrors.IsResourceExpired(err):
		c.metrics.TerminatedWatchers.Inc()
		return 0, err
	case err != nil:
		// The client gets no error: it would list again, although it only has to wait until etcd answers.
		w.pause()
		return 0, nil
	case found == nil:
		return 0, nil
	}
	if n = copy(batch, found.events[w.come.seek(found.events):]); n == 0 {
		w.come = position{revision: found.until}
	}
	return n, nil
}

// pastRetry is the pause before etcd's history is requested again.
const pastRetry = 250 * time.Millisecond

// pause waits a moment, or until the watch ends.
func (w *cacheWatcher) pause() {
	timer := time.NewTimer(pastRetry + rand.N(pastRetry))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.stop:
	}
}

// give sends the watcher what e is to it, if it is for it.
func (w *cacheWatcher) give(e *event) error {
	if e.key != w.key && !(w.recursive && strings.HasPrefix(e.key, w.key)) {
		return nil
	}
	out, selected, err := w.convert(e)
	if err != nil {
		return err
	}
	if !selected {
		return nil
	}
	ready := time.Now()
	if !w.send(out) {
		return errStopped
	}
	w.gave(e.revision)
	sent := time.Now()
	w.cacher.metrics.ObserveDispatch(sent.Sub(e.at), e.processed.Sub(e.at), sent.Sub(ready))
	return nil
}

// gave notes that the watcher was given an event.
func (w *cacheWatcher) gave(revision int64) {
	w.at.Store(revision)
	w.sent.Add(1)
}

// errNewEpoch ends a watcher whose history is no longer etcd's, or can't be proved to be.
var errNewEpoch = apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")

func (w *cacheWatcher) isStopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// send waits until the client takes the event. It returns false if the client is gone.
func (w *cacheWatcher) send(e watch.Event) bool {
	if w.isStopped() {
		return false
	}
	select {
	case w.result <- e:
		return true
	case <-w.stop:
		return false
	}
}

// fail ends the watch with an ERROR event. It is called on the watcher's own goroutine.
func (w *cacheWatcher) fail(err error) {
	if !errors.Is(err, errStopped) {
		w.send(errorEvent(err))
	}
	w.Stop()
	close(w.result)
}

func errorEvent(err error) watch.Event {
	var carrier apierrors.APIStatus
	if !errors.As(err, &carrier) {
		carrier = apierrors.NewInternalError(err)
	}
	status := carrier.Status()
	return watch.Event{Type: watch.Error, Object: &status}
}

// convert makes the watcher's event of one of the cache's. To a watcher with a selector an object comes and goes as it
// is selected.
func (w *cacheWatcher) convert(e *event) (out watch.Event, selected bool, err error) {
	now, before := e.object != nil, e.prev != nil
	if !w.all {
		if now, err = w.selects(e.object); err == nil {
			before, err = w.selects(e.prev)
		}
		if err != nil {
			return out, false, err
		}
	}
	switch {
	case now && before:
		return watch.Event{Type: watch.Modified, Object: e.object}, true, e.object.Err()
	case now:
		return watch.Event{Type: watch.Added, Object: e.object}, true, e.object.Err()
	case before:
		if err := e.prev.Err(); err != nil {
			return out, false, unreadableDeleted(err)
		}
		return watch.Event{Type: watch.Deleted, Object: e.lastState()}, true, nil
	}
	return out, false, nil
}

// unreadableDeleted says of a deleted object that its last state can't be read.
func unreadableDeleted(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    500,
		Reason:  metav1.StatusReasonStoreReadError,
		Message: fmt.Sprintf("saw a DELETED event, but object data is corrupt - %v", err),
	}}
}

// selects says whether the watcher's selectors select obj, which may be nil.
func (w *cacheWatcher) selects(obj *object.Encoded) (bool, error) {
	if obj == nil {
		return false, nil
	}
	return w.cacher.selects(&w.pred, obj)
}

// selects says whether pred selects obj.
func (c *Cacher) selects(pred *store.SelectionPredicate, obj *object.Encoded) (bool, error) {
	a, err := obj.Attributes(c.config.GetAttrsFunc)
	if err != nil {
		return false, err
	}
	return (pred.Label == nil || pred.Label.Matches(&a.Labels)) && (pred.Field == nil || pred.Field.Matches(&a.Fields)), nil
}

// newBookmark is an object that says how far the watcher has come.
func (w *cacheWatcher) newBookmark(revision int64, initialEventsEnd bool) (runtime.Object, error) {
	obj := w.cacher.config.NewFunc()
	if err := w.cacher.config.Storage.Versioner().UpdateObject(obj, uint64(revision)); err != nil {
		return nil, err
	}
	if initialEventsEnd {
		return obj, store.AnnotateInitialEventsEndBookmark(obj)
	}
	return obj, nil
}

// beforeEnd is when the last bookmark comes, before a watch's time is over.
const beforeEnd = 2 * time.Second

func (w *cacheWatcher) scheduleBookmark(now time.Time) {
	w.nextBookmark = now.Add(w.cacher.limits.BookmarkPeriod)
	if w.end.IsZero() {
		return
	}
	if last := w.end.Add(-beforeEnd); last.Before(w.nextBookmark) && last.After(now) {
		w.nextBookmark = last
	}
}

// due says whether it is time for a bookmark.
func (w *cacheWatcher) due(now time.Time) bool { return w.bookmarks && !now.Before(w.nextBookmark) }

package cacher

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

var (
	watchUncached = trace.Because("watch-uncached",
		"the cache is {state:word}: the watch is etcd's",
		"缓存状态为 {state:word}：直接监听 etcd")
	watchRefused = trace.Because("watch-refused", "{error:quote}", "{error:quote}")
)

// WatchEncoded watches the objects that opts select. If the watch can't begin where it should, the reason is its only
// event.
func (c *Cacher) WatchEncoded(ctx context.Context, key string, opts store.ListOptions) (_ watch.Interface, err error) {
	ctx, step := trace.Start(ctx, steps.CacherWatch, key)
	defer step.End(&err)
	c.sayLate(step)
	prefix, err := store.PrepareKey(c.config.ResourcePrefix, key, opts.Recursive)
	if err != nil {
		return nil, err
	}
	given, err := c.parseRevision(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if !c.readyToWatch(ctx) {
		step.WhyText(watchUncached, c.state.get().State.String())
		c.counts.fallbacks.Add(1)
		return c.config.Storage.WatchEncoded(ctx, key, opts)
	}
	s := watchStart{cacher: c, step: step, prefix: prefix, given: given, opts: opts}
	w, err := s.start(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		step.WhyText(watchRefused, err.Error())
		return newErrWatcher(err), nil
	}
	c.counts.hits.Add(1)
	return w, nil
}

// readyToWatch waits for a cache that is about to be filled. The first watch waits too: it would be one of etcd's for
// as long as it lives, and a list that comes before it has begun the filling.
func (c *Cacher) readyToWatch(ctx context.Context) bool {
	c.begin()
	ctx, cancel := context.WithTimeout(ctx, c.limits.Wait)
	defer cancel()
	return c.state.waitFilled(ctx) == nil
}

// watchStart decides where one watch begins.
type watchStart struct {
	cacher *Cacher
	step   *trace.Step
	prefix string
	given  int64
	opts   store.ListOptions
}

var (
	watchFromNow = trace.Because("watch-from-now",
		"no initial events wanted: the changes from now on",
		"不要初始事件：从现在起的变更")
	watchFromHistory = trace.Because("watch-from-history",
		"the changes after {asked}: the cache's history, which begins at {first}, has {events} of the resource's",
		"{asked} 之后的变更：缓存的历史从 {first} 开始，其中有该资源的 {events} 个事件")
)

// start decides where the watch begins.
//
//	sendInitialEvents  resourceVersion  begins with
//	true               any              the state, as new as the resourceVersion wants, and a bookmark
//	unset              unset or 0       the state
//	false              unset or 0       the next change
//	unset or false     N                the first change after N
func (s *watchStart) start(ctx context.Context) (*cacheWatcher, error) {
	c := s.cacher
	initial, asked := false, s.opts.SendInitialEvents != nil
	if asked {
		initial = *s.opts.SendInitialEvents
	}
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	w := c.newCacheWatcher(ctx, s.prefix, s.opts)
	switch {
	case initial || !asked && s.given == 0:
		return s.withState(ctx, w, asked && s.opts.Predicate.AllowWatchBookmarks)
	case s.given == 0:
		w.from = c.watchCache.revision.Load()
		w.next = c.watchCache.nextSeq()
		s.step.Why(watchFromNow)
	default:
		w.from = s.given
		next, since, ok := c.watchCache.eventsAfter(position{revision: s.given})
		if !ok {
			if err := s.fromPast(ctx, since); err != nil {
				return nil, err
			}
			break
		}
		w.next = next
		if s.step.Recording() {
			s.step.Why(watchFromHistory, s.given, since, int64(c.watchCache.nextSeq()-next))
		}
	}
	w.come = position{revision: w.from}
	return w, s.add(ctx, w, nil)
}

var watchFromEtcd = trace.Because("watch-from-etcd",
	"revision {asked} is before the cache's first, {first}: the changes in between are read from etcd's history",
	"修订版本 {asked} 早于缓存最早的 {first}：中间的变更从 etcd 的历史读取")

// fromPast waits until etcd has sent the first of the changes that the history does not have. The watch repeats a
// temporary failure.
func (s *watchStart) fromPast(ctx context.Context, since int64) error {
	c := s.cacher
	ctx, cancel := context.WithTimeout(ctx, c.limits.Wait)
	defer cancel()
	_, err := c.past.page(ctx.Done(), s.given)
	if apierrors.IsResourceExpired(err) {
		return err
	}
	s.step.Why(watchFromEtcd, s.given, since)
	return nil
}

// wait waits until the cache is as new as the watch wants it.
func (s *watchStart) wait(ctx context.Context) error {
	c, revision := s.cacher, s.given
	if s.opts.ResourceVersion == "" {
		latest, _, err := c.revisions.revision(ctx)
		if err != nil {
			return err
		}
		revision = latest
	}
	err := c.watchCache.waitUntilFresh(ctx, revision)
	var late notSeen
	if !errors.As(err, &late) {
		return err
	}
	if err := c.tooLarge(ctx, revision); err != nil {
		return err
	}
	// etcd has it, but its changes don't come: the client should try again, here or elsewhere.
	return store.NewTooLargeResourceVersionError(uint64(revision), uint64(late.seen), retrySeconds)
}

var watchFromState = trace.Because("watch-from-state",
	"the state at {revision} first, then its changes",
	"先给出修订版本 {revision} 的状态，再给出之后的变更")

// withState begins with the present state.
func (s *watchStart) withState(ctx context.Context, w *cacheWatcher, bookmark bool) (*cacheWatcher, error) {
	c := s.cacher
	t, revision, next := c.watchCache.snapshotAndNext()
	w.next, w.from, w.come = next, revision, position{revision: revision}
	if s.step.Recording() {
		s.step.Int("revision", revision)
		s.step.Why(watchFromState, revision)
	}
	l := listing{tree: t, prefix: s.prefix, opts: s.opts}
	return w, s.add(ctx, w, func() error {
		sent := 0
		var err error
		l.each(func(i item) bool {
			out, selected, convertErr := w.convert(&event{object: i.obj})
			switch {
			case convertErr != nil:
				err = convertErr
			case selected && !w.send(out), !selected && w.isStopped():
				err = errStopped
			case selected:
				sent++
				w.sent.Add(1)
			}
			return err == nil
		})
		c.metrics.InitEvents.Add(float64(sent))
		if err != nil || !bookmark {
			return err
		}
		obj, err := w.newBookmark(revision, true)
		if err != nil {
			return err
		}
		if !w.send(watch.Event{Type: watch.Bookmark, Object: obj}) {
			return errStopped
		}
		d := &c.dispatcher
		d.mu.Lock()
		w.bookmarked, w.bookmarkedAt = revision, time.Now()
		d.mu.Unlock()
		return nil
	})
}

// add makes the watcher known. It ends with ctx.
func (s *watchStart) add(ctx context.Context, w *cacheWatcher, begin func() error) error {
	if !s.cacher.dispatcher.add(w, begin) {
		return errStopping
	}
	release := context.AfterFunc(ctx, w.Stop)
	d := &s.cacher.dispatcher
	d.mu.Lock()
	w.release = release
	d.mu.Unlock()
	if w.bookmarks {
		select {
		case s.cacher.wakeKeeper <- struct{}{}:
		default:
		}
	}
	return nil
}

// eventsAfter is where the history goes on for a watcher that has come to a position. Not ok says that it would miss
// changes: those until since are forgotten.
func (w *watchCache) eventsAfter(at position) (seq, since int64, ok bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	seq, ok = w.history.after(at)
	return seq, w.history.since, ok
}

// snapshotAndNext is the present state, and the seq of the first event that is not in it.
func (w *watchCache) snapshotAndNext() (t *tree, revision, next int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, revision = w.snapshotLocked()
	return t, revision, w.history.next
}

// watcherOf names who watches.
func watcherOf(ctx context.Context) string {
	user, ok := request.UserFrom(ctx)
	if !ok {
		return ""
	}
	return user.GetName()
}

// newErrWatcher is a watch that ends with an ERROR event, as one does that meets the error later.
func newErrWatcher(err error) watch.Interface {
	result := make(chan watch.Event, 1)
	result <- errorEvent(err)
	close(result)
	return errWatcher(result)
}

type errWatcher chan watch.Event

func (w errWatcher) ResultChan() <-chan watch.Event { return w }
func (w errWatcher) Stop()                          {}

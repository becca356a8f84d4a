package cacher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// How long the reflector waits after a failure: twice as long after each that follows.
const (
	retryMin = 50 * time.Millisecond
	retryMax = 2 * time.Second
)

// errWentBack says that etcd is at an earlier revision than the cache: it was restored from a backup.
var errWentBack = errors.New("etcd is at an earlier revision than it was before")

// errOtherHistory says that etcd, at the cache's revision, did not have the cache's objects.
var errOtherHistory = errors.New("etcd has another history than the cache has seen: it was restored from a backup")

// reflect fills the cache and follows what changes, until the cacher stops.
//
//	watch etcd from now on, and fill: read all, at one revision ──→ apply changes ──→ failed: watch from there on
//	  ↑                                                                                 │
//	  └────────────────────── what happened meanwhile is compacted ←────────────────────┘
func (c *Cacher) reflect() {
	retry := retryMin
	pause := func(err error) {
		if c.ctx.Err() != nil {
			return
		}
		c.metrics.CountFailure()
		c.log.Warn("the watch cache can't follow etcd, and tries again",
			"resource", c.config.GroupResource.String(), "state", c.state.get().State.String(), "error", err)
		sleep(c.ctx, retry+rand.N(retry))
		retry = min(2*retry, retryMax)
	}
	for c.ctx.Err() == nil {
		err := c.follow()
		switch state := c.state.get().State; {
		case state == Uninitialized || state == Refilling:
			c.state.set(state, err)
			pause(err)
		case apierrors.IsResourceExpired(err) || errors.Is(err, errWentBack) || errors.Is(err, errOtherHistory):
			c.state.set(Refilling, err)
			retry = retryMin
			c.log.Warn("the watch cache missed changes, and is filled again",
				"resource", c.config.GroupResource.String(), "error", err)
		case errors.Is(err, errOtherKeys):
			c.state.set(Refilling, err)
			retry = retryMin
			c.log.Info("the watch cache is filled again", "resource", c.config.GroupResource.String(), "reason", err)
		case errors.Is(err, errLate):
		default:
			if c.state.set(Broken, err) {
				retry = retryMin
			}
			pause(err)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// fill reads the whole resource. Watchers of the state before have missed changes: they go on with what etcd tells of
// them, if it still has the history that they watched.
func (c *Cacher) fill(ctx context.Context) error {
	if c.config.Fills != nil {
		select {
		case c.config.Fills <- struct{}{}:
			defer func() { <-c.config.Fills }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	same, err := c.goesOn(ctx)
	if err != nil {
		return err
	}
	c.readWith = c.keys.Load()
	start := time.Now()
	var objects []*object.Encoded
	revision, err := c.config.Storage.ReadAll(ctx, c.prefix, c.limits.PageSize,
		func(obj *object.Encoded) { objects = append(objects, obj) })
	if err != nil {
		return fmt.Errorf("fill the cache of %s: %w", c.config.GroupResource, err)
	}
	c.dispatcher.restart(same, func() int64 {
		c.written.clear()
		c.marks.forget(revision)
		c.watchCache.replace(objects, revision)
		return revision
	})
	c.state.set(Fresh, nil)
	c.metrics.CountFill(time.Since(start))
	if c.outdated() {
		return errOtherKeys
	}
	return nil
}

// follow applies changes until that fails. A cache that has to be filled is filled when the watch has begun: a watch
// ends with its connection, so the etcd that is read is the one that is watched, and nothing that comes between is
// missed.
func (c *Cacher) follow() error {
	c.follows.Add(1)
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.leave.Store(&cancel)
	defer func() {
		c.leave.Store(nil)
		cancel(nil)
		c.stopFollowing()
	}()
	after, begin := c.watchCache.revision.Load(), c.verify
	if state := c.state.get().State; state == Uninitialized || state == Refilling {
		after, begin = store.FromNowOn, c.fill
	}
	err := c.config.Storage.Follow(ctx, c.prefix, after, func(changes store.Changes) error {
		if changes.Revision == 0 {
			if err := begin(ctx); err != nil {
				return err
			}
			c.revisions.setBack(func() { cancel(errWentBack) })
			// It is known to be whole again when etcd says that there are no changes that it has not sent.
			c.setFollowing(ctx)
			c.progressCame() // what another watch was asked is never answered
			c.requestProgress()
			return nil
		}
		return c.receive(changes, cancel)
	})
	if cause := context.Cause(ctx); cause != nil && c.ctx.Err() == nil {
		return cause
	}
	return err
}

// verify checks whether etcd has the cache's objects, at the cache's revision. It runs after a watch has begun that
// goes on where another one ended: all changes that this watch sends belong to the history that verify checks. An
// etcd that was restored from a backup may be past the cache's revision already, and nothing else would show that.
func (c *Cacher) verify(ctx context.Context) error {
	if c.outdated() {
		return errOtherKeys
	}
	same, err := c.sameHistory(ctx)
	if err != nil {
		return err
	}
	if !same {
		return errOtherHistory
	}
	// etcd answers no request for progress on a watch that starts after its revision, until something is written.
	have := c.watchCache.revision.Load()
	now, _, err := c.revisions.revision(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("compare the cache of %s with etcd: %w", c.config.GroupResource, err)
	case now < have:
		return errWentBack
	case now == have:
		c.state.set(Fresh, nil)
	}
	return nil
}

// goesOn says whether the history of a cache that is filled again is known to be etcd's still. Mostly it is not: etcd
// has compacted the revision at which the cache stopped.
func (c *Cacher) goesOn(ctx context.Context) (bool, error) {
	now := c.state.get()
	if now.State == Uninitialized || errors.Is(now.Err, errWentBack) || errors.Is(now.Err, errOtherHistory) {
		return false, nil
	}
	same, err := c.sameHistory(ctx)
	if apierrors.IsResourceExpired(err) {
		return false, nil
	}
	return same, err
}

// sameHistory reports whether etcd, at the cache's revision, had the cache's objects.
func (c *Cacher) sameHistory(ctx context.Context) (same bool, err error) {
	state, revision := c.watchCache.snapshot()
	same, err = c.config.Storage.Holds(ctx, c.prefix, revision, func(yield func(*object.Encoded) bool) {
		state.Ascend(func(i item) bool { return yield(i.obj) })
	})
	if err != nil {
		return false, fmt.Errorf("compare the cache of %s with etcd at revision %d: %w", c.config.GroupResource, revision, err)
	}
	return same, nil
}

// receive takes what etcd sent. leave gives up its watch.
func (c *Cacher) receive(changes store.Changes, leave func(error)) error {
	if c.config.Control.Active() {
		if err := c.applyDisturbances(changes, leave); err != nil {
			return err
		}
	} else {
		c.dispatch(c.process(changes), changes.Revision)
	}
	if len(changes.Changes) == 0 {
		c.progressCame()
	}
	if c.outdated() {
		return errOtherKeys
	}
	return nil
}

// process makes changes part of the cache.
func (c *Cacher) process(changes store.Changes) []*event {
	now := trace.MarkTime(steps.CacherReflect)
	for i := range changes.Changes {
		change := &changes.Changes[i]
		if own := c.written.take(change.Key, change.Revision); own != nil && change.Object != nil {
			change.Object = own
		}
	}
	return c.watchCache.processEvent(changes, now)
}

// dispatch hands events to watchers.
func (c *Cacher) dispatch(events []*event, revision int64) {
	c.dispatcher.dispatchEvents(events, revision)
	c.state.set(Fresh, nil)
}

// setFollowing sets the context of the watch on which etcd reports its progress.
func (c *Cacher) setFollowing(ctx context.Context) {
	c.asking.Lock()
	defer c.asking.Unlock()
	c.following = ctx
}

func (c *Cacher) stopFollowing() {
	c.asking.Lock()
	defer c.asking.Unlock()
	c.following = nil
}

// askProgress requests a progress notification if a watch of etcd is running. A failure is tried again, and the
// waiting readers have a timeout.
func (c *Cacher) askProgress() {
	c.asking.Lock()
	defer c.asking.Unlock()
	if c.following != nil {
		_ = c.config.Storage.RequestWatchProgress(c.following)
	}
}

// requestProgress makes the progress requester ask etcd for its revision soon.
func (c *Cacher) requestProgress() {
	select {
	case c.progress <- struct{}{}:
	default:
	}
}

// progressRetry is the pause before etcd is asked again without an answer: it does not answer while a watch catches
// up.
const progressRetry = 100 * time.Millisecond

// progressCame says that etcd has answered a request for progress.
func (c *Cacher) progressCame() {
	select {
	case c.answered <- struct{}{}:
	default:
	}
}

// requestProgressWhileWaiting asks etcd for its revision when a reader begins to wait for it, and while one waits.
func (c *Cacher) requestProgressWhileWaiting() {
	for {
		select {
		case <-c.progress:
		case <-c.ctx.Done():
			return
		}
		for first := true; first || c.watchCache.waiting.waiting() || c.state.get().State == Broken; first = false {
			drain(c.progress) // who came until now waits for what is asked now
			drain(c.answered)
			c.askProgress()
			timer := time.NewTimer(progressRetry)
			again := c.awaitProgress(timer.C)
			timer.Stop()
			if !again {
				return
			}
		}
	}
}

// awaitProgress waits until etcd has to be asked again. That is when etcd has answered and a reader came after the
// request, for which the answer may be too old; or when it is time to retry. All readers that come while a request is
// under way share the next one. It returns false when the cacher stops.
func (c *Cacher) awaitProgress(retry <-chan time.Time) bool {
	var came <-chan struct{} // nil until the answer, so that earlier readers do not count
	for {
		select {
		case <-c.answered:
			came = c.progress
		case <-came:
			return true
		case <-retry:
			return true
		case <-c.ctx.Done():
			return false
		}
	}
}

func drain(signal <-chan struct{}) {
	select {
	case <-signal:
	default:
	}
}

package cacher

import (
	"context"
	"time"
)

// The keeper's intervals: a long one while no watcher wants bookmarks.
const (
	keepPeriod         = 15 * time.Second
	keepPeriodWatched  = time.Second
	bookmarkFreshLimit = 100 * time.Millisecond
)

// keep sends bookmarks and drops old events, snapshots and pages, until the cacher stops.
func (c *Cacher) keep() {
	for {
		period := keepPeriod
		if next := c.dispatcher.nextBookmark(); !next.IsZero() {
			period = keepPeriodWatched
		}
		timer := time.NewTimer(period)
		select {
		case <-timer.C:
		case <-c.wakeKeeper:
		case <-c.ctx.Done():
		}
		timer.Stop()
		if c.ctx.Err() != nil {
			return
		}
		now := time.Now()
		c.watchCache.trim(now)
		c.past.trim(now)
		if next := c.dispatcher.nextBookmark(); !next.IsZero() && !now.Before(next) {
			c.catchUpForBookmarks()
			c.dispatcher.bookmark(now)
		}
	}
}

// catchUpForBookmarks brings the cache to etcd's revision, even if nothing of this resource changes: a client that
// comes back with an old bookmark would have to list everything again. If that fails, bookmarks are as old as the
// cache.
func (c *Cacher) catchUpForBookmarks() {
	ctx, cancel := context.WithTimeout(c.ctx, bookmarkFreshLimit)
	defer cancel()
	if revision, _, err := c.revisions.revision(ctx); err == nil {
		_ = c.watchCache.waitUntilFresh(ctx, revision)
	}
}

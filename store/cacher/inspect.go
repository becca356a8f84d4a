package cacher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/object"
)

// Inspection is a view of a cacher at one moment.
type Inspection struct {
	Condition
	// Items counts the objects of the state, and Bytes their memory: stored form and encoded answers.
	Items int
	Bytes int64
	// Revision is the cache's revision. EtcdRevision is the latest known one of etcd; only reads make the cacher ask
	// for it.
	Revision, EtcdRevision int64
	History                HistoryWindow
	Snapshots              int
	Watchers               []WatcherInfo
	// Hits are reads and watches that the cache answered, Fallbacks those that etcd did.
	Hits, Fallbacks int64
}

// HistoryWindow describes the events in memory, from which watches can begin.
type HistoryWindow struct {
	Events int
	Bytes  int64
	// After is the revision after which all events are there; Oldest is when the first of them came.
	After  int64
	Oldest time.Time
	// Most and MostBytes limit the events. Those beyond the last Least are dropped after Window, too.
	Most, Least int
	MostBytes   int64
	Window      time.Duration
}

// WatcherInfo is one watch.
type WatcherInfo struct {
	ID int64
	// Journey is the ID of its request's; empty if it is the server's own.
	Journey string
	User    string
	Key     string
	Since   time.Time
	// Labels and Fields are its selectors.
	Labels, Fields string
	// From is the revision that its client knew at the beginning, At the one up to which it was given all. Sent
	// counts the events.
	From, At, Sent int64
	// Queued counts the events in its channel, of Buffer at most. Behind: more of them wait in the history.
	Queued, Buffer int
	Behind         bool
	// Bookmark is the revision of the last bookmark, 0 if there was none, and Bookmarked when it was sent.
	Bookmark   int64
	Bookmarked time.Time
}

// Inspect returns the view of this moment.
func (c *Cacher) Inspect() Inspection {
	i := Inspection{Condition: c.state.get(), Hits: c.counts.hits.Load(), Fallbacks: c.counts.fallbacks.Load()}
	t := c.watchCache.inspect(&i)
	t.Ascend(func(item item) bool {
		i.Bytes += int64(item.obj.Size())
		return true
	})
	i.Items = t.Len()
	known, since := c.revisions.latest()
	i.EtcdRevision = max(known, i.Revision)
	if i.State == Fresh && isBehind(i.Revision, known, since) {
		i.State, i.Since = Lagging, since
	}
	if late := c.late.Load(); late != nil && (i.State == Fresh || i.State == Lagging) {
		i.Condition = late.Condition
	}
	i.Watchers = c.dispatcher.inspect()
	return i
}

// isBehind says whether a cache has not seen for too long what etcd is known to have.
func isBehind(revision, known int64, since time.Time) bool {
	return known > revision && time.Since(since) > lagTolerance
}

// Lags says whether the cache follows etcd and is behind, without being held back.
func (c *Cacher) Lags() bool {
	known, since := c.revisions.latest()
	return c.late.Load() == nil && c.state.get().State == Fresh && isBehind(c.watchCache.revision.Load(), known, since)
}

func (w *watchCache) inspect(i *Inspection) *tree {
	w.mu.Lock()
	defer w.mu.Unlock()
	i.Revision = w.revision.Load()
	limits := w.history.limits
	i.History = HistoryWindow{
		Events: w.history.len(), Bytes: int64(w.history.bytes), After: w.history.since,
		Most: limits.max, Least: limits.min, MostBytes: int64(limits.maxBytes), Window: limits.window,
	}
	if w.history.len() > 0 {
		i.History.Oldest = w.history.events[w.history.head].at
	}
	i.Snapshots = len(w.snapshots.kept)
	return w.tree.Clone()
}

func (d *dispatcher) inspect() (infos []WatcherInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.each(func(w *cacheWatcher) {
		info := WatcherInfo{
			ID: w.id, User: w.who, Key: w.key, Since: w.since, From: w.from, At: max(w.from, w.at.Load()), Sent: w.sent.Load(),
			Queued: len(w.result), Buffer: cap(w.result), Behind: !w.live, Bookmark: w.bookmarked, Bookmarked: w.bookmarkedAt,
		}
		if w.live {
			info.At = max(info.At, d.revision)
		}
		if w.journey != nil {
			info.Journey = w.journey.ID()
		}
		if w.pred.Label != nil {
			info.Labels = w.pred.Label.String()
		}
		if w.pred.Field != nil {
			info.Fields = mask.Selector(w.pred.Field)
		}
		infos = append(infos, info)
	})
	slices.SortFunc(infos, func(a, b WatcherInfo) int { return cmp.Compare(a.ID, b.ID) })
	return infos
}

// Consistency is a comparison of the cache with etcd at one revision.
type Consistency struct {
	Revision    int64
	Items       int
	Differences []Difference
	// Cut counts the differences that the list leaves out.
	Cut int
}

// Difference is a key that is not the same in both: its revision here and there, 0 where it does not exist.
type Difference struct {
	Key          string
	Cached, Etcd int64
}

func (d Difference) String() string {
	switch {
	case d.Cached == 0:
		return fmt.Sprintf("%s is in etcd at revision %d, and not in the cache", d.Key, d.Etcd)
	case d.Etcd == 0:
		return fmt.Sprintf("%s is in the cache at revision %d, and not in etcd", d.Key, d.Cached)
	case d.Cached == d.Etcd:
		return fmt.Sprintf("%s has other bytes in the cache than in etcd, both at revision %d", d.Key, d.Etcd)
	}
	return fmt.Sprintf("%s is at revision %d in the cache, and at %d in etcd", d.Key, d.Cached, d.Etcd)
}

// maxDifferences limits the differences that a comparison lists.
const maxDifferences = 100

// ErrNotFresh says that a cache can't be compared with etcd: it is not filled, or does not follow what changes.
var ErrNotFresh = errors.New("nothing can be compared until it is fresh again")

// CheckConsistency reads all objects from etcd and compares them with the cache at the same revision.
func (c *Cacher) CheckConsistency(ctx context.Context) (result *Consistency, err error) {
	status := "error"
	defer func() { c.metrics.CountCheck(status) }()
	if now := c.state.get(); now.State != Fresh {
		err := fmt.Errorf("the cache of %s is %s: %w", c.config.GroupResource, now.State, ErrNotFresh)
		if now.Err != nil {
			err = fmt.Errorf("%w: %w", err, now.Err)
		}
		return nil, err
	}
	var stored []*object.Encoded
	revision, err := c.config.Storage.ReadAll(ctx, c.prefix, c.limits.PageSize, func(obj *object.Encoded) { stored = append(stored, obj) })
	if err != nil {
		return nil, fmt.Errorf("check the cache of %s: %w", c.config.GroupResource, err)
	}
	if err := c.watchCache.waitUntilFresh(ctx, revision); err != nil {
		return nil, fmt.Errorf("check the cache of %s: %w", c.config.GroupResource, err)
	}
	t := c.watchCache.getExact(revision)
	if t == nil {
		return nil, fmt.Errorf("check the cache of %s: more has changed since revision %d than it remembers: try again",
			c.config.GroupResource, revision)
	}
	result = &Consistency{Revision: revision, Items: len(stored)}
	result.compare(t, stored)
	status = "success"
	if len(result.Differences) > 0 {
		status = "failure"
	}
	return result, nil
}

// compare walks through both, which are in the order of their keys.
func (r *Consistency) compare(t *tree, stored []*object.Encoded) {
	differ := func(d Difference) {
		if len(r.Differences) == maxDifferences {
			r.Cut++
			return
		}
		r.Differences = append(r.Differences, d)
	}
	t.Ascend(func(i item) bool {
		for len(stored) > 0 && stored[0].Key() < i.key {
			differ(Difference{Key: stored[0].Key(), Etcd: stored[0].Revision()})
			stored = stored[1:]
		}
		if len(stored) == 0 || stored[0].Key() != i.key {
			differ(Difference{Key: i.key, Cached: i.obj.Revision()})
			return true
		}
		other := stored[0]
		stored = stored[1:]
		readable := i.obj.Err() == nil && other.Err() == nil
		if i.obj.Revision() != other.Revision() || readable && !i.obj.EqualStored(other.Stored()) {
			differ(Difference{Key: i.key, Cached: i.obj.Revision(), Etcd: other.Revision()})
		}
		return true
	})
	for _, obj := range stored {
		differ(Difference{Key: obj.Key(), Etcd: obj.Revision()})
	}
}

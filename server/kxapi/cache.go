package kxapi

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/cacher"
)

// catchUpWait limits the time for a cache to catch up with etcd before a get shows it.
const catchUpWait = time.Second

// caches are the watch caches of this process. They have no watch: a cache changes with every event and every read, and
// reporting that would be more work than the cache itself does.
type caches struct {
	caches   *cacher.Caches
	journeys *trace.Recorder // has the journeys of the watches
}

func (c *caches) resource() *anyResource {
	return declare(resource[*v1alpha1.Cache]{
		plural: cachesPlural, singular: "cache", shortNames: []string{"wc"}, empty: &v1alpha1.CacheList{},
		columns: cacheColumns, row: cacheRow, fields: cacheFields, get: c.get, all: c.all,
	})
}

const cachesPlural = "caches"

func (c *caches) find(name string) (*cacher.Cacher, error) {
	if found := c.caches.Get(schema.ParseGroupResource(name)); found != nil {
		return found, nil
	}
	return nil, apierrors.NewNotFound(groupResource(cachesPlural), name)
}

// get returns one cache with its watches, after giving it time to catch up with etcd.
func (c *caches) get(ctx context.Context, name string) (*v1alpha1.Cache, error) {
	found, err := c.find(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpWait)
	defer cancel()
	took, ok := found.CatchUp(ctx)
	cache := cacheOf(found)
	c.nameClients(cache.Status.Watchers)
	if ok {
		micros := took.Microseconds()
		cache.Status.CaughtUpMicros = &micros
	}
	return cache, nil
}

// nameClients fills in the programs of the watches.
func (c *caches) nameClients(watchers []v1alpha1.CacheWatcher) {
	for i := range watchers {
		if w := &watchers[i]; w.Journey != "" {
			if j := c.journeys.Get(w.Journey); j != nil {
				w.UserAgent = escape.Line(j.Summary().Request.UserAgent)
			}
		}
	}
}

// all returns the caches without their watches.
func (c *caches) all(ctx context.Context) (all []*v1alpha1.Cache, err error) {
	found := c.caches.List()
	c.hearOut(ctx, found)
	for _, one := range found {
		cache := cacheOf(one)
		cache.Status.Watchers = nil
		all = append(all, cache)
	}
	return all, nil
}

// hearOut gives caches that seem to lag time to hear from etcd. etcd sends a watch nothing while the watched keys do
// not change, so such a cache lags in its revision but lacks no object. A cache that states a reason for its lag is
// held back, and would hear nothing.
func (c *caches) hearOut(ctx context.Context, found []*cacher.Cacher) {
	ctx, cancel := context.WithTimeout(ctx, catchUpWait)
	defer cancel()
	var hearing sync.WaitGroup
	for _, one := range found {
		if one.Lags() {
			hearing.Go(func() { one.CatchUp(ctx) })
		}
	}
	hearing.Wait()
}

// cacheFields returns the fields for field selectors.
func cacheFields(c *v1alpha1.Cache) fields.Set {
	return fields.Set{
		"metadata.name": c.Name, "spec.group": c.Spec.Group, "spec.resource": c.Spec.Resource, "status.state": string(c.Status.State),
	}
}

var states = map[cacher.State]v1alpha1.CacheState{
	cacher.Uninitialized: v1alpha1.CacheUninitialized,
	cacher.Fresh:         v1alpha1.CacheFresh,
	cacher.Lagging:       v1alpha1.CacheLagging,
	cacher.Broken:        v1alpha1.CacheBroken,
	cacher.Refilling:     v1alpha1.CacheRefilling,
}

// cacheOf copies the current state of a cache, with its watches.
func cacheOf(c *cacher.Cacher) *v1alpha1.Cache {
	resource, seen := c.Resource(), c.Inspect()
	cache := &v1alpha1.Cache{
		ObjectMeta: metav1.ObjectMeta{Name: resource.String()},
		Spec:       v1alpha1.CacheSpec{Group: resource.Group, Resource: resource.Resource},
		Status: v1alpha1.CacheStatus{
			State: states[seen.State], Since: metav1.NewMicroTime(seen.Since),
			Items: int64(seen.Items), Bytes: seen.Bytes,
			Revision: seen.Revision, EtcdRevision: seen.EtcdRevision, Lag: seen.EtcdRevision - seen.Revision,
			History: v1alpha1.CacheHistory{
				Events: int64(seen.History.Events), Bytes: seen.History.Bytes, After: seen.History.After,
				MostEvents: int64(seen.History.Most), MostBytes: seen.History.MostBytes,
				LeastEvents: int64(seen.History.Least), WindowSeconds: int64(seen.History.Window.Seconds()),
			},
			Snapshots: int32(seen.Snapshots),
			Hits:      seen.Hits, Fallbacks: seen.Fallbacks,
			Watches: int64(len(seen.Watchers)),
		},
	}
	if seen.Err != nil {
		cache.Status.Error = escape.Line(seen.Err.Error())
	}
	if oldest := seen.History.Oldest; !oldest.IsZero() {
		cache.Status.History.Oldest = &metav1.MicroTime{Time: oldest}
	}
	for i := range seen.Watchers {
		cache.Status.Watchers = append(cache.Status.Watchers, cacheWatcherOf(&seen.Watchers[i], seen.Revision))
	}
	return cache
}

// cacheWatcherOf describes a watch of a cache that is at a revision.
func cacheWatcherOf(w *cacher.WatcherInfo, revision int64) v1alpha1.CacheWatcher {
	watcher := v1alpha1.CacheWatcher{
		ID: w.ID, Journey: w.Journey, User: escape.Line(w.User), Key: escape.Line(w.Key), Since: metav1.NewMicroTime(w.Since),
		LabelSelector: escape.Line(w.Labels), FieldSelector: escape.Line(w.Fields),
		From: w.From, At: w.At, Lag: max(revision-w.At, 0), Sent: w.Sent,
		Queued: int32(w.Queued), Buffer: int32(w.Buffer), Behind: w.Behind, LastBookmark: w.Bookmark,
	}
	if !w.Bookmarked.IsZero() {
		at := metav1.NewMicroTime(w.Bookmarked)
		watcher.LastBookmarkTime = &at
	}
	return watcher
}

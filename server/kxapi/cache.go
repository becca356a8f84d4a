package kxapi

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/cacher"
)

// catchUpWait is how long a cache that is asked for by its name may take to see what etcd has, until it is shown as it is.
const catchUpWait = time.Second

// CacheREST is the storage of caches. It has no watch: what a cache is like changes with every event and every read, and
// to tell somebody of that would be more work than the cache itself does.
type CacheREST struct {
	rest.TableConvertor
	caches   *cacher.Caches
	journeys *trace.Recorder
}

var (
	_ rest.Getter               = &CacheREST{}
	_ rest.Lister               = &CacheREST{}
	_ rest.Scoper               = &CacheREST{}
	_ rest.SingularNameProvider = &CacheREST{}
	_ rest.ShortNamesProvider   = &CacheREST{}
)

// NewCacheREST serves what caches are like, and whose the watches are by the journeys of their requests.
func NewCacheREST(caches *cacher.Caches, journeys *trace.Recorder) *CacheREST {
	return &CacheREST{TableConvertor: cacheTable, caches: caches, journeys: journeys}
}

func (r *CacheREST) New() runtime.Object     { return &v1alpha1.Cache{} }
func (r *CacheREST) NewList() runtime.Object { return &v1alpha1.CacheList{} }
func (r *CacheREST) Destroy()                {}
func (r *CacheREST) NamespaceScoped() bool   { return false }
func (r *CacheREST) GetSingularName() string { return "cache" }
func (r *CacheREST) ShortNames() []string    { return []string{"wc"} }

// find is the cache of that name.
func find(caches *cacher.Caches, name string) (*cacher.Cacher, error) {
	if c := caches.Get(schema.ParseGroupResource(name)); c != nil {
		return c, nil
	}
	return nil, apierrors.NewNotFound(v1alpha1.SchemeGroupVersion.WithResource("caches").GroupResource(), name)
}

// Get returns one cache with its watches, after it had the time to see what etcd has.
func (r *CacheREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	c, err := find(r.caches, name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpWait)
	defer cancel()
	took, ok := c.CatchUp(ctx)
	cache := cacheOf(c)
	r.nameClients(cache.Status.Watchers)
	if ok {
		micros := took.Microseconds()
		cache.Status.CaughtUpMicros = &micros
	}
	return cache, nil
}

// nameClients says which programs watch.
func (r *CacheREST) nameClients(watchers []v1alpha1.CacheWatcher) {
	for i := range watchers {
		if w := &watchers[i]; w.Journey != "" {
			if j := r.journeys.Get(w.Journey); j != nil {
				w.UserAgent = escape.Line(j.Summary().Request.UserAgent)
			}
		}
	}
}

// List returns all caches as they are, without their watches. It asks etcd for nothing.
func (r *CacheREST) List(_ context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	if options.Continue != "" {
		return nil, apierrors.NewBadRequest("invalid continue token: caches are listed whole")
	}
	if version := options.ResourceVersion; version != "" && version != "0" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid resourceVersion %q: caches have none", version))
	}
	list := &v1alpha1.CacheList{Items: []v1alpha1.Cache{}}
	for _, c := range r.caches.List() {
		cache := cacheOf(c)
		cache.Status.Watchers = nil
		if wantsCache(options, cache) {
			list.Items = append(list.Items, *cache)
		}
	}
	return list, nil
}

// cacheFields are the fields that field selectors can ask about.
func cacheFields(c *v1alpha1.Cache) fields.Set {
	return fields.Set{
		"metadata.name": c.Name, "spec.group": c.Spec.Group, "spec.resource": c.Spec.Resource, "status.state": string(c.Status.State),
	}
}

func wantsCache(options *metainternalversion.ListOptions, c *v1alpha1.Cache) bool {
	if s := options.FieldSelector; s != nil && !s.Empty() && !s.Matches(cacheFields(c)) {
		return false
	}
	return options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set{})
}

var states = map[cacher.State]v1alpha1.CacheState{
	cacher.Uninitialized: v1alpha1.CacheUninitialized,
	cacher.Fresh:         v1alpha1.CacheFresh,
	cacher.Lagging:       v1alpha1.CacheLagging,
	cacher.Broken:        v1alpha1.CacheBroken,
	cacher.Refilling:     v1alpha1.CacheRefilling,
}

// cacheOf is a cache as clients see it, with its watches.
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

// cacheWatcherOf is a watch as clients see it, of a cache that has seen a revision.
func cacheWatcherOf(w *cacher.WatcherInfo, revision int64) v1alpha1.CacheWatcher {
	watcher := v1alpha1.CacheWatcher{
		ID: w.ID, Journey: w.Journey, User: escape.Line(w.User), Key: escape.Line(w.Key), Since: metav1.NewMicroTime(w.Since), LabelSelector: escape.Line(w.Labels), FieldSelector: escape.Line(w.Fields),
		From: w.From, At: w.At, Lag: max(revision-w.At, 0), Sent: w.Sent,
		Queued: int32(w.Queued), Buffer: int32(w.Buffer), Behind: w.Behind, LastBookmark: w.Bookmark,
	}
	if !w.Bookmarked.IsZero() {
		at := metav1.NewMicroTime(w.Bookmarked)
		watcher.LastBookmarkTime = &at
	}
	return watcher
}

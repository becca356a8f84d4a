package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	storagemetrics "github.com/kx-apiserver/kx/store/etcd3/metrics"
)

var (
	listTotal = counter("apiserver_cache_list_total",
		"Lists answered by watch caches.", "group", "resource", "index")
	listFetched = counter("apiserver_cache_list_fetched_objects_total",
		"Objects that watch caches looked at to answer lists.", "group", "resource", "index")
	listReturned = counter("apiserver_cache_list_returned_objects_total",
		"Objects in the lists that watch caches answered.", "group", "resource")
	initEvents = counter("apiserver_init_events_total",
		"Events that watchers got of the state before their watch began.", "group", "resource")
	eventsReceived = counter("apiserver_watch_cache_events_received_total",
		"Events that watch caches received.", "group", "resource")
	eventsDispatched = counter("apiserver_watch_cache_events_dispatched_total",
		"Events that watch caches handed on to those watchers that they are for.", "group", "resource")
	terminatedWatchers = counter("apiserver_terminated_watchers_total",
		"Watchers that were ended because they were so slow that etcd had compacted their next event.", "group", "resource")
	resourceVersion = gauge("apiserver_watch_cache_resource_version",
		"The revision that a watch cache has seen.", "group", "resource")
	capacityIncrease = counter("watch_cache_capacity_increase_total",
		"How often the history of a watch cache got more room.", "group", "resource")
	capacityDecrease = counter("watch_cache_capacity_decrease_total",
		"How often the history of a watch cache gave room back.", "group", "resource")
	capacity = gauge("watch_cache_capacity",
		"How many events the history of a watch cache has room for.", "group", "resource")
	initializations = counter("apiserver_watch_cache_initializations_total",
		"How often watch caches were filled.", "group", "resource")
	initializationErrors = counter("apiserver_watch_cache_initialization_errors_total",
		"How often watch caches could not be filled or followed.", "group", "resource")
	initializationDuration = histogram("apiserver_watch_cache_initialization_duration_seconds",
		"How long it took to fill a watch cache.", []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600}, "group", "resource")
	readWait = histogram("apiserver_watch_cache_read_wait_seconds",
		"How long a read waited for a watch cache to see a revision.",
		[]float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3}, "group", "resource")
	consistentReads = counter("apiserver_watch_cache_consistent_read_total",
		"Reads of the latest state that watch caches were asked for.", "group", "resource", "success", "fallback")
	dispatchDuration = histogram("apiserver_watch_events_dispatch_duration_seconds",
		"How long events took to watchers, by stage: total from the moment that etcd's answer was read until the watcher could be sent the event; storage_to_cache what of it was until the cache had it; cache_to_watcher what of it was waiting for the watcher to take the one before.",
		[]float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}, "group", "resource", "stage")
	consistencyChecks = counter("apiserver_storage_consistency_checks_total",
		"Comparisons of watch caches with etcd.", "group", "resource", "status")
)

// vectors is all that is counted by resource.
var vectors = []interface {
	prometheus.Collector
	DeletePartialMatch(prometheus.Labels) int
}{
	listTotal, listFetched, listReturned, initEvents, eventsReceived, eventsDispatched, terminatedWatchers, resourceVersion,
	capacityIncrease, capacityDecrease, capacity, initializations, initializationErrors, initializationDuration, readWait,
	consistentReads, dispatchDuration, consistencyChecks,
}

func init() {
	for _, v := range vectors {
		prometheus.MustRegister(v)
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// Cache counts for one resource. To find a metric by its labels costs several times what it costs to add to it, so each
// is found once.
type Cache struct {
	resource schema.GroupResource
	forget   sync.Once

	EventsReceived, EventsDispatched, InitEvents, TerminatedWatchers prometheus.Counter

	resourceVersion                                  prometheus.Gauge
	dispatchTotal, storageToCache, cacheToWatcher    prometheus.Observer
	storageLists                                     *storagemetrics.Lists
	lists, fetched, returned                         prometheus.Counter
	capacityIncrease, capacityDecrease               prometheus.Counter
	capacity                                         prometheus.Gauge
	initializations, initializationErrors            prometheus.Counter
	initializationDuration, readWait                 prometheus.Observer
	consistent, consistentFallback, consistentFailed prometheus.Counter
}

// users are how many caches count for a resource. When a resource is served in another way, its new cache begins before
// the old one ends.
var users = struct {
	sync.Mutex
	of map[schema.GroupResource]int
}{of: map[schema.GroupResource]int{}}

const (
	noIndex = ""
	// storageWatchCache is the value of the label that tells storages apart.
	storageWatchCache = "watchcache"
)

// For counts for a resource, until Forget is called.
func For(resource schema.GroupResource) *Cache {
	users.Lock()
	users.of[resource]++
	users.Unlock()
	group, name := resource.Group, resource.Resource
	return &Cache{
		resource:               resource,
		EventsReceived:         eventsReceived.WithLabelValues(group, name),
		EventsDispatched:       eventsDispatched.WithLabelValues(group, name),
		InitEvents:             initEvents.WithLabelValues(group, name),
		TerminatedWatchers:     terminatedWatchers.WithLabelValues(group, name),
		resourceVersion:        resourceVersion.WithLabelValues(group, name),
		dispatchTotal:          dispatchDuration.WithLabelValues(group, name, "total"),
		storageToCache:         dispatchDuration.WithLabelValues(group, name, "storage_to_cache"),
		cacheToWatcher:         dispatchDuration.WithLabelValues(group, name, "cache_to_watcher"),
		storageLists:           storagemetrics.NewLists(resource, storageWatchCache),
		lists:                  listTotal.WithLabelValues(group, name, noIndex),
		fetched:                listFetched.WithLabelValues(group, name, noIndex),
		returned:               listReturned.WithLabelValues(group, name),
		capacityIncrease:       capacityIncrease.WithLabelValues(group, name),
		capacityDecrease:       capacityDecrease.WithLabelValues(group, name),
		capacity:               capacity.WithLabelValues(group, name),
		initializations:        initializations.WithLabelValues(group, name),
		initializationErrors:   initializationErrors.WithLabelValues(group, name),
		initializationDuration: initializationDuration.WithLabelValues(group, name),
		readWait:               readWait.WithLabelValues(group, name),
		consistent:             consistentReads.WithLabelValues(group, name, "true", "false"),
		consistentFallback:     consistentReads.WithLabelValues(group, name, "true", "true"),
		consistentFailed:       consistentReads.WithLabelValues(group, name, "false", "true"),
	}
}

// Forget takes what is counted for a resource out of the metrics if it is no longer served.
// Further calls do nothing.
func (c *Cache) Forget() { c.forget.Do(c.leave) }

func (c *Cache) leave() {
	users.Lock()
	defer users.Unlock()
	if users.of[c.resource]--; users.of[c.resource] > 0 {
		return
	}
	delete(users.of, c.resource)
	labels := prometheus.Labels{"group": c.resource.Group, "resource": c.resource.Resource}
	for _, v := range vectors {
		v.DeletePartialMatch(labels)
	}
	c.storageLists.Forget()
}

// At notes the revision that the cache has seen: its last 15 digits, which are what a float64 can hold.
func (c *Cache) At(revision int64) { c.resourceVersion.Set(float64(revision % 1e15)) }

// Dispatched notes an event that a watcher can be sent: how long after it came, how much of that it took to become part of
// the cache, and how much was waiting for the watcher.
func (c *Cache) Dispatched(after, cached, waited time.Duration) {
	c.dispatchTotal.Observe(after.Seconds())
	c.storageToCache.Observe(cached.Seconds())
	c.cacheToWatcher.Observe(waited.Seconds())
}

// List counts a list: how many objects were looked at, how many of them held against selectors, and how many returned.
func (c *Cache) List(looked, evaluated, returned int) {
	c.lists.Inc()
	c.fetched.Add(float64(looked))
	c.returned.Add(float64(returned))
	c.storageLists.Record(storagemetrics.ListCost{Fetched: looked, Evaluated: evaluated, Returned: returned})
}

// ConsistentRead counts a read of the latest state: answered by the cache, or by etcd instead.
func (c *Cache) ConsistentRead(fallback bool, err error) {
	switch {
	case err != nil:
		c.consistentFailed.Inc()
	case fallback:
		c.consistentFallback.Inc()
	default:
		c.consistent.Inc()
	}
}

// Waited counts how long a read waited for the cache.
func (c *Cache) Waited(took time.Duration) { c.readWait.Observe(took.Seconds()) }

// Filled counts a fill.
func (c *Cache) Filled(took time.Duration) {
	c.initializations.Inc()
	c.initializationDuration.Observe(took.Seconds())
}

// Failed counts that the cache could not be filled or followed.
func (c *Cache) Failed() { c.initializationErrors.Inc() }

// Capacity notes how much room a history has, and had before.
func (c *Cache) Capacity(before, now int) {
	switch {
	case now > before:
		c.capacityIncrease.Inc()
	case now < before:
		c.capacityDecrease.Inc()
	default:
		return
	}
	c.capacity.Set(float64(now))
}

// Checked counts a comparison with etcd: "success", "failure" or "error".
func (c *Cache) Checked(status string) {
	consistencyChecks.WithLabelValues(c.resource.Group, c.resource.Resource, status).Inc()
}

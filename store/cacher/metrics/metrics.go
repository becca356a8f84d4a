package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	storagemetrics "github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// Metrics are the metrics of one server's cachers.
type Metrics struct {
	storage *storagemetrics.Metrics

	listTotal, listFetched, listReturned, initEvents     *prometheus.CounterVec
	eventsReceived, eventsDispatched, terminatedWatchers *prometheus.CounterVec
	capacityIncrease, capacityDecrease                   *prometheus.CounterVec
	initializations, initializationErrors                *prometheus.CounterVec
	consistentReads, consistencyChecks                   *prometheus.CounterVec
	resourceVersion, capacity                            *prometheus.GaugeVec
	initializationDuration, readWait, dispatchDuration   *prometheus.HistogramVec

	// vectors are all of the above.
	vectors []vector

	mu sync.Mutex
	// users counts the caches of a resource; mu guards it. When a resource is installed anew, its new cache begins
	// before the old one ends.
	users map[schema.GroupResource]int
}

// vector is a metric that is counted by resource.
type vector interface {
	DeletePartialMatch(prometheus.Labels) int
}

// New registers the metrics with reg; with a nil registry they count unregistered. Caches count their lists with
// those of storage too; a nil storage stands for unregistered metrics.
func New(reg prometheus.Registerer, storage *storagemetrics.Metrics) *Metrics {
	if storage == nil {
		storage = storagemetrics.New(nil)
	}
	m := &Metrics{storage: storage, users: map[schema.GroupResource]int{}}
	f := &factory{Factory: promauto.With(reg)}
	m.listTotal = f.counter("apiserver_cache_list_total",
		"Lists answered by watch caches.", "group", "resource", "index")
	m.listFetched = f.counter("apiserver_cache_list_fetched_objects_total",
		"Objects that watch caches looked at to answer lists.", "group", "resource", "index")
	m.listReturned = f.counter("apiserver_cache_list_returned_objects_total",
		"Objects in the lists that watch caches answered.", "group", "resource")
	m.initEvents = f.counter("apiserver_init_events_total",
		"Events that watchers got of the state before their watch began.", "group", "resource")
	m.eventsReceived = f.counter("apiserver_watch_cache_events_received_total",
		"Events that watch caches received.", "group", "resource")
	m.eventsDispatched = f.counter("apiserver_watch_cache_events_dispatched_total",
		"Events that watch caches handed on to those watchers that they are for.", "group", "resource")
	m.terminatedWatchers = f.counter("apiserver_terminated_watchers_total",
		"Watchers that were ended because they were so slow that etcd had compacted their next event.", "group", "resource")
	m.resourceVersion = f.gauge("apiserver_watch_cache_resource_version",
		"The revision that a watch cache has seen.", "group", "resource")
	m.capacityIncrease = f.counter("watch_cache_capacity_increase_total",
		"How often the history of a watch cache got more room.", "group", "resource")
	m.capacityDecrease = f.counter("watch_cache_capacity_decrease_total",
		"How often the history of a watch cache gave room back.", "group", "resource")
	m.capacity = f.gauge("watch_cache_capacity",
		"How many events the history of a watch cache has room for.", "group", "resource")
	m.initializations = f.counter("apiserver_watch_cache_initializations_total",
		"How often watch caches were filled.", "group", "resource")
	m.initializationErrors = f.counter("apiserver_watch_cache_initialization_errors_total",
		"How often watch caches could not be filled or followed.", "group", "resource")
	m.initializationDuration = f.histogram("apiserver_watch_cache_initialization_duration_seconds",
		"How long it took to fill a watch cache.", []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600}, "group", "resource")
	m.readWait = f.histogram("apiserver_watch_cache_read_wait_seconds",
		"How long a read waited for a watch cache to see a revision.",
		[]float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3}, "group", "resource")
	m.consistentReads = f.counter("apiserver_watch_cache_consistent_read_total",
		"Reads of the latest state that watch caches were asked for.", "group", "resource", "success", "fallback")
	m.dispatchDuration = f.histogram("apiserver_watch_events_dispatch_duration_seconds",
		"How long events took to watchers, by stage: total from the moment that etcd's answer was read until the watcher could be sent "+
			"the event; storage_to_cache what of it was until the cache had it; "+
			"cache_to_watcher what of it was waiting for the watcher to take the one before.",
		[]float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}, "group", "resource", "stage")
	m.consistencyChecks = f.counter("apiserver_storage_consistency_checks_total",
		"Comparisons of watch caches with etcd.", "group", "resource", "status")
	m.vectors = f.vectors
	return m
}

// factory makes metrics, and remembers them.
type factory struct {
	promauto.Factory
	vectors []vector
}

func (f *factory) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	f.vectors = append(f.vectors, v)
	return v
}

func (f *factory) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := f.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	f.vectors = append(f.vectors, v)
	return v
}

func (f *factory) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := f.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	f.vectors = append(f.vectors, v)
	return v
}

// Cache counts for one resource. Finding a metric by its labels costs several times what adding to it costs, so each
// is found once.
type Cache struct {
	metrics  *Metrics
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

const (
	noIndex = ""
	// storageWatchCache is the value of the label that tells storages apart.
	storageWatchCache = "watchcache"
)

// For returns the counts of a resource. They end with a call of Forget.
func (m *Metrics) For(resource schema.GroupResource) *Cache {
	m.mu.Lock()
	m.users[resource]++
	m.mu.Unlock()
	group, name := resource.Group, resource.Resource
	return &Cache{
		metrics:                m,
		resource:               resource,
		EventsReceived:         m.eventsReceived.WithLabelValues(group, name),
		EventsDispatched:       m.eventsDispatched.WithLabelValues(group, name),
		InitEvents:             m.initEvents.WithLabelValues(group, name),
		TerminatedWatchers:     m.terminatedWatchers.WithLabelValues(group, name),
		resourceVersion:        m.resourceVersion.WithLabelValues(group, name),
		dispatchTotal:          m.dispatchDuration.WithLabelValues(group, name, "total"),
		storageToCache:         m.dispatchDuration.WithLabelValues(group, name, "storage_to_cache"),
		cacheToWatcher:         m.dispatchDuration.WithLabelValues(group, name, "cache_to_watcher"),
		storageLists:           m.storage.Lists(resource, storageWatchCache),
		lists:                  m.listTotal.WithLabelValues(group, name, noIndex),
		fetched:                m.listFetched.WithLabelValues(group, name, noIndex),
		returned:               m.listReturned.WithLabelValues(group, name),
		capacityIncrease:       m.capacityIncrease.WithLabelValues(group, name),
		capacityDecrease:       m.capacityDecrease.WithLabelValues(group, name),
		capacity:               m.capacity.WithLabelValues(group, name),
		initializations:        m.initializations.WithLabelValues(group, name),
		initializationErrors:   m.initializationErrors.WithLabelValues(group, name),
		initializationDuration: m.initializationDuration.WithLabelValues(group, name),
		readWait:               m.readWait.WithLabelValues(group, name),
		consistent:             m.consistentReads.WithLabelValues(group, name, "true", "false"),
		consistentFallback:     m.consistentReads.WithLabelValues(group, name, "true", "true"),
		consistentFailed:       m.consistentReads.WithLabelValues(group, name, "false", "true"),
	}
}

// Forget removes a resource's metrics if the resource is no longer served. Further calls do nothing.
func (c *Cache) Forget() { c.forget.Do(c.leave) }

func (c *Cache) leave() {
	m := c.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users[c.resource]--; m.users[c.resource] > 0 {
		return
	}
	delete(m.users, c.resource)
	labels := prometheus.Labels{"group": c.resource.Group, "resource": c.resource.Resource}
	for _, v := range m.vectors {
		v.DeletePartialMatch(labels)
	}
	c.storageLists.Forget()
}

// At notes the revision that the cache has seen: its last 15 digits, since a float64 holds no more.
func (c *Cache) At(revision int64) { c.resourceVersion.Set(float64(revision % 1e15)) }

// ObserveDispatch notes an event that a watcher can be sent: how long after it came, how much of that it took to become
// part of the cache, and how much was waiting for the watcher.
func (c *Cache) ObserveDispatch(after, cached, waited time.Duration) {
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

// ObserveWait counts how long a read waited for the cache.
func (c *Cache) ObserveWait(took time.Duration) { c.readWait.Observe(took.Seconds()) }

// CountFill counts a fill.
func (c *Cache) CountFill(took time.Duration) {
	c.initializations.Inc()
	c.initializationDuration.Observe(took.Seconds())
}

// CountFailure counts that the cache could not be filled or followed.
func (c *Cache) CountFailure() { c.initializationErrors.Inc() }

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

// CountCheck counts a comparison with etcd: "success", "failure" or "error".
func (c *Cache) CountCheck(status string) {
	c.metrics.consistencyChecks.WithLabelValues(c.resource.Group, c.resource.Resource, status).Inc()
}

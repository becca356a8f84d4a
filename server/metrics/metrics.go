package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The kinds of requests that take a seat.
const (
	ReadOnly = "readOnly"
	Mutating = "mutating"
)

const component = "apiserver"

var (
	durationBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}
	scopeLabels     = []string{"group", "version", "resource", "subresource", "scope", "component"}

	requestTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "apiserver_request_total",
		Help: "Requests by verb, dry run, group, version, resource, scope, component and response code.",
	}, append([]string{"verb", "dry_run", "code"}, scopeLabels...))
	requestDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "apiserver_request_duration_seconds",
		Help:    "How long requests took, watches excepted.",
		Buckets: durationBuckets,
	}, append([]string{"verb", "dry_run"}, scopeLabels...))
	responseSizes = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "apiserver_response_sizes",
		Help:    "How many bytes reads were answered with.",
		Buckets: prometheus.ExponentialBuckets(1000, 10, 7),
	}, append([]string{"verb"}, scopeLabels...))
	longRunning = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "apiserver_longrunning_requests",
		Help: "Long-running requests under way.",
	}, append([]string{"verb"}, scopeLabels...))
	currentInFlight = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "apiserver_current_inflight_requests",
		Help: "Requests being served now, by whether they change anything.",
	}, []string{"request_kind"})
	dropped = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "apiserver_dropped_requests_total",
		Help: "Requests answered 429 because no seat was free.",
	}, []string{"request_kind"})
	aborted = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "apiserver_request_aborts_total",
		Help: "Requests whose answer was cut off, since it had begun and could not be completed.",
	}, []string{"verb", "group", "version", "resource", "subresource", "scope"})
)

func init() {
	prometheus.MustRegister(requestTotal, requestDuration, responseSizes, longRunning, currentInFlight, dropped, aborted)
}

// Request is one request to be counted.
type Request struct {
	Info        *request.RequestInfo
	DryRun      string // what the client asked for in dryRun
	LongRunning bool
}

// verb is the API server's word for the verb label.
func (q Request) verb() string {
	switch q.Info.Verb {
	case "deletecollection":
		return "DELETECOLLECTION"
	case "create":
		return "POST"
	case "update":
		return "PUT"
	case "patch":
		return "PATCH"
	case "delete":
		return "DELETE"
	case "list":
		return "LIST"
	case "watch":
		return "WATCH"
	case "get":
		return "GET"
	}
	return "other"
}

// scope is what the request is about: one resource, those of a namespace, or of the whole cluster.
func (q Request) scope() string {
	switch {
	case q.Info.Name != "":
		return "resource"
	case q.Info.Namespace != "":
		return "namespace"
	case q.Info.IsResourceRequest:
		return "cluster"
	}
	return ""
}

func (q Request) labels(first ...string) []string {
	return append(first, q.Info.APIGroup, q.Info.APIVersion, q.Info.Resource, q.Info.Subresource, q.scope(), component)
}

// Begin counts a request in, and returns what counts it out.
func Begin(q Request) func(code int, bytes int64) {
	verb, dryRun, started := q.verb(), q.DryRun, time.Now()
	if q.LongRunning {
		gauge := longRunning.WithLabelValues(q.labels(verb)...)
		gauge.Inc()
		return func(code int, _ int64) {
			gauge.Dec()
			requestTotal.WithLabelValues(q.labels(verb, dryRun, strconv.Itoa(code))...).Inc()
		}
	}
	return func(code int, bytes int64) {
		s := q.series(verb, code)
		s.total.Inc()
		s.duration.Observe(time.Since(started).Seconds())
		if s.sizes != nil {
			s.sizes.Observe(float64(bytes))
		}
	}
}

// series are what a short request is counted in.
type series struct {
	total           prometheus.Counter
	duration, sizes prometheus.Observer
}

// seriesKey is all that the labels of a request are made of.
type seriesKey struct {
	verb, dryRun, group, version, resource, subresource, scope string
	code                                                       int
}

// known are the series that there are: to find one by its labels takes as long as much of a read from the cache. There are
// no more than the metrics themselves keep.
var known sync.Map // seriesKey → *series

func (q Request) series(verb string, code int) *series {
	key := seriesKey{verb, q.DryRun, q.Info.APIGroup, q.Info.APIVersion, q.Info.Resource, q.Info.Subresource, q.scope(), code}
	if found, ok := known.Load(key); ok {
		return found.(*series)
	}
	s := &series{
		total:    requestTotal.WithLabelValues(q.labels(verb, q.DryRun, strconv.Itoa(code))...),
		duration: requestDuration.WithLabelValues(q.labels(verb, q.DryRun)...),
	}
	if verb == "GET" || verb == "LIST" {
		s.sizes = responseSizes.WithLabelValues(q.labels(verb)...)
	}
	known.Store(key, s)
	return s
}

// InFlight counts a request of a kind as being served until what it returns is called.
func InFlight(kind string) func() {
	gauge := currentInFlight.WithLabelValues(kind)
	gauge.Inc()
	return gauge.Dec
}

// Dropped counts a request that found no seat.
func Dropped(kind string) { dropped.WithLabelValues(kind).Inc() }

// Aborted counts a request whose answer was cut off.
func Aborted(info *request.RequestInfo) {
	q := Request{Info: info}
	aborted.WithLabelValues(q.verb(), info.APIGroup, info.APIVersion, info.Resource, info.Subresource, q.scope()).Inc()
}

// Handler answers /metrics.
func Handler() http.Handler {
	gatherers := prometheus.Gatherers{prometheus.DefaultGatherer, legacyregistry.DefaultGatherer}
	return promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

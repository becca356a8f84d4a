package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/kx-apiserver/kx/core/trace"
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
	watchLabels     = []string{"group", "version", "resource"}
)

// Metrics holds the metrics of one server. A nil *Metrics counts no watches and no certificates.
type Metrics struct {
	// Registry has these metrics, and those of the other packages that register with it.
	Registry *prometheus.Registry

	requestTotal, dropped, aborted, watchEvents                 *prometheus.CounterVec
	requestDuration, responseSizes, watchEventsSizes, watchList *prometheus.HistogramVec
	longRunning, currentInFlight, certificateEnds, deprecated   *prometheus.GaugeVec
	connections                                                 prometheus.Gauge
	refusedConnections, cutOffConnections                       prometheus.Counter

	// known caches the series of each combination of labels, because a lookup by labels takes as long as much of a
	// cached read. The metrics themselves keep as many entries.
	known sync.Map // seriesKey → *series
}

// New makes the metrics of a server, and their registry.
func New() *Metrics {
	registry := prometheus.NewRegistry()
	f := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return f.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	with := func(more []string, labels ...string) []string { return append(labels, more...) }
	return &Metrics{
		Registry: registry,
		requestTotal: counter("apiserver_request_total",
			"Requests by verb, dry run, group, version, resource, scope, component and response code.",
			with(scopeLabels, "verb", "dry_run", "code")...),
		requestDuration: histogram("apiserver_request_duration_seconds",
			"How long requests took, watches excepted.", durationBuckets, with(scopeLabels, "verb", "dry_run")...),
		responseSizes: histogram("apiserver_response_sizes",
			"How many bytes reads were answered with.", prometheus.ExponentialBuckets(1000, 10, 7), with(scopeLabels, "verb")...),
		longRunning: gauge("apiserver_longrunning_requests",
			"Long-running requests under way.", with(scopeLabels, "verb")...),
		currentInFlight: gauge("apiserver_current_inflight_requests",
			"Requests being served now, by whether they change anything.", "request_kind"),
		dropped: counter("apiserver_dropped_requests_total",
			"Requests answered 429 because no seat was free.", "request_kind"),
		aborted: counter("apiserver_request_aborts_total",
			"Requests whose answer was cut off, since it had begun and could not be completed.",
			"verb", "group", "version", "resource", "subresource", "scope"),

		watchEvents: counter("apiserver_watch_events_total",
			"Events sent to watching clients.", watchLabels...),
		watchEventsSizes: histogram("apiserver_watch_events_sizes",
			"How many bytes the events sent to watching clients had.", prometheus.ExponentialBuckets(1024, 2, 8), watchLabels...),
		watchList: histogram("apiserver_watch_list_duration_seconds",
			"How long watches that begin with the present state took until all of it was sent.",
			[]float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300},
			append(slices.Clone(watchLabels), "scope")...),

		deprecated: gauge("apiserver_requested_deprecated_apis",
			"1 for each deprecated version of a resource that a client has asked for, and the release that does not have it any more.",
			"group", "version", "resource", "subresource", "removed_release"),
		certificateEnds: gauge("kx_certificate_expiration_timestamp_seconds",
			"When a certificate that the server works with expires, by what it is for or the flag that gave it. Those of "+
				"clients are in apiserver_client_certificate_expiration_seconds.",
			"certificate"),

		connections: f.NewGauge(prometheus.GaugeOpts{
			Name: "kx_connections", Help: "Connections of clients that are open."}),
		refusedConnections: f.NewCounter(prometheus.CounterOpts{
			Name: "kx_refused_connections_total",
			Help: "Connections that were closed before they had asked for anything, since as many were open as --max-connections allows."}),
		cutOffConnections: f.NewCounter(prometheus.CounterOpts{
			Name: "kx_cut_off_connections_total",
			Help: "Connections of HTTP/2 that were closed because they opened and reset requests too fast."}),
	}
}

// Request is one request to count.
type Request struct {
	Info        *request.RequestInfo
	DryRun      string // the client's dryRun parameter
	LongRunning bool
}

// verb returns the value of the verb label.
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

// scope returns the value of the scope label: one resource, those of a namespace, or those of the whole cluster.
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

var (
	countedWrite = trace.Because("counted-write",
		"code {code} in apiserver_request_total, its time in apiserver_request_duration_seconds: {labels:word}",
		"apiserver_request_total 计响应码 {code}，apiserver_request_duration_seconds 计耗时：{labels:word}")
	countedRead = trace.Because("counted-read",
		"code {code} in apiserver_request_total, its time in apiserver_request_duration_seconds, its bytes in "+
			"apiserver_response_sizes: {labels:word}",
		"apiserver_request_total 计响应码 {code}，apiserver_request_duration_seconds 计耗时，apiserver_response_sizes "+
			"计字节数：{labels:word}")
	countedLong = trace.Because("counted-long",
		"code {code} in apiserver_request_total, one less in apiserver_longrunning_requests; the time of long-running "+
			"requests is not recorded: {labels:word}",
		"apiserver_request_total 计响应码 {code}，apiserver_longrunning_requests 减一；长时间运行的请求不记录耗时："+
			"{labels:word}")
)

// Begin counts a request in. The returned function counts it out, and sets the reason of the step.
func (m *Metrics) Begin(q Request) func(step *trace.Step, code int, bytes int64) {
	verb, started := q.verb(), time.Now()
	if q.LongRunning {
		gauge := m.longRunning.WithLabelValues(q.labels(verb)...)
		gauge.Inc()
		return func(step *trace.Step, code int, _ int64) {
			gauge.Dec()
			m.requestTotal.WithLabelValues(q.labels(verb, q.DryRun, strconv.Itoa(code))...).Inc()
			if step.Recording() {
				step.WhyText(countedLong, q.describe(verb), int64(code))
			}
		}
	}
	return func(step *trace.Step, code int, bytes int64) {
		s := m.series(q, verb, code)
		s.total.Inc()
		s.duration.Observe(time.Since(started).Seconds())
		if s.sizes == nil {
			step.WhyText(countedWrite, s.labels, int64(code))
			return
		}
		s.sizes.Observe(float64(bytes))
		step.WhyText(countedRead, s.labels, int64(code))
	}
}

// describe names the labels that have a value. It omits the code, and the component, which is always the same.
func (q Request) describe(verb string) string {
	text := "verb=" + verb
	names := append([]string{"dry_run"}, scopeLabels...)
	values := q.labels(q.DryRun)
	for i, value := range values[:len(values)-1] {
		if value != "" {
			text += ", " + names[i] + "=" + value
		}
	}
	return text
}

// series holds the time series that count a short request.
type series struct {
	total           prometheus.Counter
	duration, sizes prometheus.Observer
	labels          string // for people
}

// seriesKey holds all fields of a request that its labels depend on.
type seriesKey struct {
	verb, dryRun, group, version, resource, subresource, scope string
	code                                                       int
}

func (m *Metrics) series(q Request, verb string, code int) *series {
	key := seriesKey{verb, q.DryRun, q.Info.APIGroup, q.Info.APIVersion, q.Info.Resource, q.Info.Subresource, q.scope(), code}
	if found, ok := m.known.Load(key); ok {
		return found.(*series)
	}
	s := &series{
		total:    m.requestTotal.WithLabelValues(q.labels(verb, q.DryRun, strconv.Itoa(code))...),
		duration: m.requestDuration.WithLabelValues(q.labels(verb, q.DryRun)...),
		labels:   q.describe(verb),
	}
	if verb == "GET" || verb == "LIST" {
		s.sizes = m.responseSizes.WithLabelValues(q.labels(verb)...)
	}
	m.known.Store(key, s)
	return s
}

// InFlight counts a request of a kind as running until the returned function is called.
func (m *Metrics) InFlight(kind string) func() {
	gauge := m.currentInFlight.WithLabelValues(kind)
	gauge.Inc()
	return gauge.Dec
}

// CountDropped counts a request that found no seat.
func (m *Metrics) CountDropped(kind string) { m.dropped.WithLabelValues(kind).Inc() }

// CountAborted counts a request whose response was cut off.
func (m *Metrics) CountAborted(info *request.RequestInfo) {
	q := Request{Info: info}
	m.aborted.WithLabelValues(q.verb(), info.APIGroup, info.APIVersion, info.Resource, info.Subresource, q.scope()).Inc()
}

// ConnectionOpened counts a connection until ConnectionClosed.
func (m *Metrics) ConnectionOpened() { m.connections.Inc() }

// ConnectionClosed counts a connection out.
func (m *Metrics) ConnectionClosed() { m.connections.Dec() }

// ConnectionRefused counts a connection that was refused.
func (m *Metrics) ConnectionRefused() { m.refusedConnections.Inc() }

// ConnectionCutOff counts a connection that was closed because of its resets.
func (m *Metrics) ConnectionCutOff() { m.cutOffConnections.Inc() }

// CertificateEnds records when a certificate expires.
func (m *Metrics) CertificateEnds(certificate string, end time.Time) {
	if m != nil {
		m.certificateEnds.WithLabelValues(certificate).Set(float64(end.Unix()))
	}
}

// CountDeprecated records a request for a deprecated version of a resource. removedRelease is the first release without
// it, if known.
func (m *Metrics) CountDeprecated(info *request.RequestInfo, removedRelease string) {
	if m != nil {
		m.deprecated.WithLabelValues(info.APIGroup, info.APIVersion, info.Resource, info.Subresource, removedRelease).Set(1)
	}
}

// Handler answers /metrics.
func (m *Metrics) Handler() http.Handler {
	gatherers := prometheus.Gatherers{m.Registry, prometheus.DefaultGatherer, legacyregistry.DefaultGatherer}
	return promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

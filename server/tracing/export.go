package tracing

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kx-apiserver/kx/core/trace"
)

const (
	// These limit the journeys that wait for export, in number and bytes.
	journeysMost = 512
	bytesMost    = 16 << 20
	// exportDelay is the time that a journey waits for others, and for its marks.
	exportDelay = time.Second
	// These limit the spans of one message, in number and bytes. Collectors accept 4 MiB.
	batchMost      = 512
	batchBytesMost = 1 << 20
	// flushWait limits the wait of a stopping server for its collector.
	flushWait = 2 * time.Second
)

// retries end early enough that one message does not cause waiting journeys to be dropped.
var retries = otlptracegrpc.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second,
	MaxElapsedTime: 10 * time.Second}

// exporter exports journeys that have ended.
//
// mu guards the fields below it. Requests add to pending, and one goroutine takes all of it. A journey is retained when
// it is added, and released when its spans are made. Until then it counts as waiting.
type exporter struct {
	client   otlptrace.Client
	endpoint string
	log      *slog.Logger
	spans    *converter

	exported, failed, dropped prometheus.Counter
	// failing is true if the last message failed. Only the goroutine of Run uses it.
	failing bool

	mu      sync.Mutex
	pending []waitingJourney
	waiting int // the number of waiting journeys, including the taken ones
	bytes   int // their size
	// began gets a signal when a journey is added, and full one when the waiting journeys reach half of a limit.
	began, full chan struct{}
}

// waitingJourney is a waiting journey.
type waitingJourney struct {
	journey *trace.Journey
	bytes   int
}

func newExporter(c Config, client otlptrace.Client, endpoint string) *exporter {
	f := promauto.With(c.Registry)
	spans := f.NewCounterVec(prometheus.CounterOpts{
		Name: "kx_tracing_spans_total",
		Help: "Spans that were sent to the collector, by whether it took their message.",
	}, []string{"result"})
	return &exporter{
		client: client, endpoint: endpoint, log: c.Log, spans: newConverter(c.Process),
		exported: spans.WithLabelValues("exported"), failed: spans.WithLabelValues("failed"),
		dropped: f.NewCounter(prometheus.CounterOpts{
			Name: "kx_tracing_dropped_journeys_total",
			Help: "Sampled journeys that were not exported, since too many others waited for the collector.",
		}),
		began: make(chan struct{}, 1), full: make(chan struct{}, 1),
	}
}

// Export exports a journey that has ended, if it is sampled.
func (t *Tracer) Export(j *trace.Journey) {
	if t == nil {
		return
	}
	if span := j.Span(); span != nil && span.Sampled && !span.Through {
		t.add(j)
	}
}

func (e *exporter) add(j *trace.Journey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	bytes, ok := 0, false
	if e.waiting < journeysMost && e.bytes < bytesMost {
		bytes, ok = j.Keep()
	}
	if !ok {
		e.dropped.Inc()
		return
	}
	e.pending = append(e.pending, waitingJourney{j, bytes})
	e.waiting++
	e.bytes += bytes
	signal(e.began)
	if e.waiting >= journeysMost/2 || e.bytes >= bytesMost/2 {
		signal(e.full)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take takes all pending journeys.
func (e *exporter) take() []waitingJourney {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.pending
	e.pending = nil
	return all
}

// release ends the wait of a journey, and returns a copy of it.
func (e *exporter) release(k waitingJourney) trace.Record {
	defer k.journey.Release()
	e.mu.Lock()
	e.waiting--
	e.bytes -= k.bytes
	e.mu.Unlock()
	return k.journey.Record()
}

// Run exports until ctx ends, and then exports the waiting journeys.
func (e *exporter) Run(ctx context.Context) {
	sending, end := context.WithCancel(context.Background())
	defer end()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(flushWait, end) })
	defer stop()
	for ctx.Err() == nil {
		select {
		case <-e.began:
			e.wait(ctx)
			e.export(sending)
		case <-ctx.Done():
		}
	}
	e.export(sending) // journeys that came during the last message
}

// Close closes the connection to the collector. It must be called after Run has ended.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushWait)
	defer cancel()
	return t.client.Stop(ctx)
}

// wait waits until there is enough to export, or exportDelay has passed.
func (e *exporter) wait(ctx context.Context) {
	timer := time.NewTimer(exportDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.full:
	case <-ctx.Done():
	}
}

func (e *exporter) export(ctx context.Context) {
	var batch []*tracepb.Span
	size := 0
	for _, k := range e.take() {
		r := e.release(k)
		for span := range e.spans.spans(&r) {
			batch = append(batch, span)
			if size += proto.Size(span); len(batch) == batchMost || size >= batchBytesMost {
				e.send(ctx, batch)
				batch, size = nil, 0
			}
		}
	}
	if len(batch) > 0 {
		e.send(ctx, batch)
	}
}

// maxReason limits the part of a collector's error that is logged: errors may have megabytes.
const maxReason = 1 << 10

func brief(err error) string {
	text := err.Error()
	if len(text) <= maxReason {
		return text
	}
	return strings.ToValidUTF8(text[:maxReason], "") + "…"
}

// send sends one message. It logs the first of several failures, and their end.
func (e *exporter) send(ctx context.Context, batch []*tracepb.Span) {
	if err := e.client.UploadTraces(ctx, e.spans.resource(batch)); err != nil {
		e.failed.Add(float64(len(batch)))
		if !e.failing {
			e.log.Warn("spans are lost, since the collector of --tracing-config-file does not take them", "endpoint",
				e.endpoint, "reason", brief(err))
		}
		e.failing = true
		return
	}
	e.exported.Add(float64(len(batch)))
	if e.failing {
		e.log.Info("the collector takes spans again", "endpoint", e.endpoint)
	}
	e.failing = false
}

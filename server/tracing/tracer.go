package tracing

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kx-apiserver/kx/core/trace"
)

// Config configures a Tracer.
type Config struct {
	// File is a TracingConfiguration.
	File string
	// Process is the name of this process, the service's instance.
	Process  string
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Tracer decides which journeys are exported, and exports them while it runs.
type Tracer struct {
	// ratio samples traces that begin here; nil for none.
	ratio sdktrace.Sampler
	*exporter
}

// New makes the Tracer of a file. It connects to the collector at the first export.
func New(ctx context.Context, c Config) (*Tracer, error) {
	configuration, err := load(c.File)
	if err != nil {
		return nil, err
	}
	options := []otlptracegrpc.Option{otlptracegrpc.WithInsecure(), otlptracegrpc.WithRetry(retries)}
	endpoint := "the collector"
	if configuration.Endpoint != nil {
		endpoint = *configuration.Endpoint
		options = append(options, otlptracegrpc.WithEndpoint(endpoint))
	}
	client := otlptracegrpc.NewClient(options...)
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("%s: endpoint: %w", c.File, err)
	}
	t := &Tracer{exporter: newExporter(c, client, endpoint)}
	if rate := configuration.SamplingRatePerMillion; rate != nil && *rate > 0 {
		t.ratio = sdktrace.TraceIDRatioBased(float64(*rate) / 1_000_000)
	}
	return t, nil
}

// Begin gives the journey of a request its place in a trace. recorded is true if the journey will exist when the
// request has ended.
func (t *Tracer) Begin(j *trace.Journey, header http.Header, who user.Info, recorded bool) {
	incoming := remote(header)
	if t == nil || !recorded {
		if incoming.IsValid() {
			span := remoteSpan(incoming)
			span.ID, span.Parent, span.Through = span.Parent, 0, true
			j.SetSpan(&span)
		}
		return
	}
	if incoming.IsValid() && believed(who) {
		span := remoteSpan(incoming)
		span.ID = random()
		j.SetSpan(&span)
		return
	}
	span := t.first()
	if incoming.IsValid() {
		id := incoming.SpanID()
		span.Linked = trace.Link{Trace: incoming.TraceID(), ID: binary.BigEndian.Uint64(id[:])}
	}
	j.SetSpan(&span)
}

// remote returns the span in the client's headers; it is invalid if there is none.
func remote(header http.Header) oteltrace.SpanContext {
	if len(header["Traceparent"]) == 0 { // true for nearly all requests
		return oteltrace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(header))
	return oteltrace.SpanContextFromContext(ctx)
}

// remoteSpan returns a span without an ID, whose parent is in another program.
func remoteSpan(parent oteltrace.SpanContext) trace.Span {
	id := parent.SpanID()
	return trace.Span{
		Trace: parent.TraceID(), Parent: binary.BigEndian.Uint64(id[:]), Sampled: parent.IsSampled(), State: parent.TraceState().String(),
	}
}

// first returns the first span of a new trace.
func (t *Tracer) first() trace.Span {
	span := trace.Span{ID: random()}
	binary.BigEndian.PutUint64(span.Trace[:8], random())
	binary.BigEndian.PutUint64(span.Trace[8:], random())
	if t.ratio != nil {
		verdict := t.ratio.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: span.Trace})
		span.Sampled = verdict.Decision == sdktrace.RecordAndSample
	}
	return span
}

// random returns a random number other than 0.
func random() uint64 { return max(rand.Uint64(), 1) }

// believed reports whether the trace of a user's request is continued: the user may see the traces of the server, as
// upstream.
func believed(who user.Info) bool {
	return who != nil && slices.ContainsFunc(who.GetGroups(), func(group string) bool {
		return group == user.SystemPrivilegedGroup || group == user.MonitoringGroup
	})
}

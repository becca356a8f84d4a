package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/peertest"
)

// TestBounded: what waits for a collector that hangs is bounded, also while it is sent, and is exported when the collector goes on.
func TestBounded(t *testing.T) {
	h := hang(t)
	const ended = 3 * journeysMost
	for range ended {
		h.end()
	}
	if dropped := counted(t, h.registry, "kx_tracing_dropped_journeys_total"); dropped != ended-journeysMost {
		t.Errorf("%v of %d were dropped", dropped, ended)
	}
	close(h.goOn)
	h.collector.Wait(t, "all that waited", func(all []peertest.Span) bool { return len(all) == 2*(journeysMost+1) })
	h.stop()
	h.empty(2 * (journeysMost + 1))
}

// hanging is a tracer that runs, and whose first message does not come to its end before the collector goes on.
type hanging struct {
	t         *testing.T
	tracer    *Tracer
	collector *peertest.Collector
	registry  *prometheus.Registry
	recorder  *trace.Recorder
	goOn      chan struct{}
	stop      context.CancelFunc
	running   sync.WaitGroup
}

func hang(t *testing.T) *hanging {
	h := &hanging{t: t, collector: peertest.NewCollector(t), registry: prometheus.NewRegistry(), goOn: make(chan struct{})}
	h.recorder = trace.NewRecorder("p", trace.Limits{Journeys: 10, Bytes: 1 << 20, JourneyBytes: 1 << 20, Changes: 10})
	hangs := make(chan struct{}, 1)
	h.collector.Answer(func(context.Context) error {
		signal(hangs)
		<-h.goOn
		return nil
	})
	var err error
	h.tracer, err = New(t.Context(), Config{File: h.collector.File(t, 1_000_000), Process: "p", Registry: h.registry, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	h.stop = stop
	h.running.Go(func() { h.tracer.Run(ctx) })
	h.end()
	<-hangs
	return h
}

// end has a request end, of two spans.
func (h *hanging) end() {
	ctx, j := h.recorder.Begin(h.t.Context(), trace.Request{Method: "GET"})
	h.tracer.Begin(j, http.Header{}, nil, true)
	_, step := trace.Start(ctx, steps.HandlerGet, "")
	step.End(nil)
	j.Finish(trace.Response{Code: 200})
	h.tracer.Export(j)
}

// empty waits until the tracer, which was stopped, has ended. Nothing may wait then, and so many spans must have been sent, or been lost by a
// collector whose time was over.
func (h *hanging) empty(want float64) {
	h.t.Helper()
	h.running.Wait()
	if err := h.tracer.Close(); err != nil {
		h.t.Error(err)
	}
	if spans := counted(h.t, h.registry, "kx_tracing_spans_total"); h.tracer.waiting != 0 || h.tracer.bytes != 0 || spans != want {
		h.t.Errorf("%d journeys of %d bytes wait, %v spans were sent or lost", h.tracer.waiting, h.tracer.bytes, spans)
	}
}

// TestAddedWhileTheLastIsSent: a journey that ends while the server ends, and a message is on its way, is sent too, or counted as lost.
func TestAddedWhileTheLastIsSent(t *testing.T) {
	h := hang(t)
	h.end()
	h.stop()
	close(h.goOn)
	h.empty(4)
}

// TestLateParts: a request whose journey records more after the response is exported with its own end, whenever that is done.
func TestLateParts(t *testing.T) {
	collector := peertest.NewCollector(t)
	tracer, err := New(t.Context(), Config{File: collector.File(t, 1_000_000), Process: "p", Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { tracer.Run(ctx) })
	of, j := trace.NewRecorder("p", trace.DefaultLimits).Begin(t.Context(), trace.Request{Method: "POST"})
	j.SetLevel(trace.Objects)
	tracer.Begin(j, http.Header{}, nil, true)
	_, step := trace.Start(of, steps.HandlerPolicy, "late")
	goOn := make(chan struct{})
	step.AfterResponse(func() { <-goOn })
	step.End(nil)
	j.Finish(trace.Response{Code: 201})
	tracer.Export(j)
	collector.Wait(t, "both spans", func(all []peertest.Span) bool { return len(all) == 2 })
	took := j.Summary().Took
	for _, span := range collector.Spans() {
		if lasts := time.Duration(span.EndTimeUnixNano - span.StartTimeUnixNano); lasts <= 0 || lasts > took {
			t.Errorf("the span %s lasts %s, and the request %s", span.Name, lasts, took)
		}
	}
	close(goOn)
	if !j.Wait(t.Context()) {
		t.Error("it does not end")
	}
	stop()
	running.Wait()
	if err := tracer.Close(); err != nil {
		t.Error(err)
	}
}

// counted is the sum of a counter.
func counted(t *testing.T, registry *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// endless are the limits of a journey that is given its place in a trace again and again.
var endless = trace.Limits{Journeys: 1, Bytes: 1 << 50, JourneyBytes: 1 << 48, Changes: 1}

// BenchmarkDecision is what a request pays before it is known whether it is exported, beside its journey.
func BenchmarkDecision(b *testing.B) {
	collector := peertest.NewCollector(b)
	make := func(perMillion int) *Tracer {
		t, err := New(b.Context(), Config{File: collector.File(b, perMillion), Process: "b", Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = t.Close() })
		return t
	}
	header := http.Header{"Accept": {"application/json"}, "User-Agent": {"bench"}, "Content-Type": {"application/json"}}
	within := header.Clone()
	within.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
	who := &user.DefaultInfo{Name: "kubernetes-admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
	for _, way := range []struct {
		name   string
		tracer *Tracer
		header http.Header
	}{
		{"without-the-flag", nil, header}, {"none", make(0), header}, {"one-of-a-hundred", make(10_000), header}, {"in-a-trace", make(0), within},
	} {
		b.Run(way.name, func(b *testing.B) {
			_, j := trace.NewRecorder("b", endless).Begin(b.Context(), trace.Request{})
			b.ReportAllocs()
			for b.Loop() {
				way.tracer.Begin(j, way.header, who, true)
			}
		})
	}
}

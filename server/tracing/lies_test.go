package tracing

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/peertest"
)

// TestCollectorOfManyWords: a collector that refuses spans with a novel costs the spans, and one line of the log.
func TestCollectorOfManyWords(t *testing.T) {
	t.Parallel()
	collector, registry := peertest.NewCollector(t), prometheus.NewRegistry()
	collector.Answer(func(context.Context) error {
		return status.Error(codes.InvalidArgument, strings.Repeat("words \x1b[31m", 100_000))
	})
	var text bytes.Buffer
	tracer, err := New(t.Context(), Config{File: collector.File(t, 1_000_000), Process: "p", Registry: registry, Log: slog.New(slog.NewTextHandler(&text, nil))})
	if err != nil {
		t.Fatal(err)
	}
	recorder := trace.NewRecorder("p", trace.Limits{Journeys: 10, Bytes: 1 << 20, JourneyBytes: 1 << 20, Changes: 10})
	h := &hanging{t: t, tracer: tracer, collector: collector, registry: registry, recorder: recorder}
	h.end()
	ctx, stop := context.WithCancel(t.Context())
	stop() // the last message is sent at the end
	var running sync.WaitGroup
	running.Go(func() { tracer.Run(ctx) })
	running.Wait()
	if spans := counted(t, registry, "kx_tracing_spans_total"); spans != 2 {
		t.Errorf("%v spans were lost, want 2", spans)
	}
	if text.Len() == 0 || text.Len() > 4*maxReason || strings.Contains(text.String(), "\x1b") {
		t.Errorf("the log has %d bytes: %.300s", text.Len(), text.String())
	}
	if err := tracer.Close(); err != nil {
		t.Error(err)
	}
}

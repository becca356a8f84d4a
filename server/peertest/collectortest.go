package peertest

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
)

// patience limits the wait for spans.
const patience = 3 * time.Minute

// Span is one received span.
type Span struct {
	*tracepb.Span
	// Trace, ID and Parent are in hexadecimal; Parent is empty for none.
	Trace, ID, Parent string
	Attributes        map[string]string
	Resource          map[string]string
}

// Collector is a gRPC server that takes spans by OTLP, keeps them, and can hang or refuse. mu guards the fields below
// it.
type Collector struct {
	// Address is the address that it listens on.
	Address string

	mu      sync.Mutex
	spans   []Span
	text    strings.Builder
	changed chan struct{} // closed and replaced when spans come
	answer  func(context.Context) error
}

// NewCollector starts a collector that ends with the test.
func NewCollector(t testing.TB) *Collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{Address: listener.Addr().String(), changed: make(chan struct{})}
	s := grpc.NewServer()
	coltracepb.RegisterTraceServiceServer(s, service{collector: c})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(listener) // it ends when the server is stopped
	}()
	t.Cleanup(func() {
		s.Stop()
		<-served
	})
	return c
}

// Answer makes the collector call answer for each message, and drop the message if that returns an error. nil makes it
// accept all messages again.
func (c *Collector) Answer(answer func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
}

// File writes a TracingConfiguration for the collector.
func (c *Collector) File(t testing.TB, perMillion int) string {
	t.Helper()
	return File(t, fmt.Sprintf(configuration+"samplingRatePerMillion: %d\n", c.Address, perMillion))
}

const configuration = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\n"

// File writes a file of --tracing-config-file.
func File(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracing.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type service struct {
	coltracepb.UnimplementedTraceServiceServer
	collector *Collector
}

// Export receives a message.
func (s service) Export(ctx context.Context, q *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	c := s.collector
	c.mu.Lock()
	answer := c.answer
	c.mu.Unlock()
	if answer != nil {
		if err := answer(ctx); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, from := range q.GetResourceSpans() {
		for _, scope := range from.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans = append(c.spans, Span{
					Span: span, Trace: hex.EncodeToString(span.GetTraceId()), ID: hex.EncodeToString(span.GetSpanId()),
					Parent: hex.EncodeToString(span.GetParentSpanId()), Attributes: Texts(span.GetAttributes()),
					Resource: Texts(from.GetResource().GetAttributes()),
				})
			}
		}
	}
	c.text.WriteString(prototext.Format(q))
	close(c.changed)
	c.changed = make(chan struct{})
	return &coltracepb.ExportTraceServiceResponse{}, nil
}

// Texts returns attributes as text.
func Texts(all []*commonpb.KeyValue) map[string]string {
	texts := make(map[string]string, len(all))
	for _, a := range all {
		text := a.GetValue().GetStringValue()
		if _, ok := a.GetValue().GetValue().(*commonpb.AnyValue_IntValue); ok {
			text = strconv.FormatInt(a.GetValue().GetIntValue(), 10)
		}
		texts[a.GetKey()] = text
	}
	return texts
}

// Text returns everything that was received.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// Spans returns all received spans.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Wait waits until the received spans are as wanted, and returns them.
func (c *Collector) Wait(t testing.TB, what string, wanted func([]Span) bool) []Span {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		c.mu.Lock()
		spans, changed := slices.Clone(c.spans), c.changed
		c.mu.Unlock()
		if wanted(spans) {
			return spans
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("in %v the collector did not get %s: it has %d spans", patience, what, len(spans))
		}
	}
}

// Journey waits for the spans of a journey: its request, and then that many steps in their order.
func (c *Collector) Journey(t testing.TB, name string, steps int) (request Span, ofSteps []Span) {
	t.Helper()
	c.Wait(t, "the journey "+name, func(all []Span) bool {
		i := slices.IndexFunc(all, func(s Span) bool { return s.Attributes["kx.journey"] == name })
		if i < 0 {
			return false
		}
		request, ofSteps = all[i], Below(all, all[i])
		return len(ofSteps) >= steps
	})
	return request, ofSteps
}

// Below returns the spans of a request's steps, in their order.
func Below(all []Span, request Span) (below []Span) {
	known := map[string]bool{request.ID: true}
	for _, s := range all { // callers come before callees
		if s.Trace == request.Trace && s.Resource["service.instance.id"] == request.Resource["service.instance.id"] &&
			known[s.Parent] && s.Attributes["kx.layer"] != "" {
			known[s.ID] = true
			below = append(below, s)
		}
	}
	return below
}

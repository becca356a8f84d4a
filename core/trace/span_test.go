package trace

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kx-apiserver/kx/core/steps"
)

func propagated(ctx context.Context) (all []string) {
	Propagate(ctx, func(name, value string) { all = append(all, name+": "+value) })
	return all
}

// TestPropagate: who is asked continues the trace below the step that is current, on each goroutine its own.
func TestPropagate(t *testing.T) {
	ctx, j := NewRecorder("p", DefaultLimits).Begin(t.Context(), Request{})
	ctx, _ = Start(ctx, steps.FilterAuditInit, "")
	if got := propagated(ctx); got != nil {
		t.Errorf("outside of a trace: %q", got)
	}
	span := &Span{ID: 0x10, Sampled: true, State: "a=b"}
	if _, err := hex.Decode(span.Trace[:], []byte("4bf92f3577b34da6a3ce929d0e0e4736")); err != nil {
		t.Fatal(err)
	}
	j.SetSpan(span)
	const parent = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-%016x-01"
	want := func(ctx context.Context, id uint64) {
		t.Helper()
		if got, want := propagated(ctx), []string{fmt.Sprintf(parent, id), "tracestate: a=b"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	want(ctx, 0x11)
	forked := Fork(ctx)
	_, other := Start(forked, steps.HandlerWebhook, "")
	_, step := Start(ctx, steps.HandlerGet, "")
	want(forked, 0x12)
	want(ctx, 0x13)
	other.End(nil)
	step.End(nil)
	want(forked, 0x11)
	want(ctx, 0x11)
	if got := propagated(WithoutRecording(ctx)); got != nil {
		t.Errorf("of work that is not recorded: %q", got)
	}
	if id := j.Span().TraceID(); id != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("the trace is %s", id)
	}
}

// TestSpanIDs: no step has the ID 0, which stands for none, and no two have the same.
func TestSpanIDs(t *testing.T) {
	for _, first := range []uint64{1, math.MaxUint64 - 3, math.MaxUint64} {
		s, known := &Span{ID: first}, map[uint64]bool{0: true, first: true}
		for i := range 8 {
			if id := s.OfStep(i); known[id] {
				t.Errorf("step %d of %x has %x", i, first, id)
			} else {
				known[id] = true
			}
		}
	}
}

// TestKeep: what is kept can be read when the recorder has forgotten it, until it is released.
func TestKeep(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 1, Bytes: 1 << 20, JourneyBytes: 1 << 20, Changes: 16})
	record := func() *Journey {
		ctx, j := r.Begin(t.Context(), Request{})
		_, step := Start(ctx, steps.HandlerGet, "about")
		step.End(nil)
		j.Finish(Response{Code: 200})
		return j
	}
	kept := record()
	for range 2 {
		if bytes, ok := kept.Keep(); !ok || bytes < journeyBytes {
			t.Errorf("Keep: %d %v", bytes, ok)
		}
	}
	forgotten := record()
	record()
	if r.Get(kept.ID()) != nil || r.Get(forgotten.ID()) != nil {
		t.Fatal("the recorder kept more than one")
	}
	if _, ok := forgotten.Keep(); ok {
		t.Error("a journey was kept that is forgotten")
	}
	kept.Release()
	if taken := kept.Record().Steps; len(taken) != 1 || taken[0].Subject != "about" {
		t.Errorf("of what is kept there is %v", taken)
	}
	kept.Release()
	if taken := kept.Record().Steps; len(taken) != 0 {
		t.Errorf("what was released is still there: %v", taken)
	}
}

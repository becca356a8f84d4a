package trace

import (
	"context"
	"testing"
)

// TestCauses joins a journey to the one that wrote what it saw, also if the event overtook the answer to the write.
func TestCauses(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	ctx, writer := r.Begin(context.Background(), Request{Verb: "create"})
	_, early := r.Begin(context.Background(), Request{UserAgent: "early"})
	early.CausedBy(7)
	if got := early.Summary().Cause; got != (Cause{Revision: 7}) || len(writer.Effects()) != 0 {
		t.Errorf("before the write is known, the cause is %+v, and the effects are %+v", got, writer.Effects())
	}
	Wrote(ctx, 7)
	_, late := r.Begin(context.Background(), Request{UserAgent: "late"})
	late.CausedBy(7)
	_, alone := r.Begin(context.Background(), Request{})
	alone.CausedBy(0)
	(*Journey)(nil).CausedBy(7)
	for _, j := range []*Journey{early, late} {
		if got := j.Summary().Cause; got != (Cause{Journey: writer.ID(), Revision: 7}) {
			t.Errorf("the cause is %+v", got)
		}
	}
	if effects := writer.Effects(); len(effects) != 2 || effects[0].Request.UserAgent != "early" || effects[1].Request.UserAgent != "late" {
		t.Errorf("the effects are %+v", effects)
	}
	if got := alone.Summary().Cause; got != (Cause{}) {
		t.Errorf("nothing caused %+v", got)
	}
	for range 2 * maxEffects {
		_, j := r.Begin(context.Background(), Request{})
		j.CausedBy(7)
	}
	if s := writer.Summary(); len(writer.Effects()) != maxEffects || s.Cut != maxEffects+2 {
		t.Errorf("%d effects are kept, and %d cut", len(writer.Effects()), s.Cut)
	}
}

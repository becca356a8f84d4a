package trace

import (
	"context"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/steps"
)

// TestMarks come when the journey has ended, too, and are bounded.
func TestMarks(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	ctx, j := begin(t, r)
	started := j.Summary().Started
	w := NewMarker(ctx, 42)
	w.Mark(steps.CacherReflect, started.Add(time.Millisecond))
	j.Finish(Response{Code: 200})
	for range maxMarks + 3 {
		w.Mark(steps.CacherDispatch, started.Add(2*time.Millisecond))
	}
	got := j.Record()
	if len(got.Marks) != maxMarks || got.Cut != 4 || w.Revision() != 42 {
		t.Errorf("%d marks, %d cut", len(got.Marks), got.Cut)
	}
	if want := (MarkRecord{ID: steps.CacherReflect, Revision: 42, After: time.Millisecond}); got.Marks[0] != want {
		t.Errorf("the first mark is %+v, want %+v", got.Marks[0], want)
	}
	if NewMarker(context.Background(), 1) != nil {
		t.Error("nobody waits")
	}
}

package trace

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestDeadlinePauses(t *testing.T) {
	d := NewDeadline(context.Background(), time.Now().Add(time.Minute), func() {})
	defer d.Stop()
	d.Pause()
	d.Pause()
	if _, ok := d.Deadline(); ok {
		t.Error("a paused deadline is still one")
	}
	d.Resume()
	d.Resume()
	if until, ok := d.Deadline(); !ok || time.Until(until) > time.Minute {
		t.Errorf("after the pause it ends at %v, %v", until, ok)
	}
	short := NewDeadline(context.Background(), time.Now().Add(time.Nanosecond), func() {})
	<-short.Done()
	short.Pause() // too late
	if !errors.Is(short.Err(), context.DeadlineExceeded) {
		t.Errorf("Err = %v", short.Err())
	}
}

// TestPastDeadline asks for less time than it takes to ask: the request finds its time up, not soon to be.
func TestPastDeadline(t *testing.T) {
	expired := 0
	d := NewDeadline(context.Background(), time.Now().Add(-time.Nanosecond), func() { expired++ })
	defer d.Stop()
	if !errors.Is(d.Err(), context.DeadlineExceeded) || expired != 1 {
		t.Errorf("Err = %v, expired %d times", d.Err(), expired)
	}
}

func TestStoppedDeadlineDoesNothing(t *testing.T) {
	d := NewDeadline(t.Context(), time.Now().Add(time.Hour), func() { t.Error("expired after its end") })
	d.Pause()
	d.Stop()
	d.Resume()
	d.expire()
	if !errors.Is(d.Err(), context.Canceled) {
		t.Errorf("after its end: %v", d.Err())
	}
}

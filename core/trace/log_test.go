package trace

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestLongJourney: what a step is told comes back as it was told, wherever a chunk ends.
func TestLongJourney(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	for shift := range 2 {
		ctx, j := begin(t, r)
		_, step := Start(ctx, StoreGet, "key")
		want := strings.Repeat("n=1 ", shift)
		for range shift {
			step.Int("n", 1)
		}
		for i := range chunkEntries {
			step.Text("t", fmt.Sprint(i))
			step.Int("n", int64(i))
			want += fmt.Sprintf("t=%d n=%d ", i, i)
		}
		step.Why("first")
		_, inner := Start(ctx, StoreList, "")
		inner.Why("its own")
		err := errors.New("it broke")
		inner.End(&err)
		step.Why("last")
		step.End(nil)
		j.Finish(Response{})
		steps := j.Record().Steps
		got := ""
		for _, a := range steps[0].Attrs {
			if a.IsInt {
				got += fmt.Sprintf("%s=%d ", a.Name, a.Int)
			} else {
				got += fmt.Sprintf("%s=%s ", a.Name, a.Text)
			}
		}
		if got != want {
			t.Errorf("attributes %s\nwant %s", got, want)
		}
		if steps[0].Why != "last" || steps[1].Why != "its own" || steps[1].Error != "it broke" || steps[1].Parent != 0 {
			t.Errorf("steps %+v", steps)
		}
	}
}

// TestLookingAtWhatRuns: a journey shows what its steps have been told so far, while they are told more, and shows nothing
// of another one's, whose memory it has.
func TestLookingAtWhatRuns(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 2, Bytes: 1 << 20, JourneyBytes: 1 << 16, Changes: 8})
	var running sync.WaitGroup
	var stop atomic.Bool
	for range 2 {
		running.Go(func() {
			for !stop.Load() {
				wander(r)
			}
		})
	}
	for seen := 0; seen < 5000; {
		list, _ := r.List()
		for _, c := range list {
			rec := c.Journey.Record()
			for i, s := range rec.Steps {
				seen++
				if s.Subject != rec.ID || s.Why != "" && s.Why != rec.ID || s.Parent >= i || s.Took >= 0 && s.Why == "" {
					t.Fatalf("step %d of %s: %+v", i, rec.ID, s)
				}
				for _, a := range s.Attrs {
					if a.Name != "id" || a.Text != rec.ID {
						t.Fatalf("step %d of %s: %+v", i, rec.ID, a)
					}
				}
			}
		}
		runtime.Gosched()
	}
	stop.Store(true)
	running.Wait()
}

// wander takes some steps, of which the last are taken on two goroutines, and one ends late. All that they are told is the
// journey's ID.
func wander(r *Recorder) {
	ctx, j := r.Begin(context.Background(), Request{})
	var looking sync.WaitGroup
	looking.Go(func() { j.Record() })
	runtime.Gosched() // somebody looks before there is anything
	defer looking.Wait()
	take := func(ctx context.Context) {
		for range chunkEntries {
			_, step := Start(ctx, StoreList, j.ID())
			step.Text("id", j.ID())
			step.Why(j.ID())
			step.End(nil)
		}
	}
	ctx, outer := Start(ctx, StoreGet, j.ID())
	take(ctx)
	var forked sync.WaitGroup
	for range 2 {
		ctx := Fork(ctx)
		forked.Go(func() { take(ctx) })
	}
	forked.Wait()
	outer.Why(j.ID())
	j.Finish(Response{})
	outer.End(nil)
}

// TestStepEndsAfterItsJourney: what a request leaves running on another goroutine ends later, and is seen to.
func TestStepEndsAfterItsJourney(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 1, Bytes: 1 << 20, JourneyBytes: 1 << 12, Changes: 8})
	ctx, j := begin(t, r)
	_, first := Start(Fork(ctx), StoreGet, "key")
	_, second := Start(Fork(ctx), StoreGet, "key")
	j.Finish(Response{})
	first.End(nil)
	if steps := j.Record().Steps; steps[0].Took < 0 || steps[1].Took >= 0 {
		t.Errorf("steps %+v, of which the first has ended", steps)
	}
	_, next := begin(t, r)
	next.Finish(Response{})
	second.End(nil) // of a journey that was forgotten
	if steps := j.Record().Steps; len(steps) != 0 {
		t.Errorf("steps %+v of a journey that was forgotten", steps)
	}

	ctx, j = begin(t, r)
	_, own := Start(ctx, StoreGet, "key")
	j.Finish(Response{})
	var forgetting sync.WaitGroup
	forgetting.Go(func() {
		_, next := r.Begin(context.Background(), Request{})
		next.Finish(Response{})
	})
	own.End(nil)
	forgetting.Wait()
	if steps := j.Record().Steps; len(steps) != 0 {
		t.Errorf("steps %+v of a journey that was forgotten meanwhile", steps)
	}
}

func TestGetByID(t *testing.T) {
	r := NewRecorder("p-q", Limits{Journeys: 2, Bytes: 1 << 20, JourneyBytes: 1 << 10, Changes: 8})
	_, watch := begin(t, r)
	for range 50 { // so that those that are kept have moved
		_, j := begin(t, r)
		j.Finish(Response{})
	}
	for id, found := range map[string]bool{
		"p-q-1": true, "p-q-2": false, "p-q-49": false, "p-q-50": true, "p-q-51": true, "p-q-52": false,
		"": false, "p-q": false, "p-q-": false, "p-q-01": false, "p-q-+1": false, "p-1": false, "p-q-1 ": false, "P-q-1": false,
		"p-q-99999999999999999999": false, "p-q-0": false,
	} {
		if j := r.Get(id); (j != nil) != found || found && j.ID() != id {
			t.Errorf("Get(%q) = %v", id, j)
		}
	}
	if r.Get("p-q-1") != watch {
		t.Error("another journey has the first one's ID")
	}
}

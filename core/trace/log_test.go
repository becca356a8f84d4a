package trace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/steps"
)

// TestLongJourney: what a step is told comes back as it was told, wherever a chunk ends.
func TestLongJourney(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	for shift := range 2 {
		ctx, j := begin(t, r)
		_, step := Start(ctx, steps.StoreGet, "key")
		want := strings.Repeat("n=1 ", shift)
		for range shift {
			step.Int("n", 1)
		}
		for i := range chunkEntries {
			step.Text("t", fmt.Sprint(i))
			step.Int("n", int64(i))
			want += fmt.Sprintf("t=%d n=%d ", i, i)
		}
		step.Why(keyWasFree)
		_, inner := Start(ctx, steps.StoreList, "")
		inner.WhyText(watchFailed, "its own")
		err := errors.New("it broke")
		inner.End(&err)
		step.WhyText(watchFailed, "last")
		step.End(nil)
		j.Finish(Response{})
		walk := j.Record().Steps
		got := ""
		for _, a := range walk[0].Attrs {
			if a.IsInt {
				got += fmt.Sprintf("%s=%d ", a.Name, a.Int)
			} else {
				got += fmt.Sprintf("%s=%s ", a.Name, a.Text)
			}
		}
		if got != want {
			t.Errorf("attributes %s\nwant %s", got, want)
		}
		if walk[0].Why != "last" || walk[1].Why != "its own" || walk[1].Error != "it broke" || walk[1].Parent != 0 {
			t.Errorf("steps %+v", walk)
		}
	}
}

// TestLookingAtWhatRuns: a journey shows what its steps have been told so far, while they are told more, and shows nothing
// of another one's, whose memory it has. Meanwhile journeys fork, are discarded and forgotten, and leave work behind.
func TestLookingAtWhatRuns(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 2, Bytes: 1 << 20, JourneyBytes: 1 << 16, Changes: 8})
	var running sync.WaitGroup
	var stop atomic.Bool
	for range 3 {
		running.Go(func() {
			for n := 0; !stop.Load(); n++ {
				wander(t, r, n)
			}
		})
	}
	for seen := 0; seen < 10000 && !t.Failed(); {
		list, last := r.List()
		changes, _ := r.Since(last - min(last, 8))
		for _, c := range append(list, changes...) {
			seen += onlyItsOwn(t, c.Journey)
			if j := r.Get(c.Journey.ID()); j != nil && j != c.Journey {
				t.Errorf("%s is found for %s", j.ID(), c.Journey.ID())
			}
		}
		runtime.Gosched()
	}
	stop.Store(true)
	running.Wait()
	bytes := 0
	list, _ := r.List()
	for _, c := range list {
		bytes += c.Journey.bytes
	}
	if stats := r.Stats(); stats.Journeys != 2 || len(list) != 2 || stats.Bytes != bytes || r.running.Load() != 0 {
		t.Errorf("%+v, and %d bytes of those that run, after all; %d journeys of %d bytes are kept", stats, r.running.Load(), len(list), bytes)
	}
}

// onlyItsOwn checks that all that the journey shows carries its ID, and says how many steps those are.
func onlyItsOwn(t *testing.T, j *Journey) int {
	rec := j.Record()
	for i, s := range rec.Steps {
		own := s.Subject == rec.ID && s.Parent < i && (s.Error == "" || s.Error == rec.ID || s.Error == cutText) &&
			(s.Why == rec.ID || s.Why == "" && (s.Took < 0 || s.ID == leftBehind))
		for _, a := range s.Attrs {
			own = own && (a.Name == "id" && a.Text == rec.ID || a.Name == "n" && a.IsInt)
		}
		for _, object := range [][]byte{s.Before, s.After} {
			own = own && (object == nil || strings.Contains(string(object), `"name":"`+rec.ID+`"`))
		}
		if !own {
			t.Errorf("step %d of %s: %+v", i, rec.ID, s)
		}
	}
	return len(rec.Steps)
}

// leftBehind are steps that may go on when the request is over: what they are told then is not noted, but that they end is.
const leftBehind = steps.StoreDelete

// wander takes some steps, of which the last are taken on several goroutines, and some end late. All that they are told is
// the journey's ID.
func wander(t *testing.T, r *Recorder, n int) {
	ctx, j := r.Begin(context.Background(), Request{})
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { onlyItsOwn(t, j) })
	runtime.Gosched() // somebody looks before there is anything
	if n%4 == 1 {
		j.SetLevel(Objects)
	}
	err := errors.New(j.ID())
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: j.ID()}}
	take := func(ctx context.Context, id steps.ID) {
		for range chunkEntries {
			_, step := StartObject(ctx, id, j.ID(), obj)
			step.Text("id", j.ID())
			step.Int("n", 1)
			step.WhyText(watchFailed, j.ID())
			step.After(obj)
			step.End(&err)
		}
	}
	ctx, outer := Start(ctx, steps.StoreGet, j.ID())
	take(ctx, steps.StoreList)
	if n%3 == 1 {
		j.Discard()
	}
	var forked sync.WaitGroup
	for range 2 {
		ctx := Fork(ctx)
		forked.Go(func() { take(ctx, steps.StoreList) })
	}
	behind := Fork(ctx)
	looking.Go(func() { take(behind, leftBehind) })
	forked.Wait()
	outer.WhyText(watchFailed, j.ID())
	j.Finish(Response{})
	outer.End(&err)
}

// TestForgottenTextsAreGone: what another journey gets to write on is empty, and so is what nobody writes on for now.
func TestForgottenTextsAreGone(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 1, Bytes: 1 << 20, JourneyBytes: 1 << 16, Changes: 8})
	ctx, j := begin(t, r)
	for range chunkEntries {
		_, step := Start(ctx, steps.StoreGet, "secret")
		step.Int("n", 1)
		step.End(nil)
	}
	var was []*chunk
	for c := j.log.first; c != nil; c = c.next {
		was = append(was, c)
	}
	j.Finish(Response{})
	_, next := begin(t, r)
	next.Finish(Response{})
	if len(was) != 3 {
		t.Errorf("%d chunks of a journey that filled 3", len(was))
	}
	for i, c := range was {
		if *c != (chunk{}) {
			t.Errorf("chunk %d of a journey that was forgotten: %+v", i, c)
		}
	}
}

// TestStepEndsAfterItsJourney: what a request leaves running on another goroutine ends later, and is seen to.
func TestStepEndsAfterItsJourney(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 1, Bytes: 1 << 20, JourneyBytes: 1 << 12, Changes: 8})
	ctx, j := begin(t, r)
	_, first := Start(Fork(ctx), steps.StoreGet, "key")
	_, second := Start(Fork(ctx), steps.StoreGet, "key")
	j.Finish(Response{})
	first.End(nil)
	if walk := j.Record().Steps; walk[0].Took < 0 || walk[1].Took >= 0 {
		t.Errorf("steps %+v, of which the first has ended", walk)
	}
	_, next := begin(t, r)
	next.Finish(Response{})
	second.End(nil) // of a journey that was forgotten
	if walk := j.Record().Steps; len(walk) != 0 {
		t.Errorf("steps %+v of a journey that was forgotten", walk)
	}

	ctx, j = begin(t, r)
	_, own := Start(ctx, steps.StoreGet, "key")
	j.Finish(Response{})
	var forgetting sync.WaitGroup
	forgetting.Go(func() {
		_, next := r.Begin(context.Background(), Request{})
		next.Finish(Response{})
	})
	own.End(nil)
	forgetting.Wait()
	if walk := j.Record().Steps; len(walk) != 0 {
		t.Errorf("steps %+v of a journey that was forgotten meanwhile", walk)
	}
}

// TestCutForLong: a watch that runs for weeks leaves out more than 32 bits count.
func TestCutForLong(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 1, Bytes: 1 << 20, JourneyBytes: journeyBytes, Changes: 8})
	ctx, j := begin(t, r)
	j.cut.Store(math.MaxInt32)
	if _, step := Start(ctx, steps.StoreGet, "key"); step.Recording() || j.Summary().Cut != math.MaxInt32+1 {
		t.Errorf("%d were cut", j.Summary().Cut)
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

package trace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
)

// widgets is a change of a widget, as filters see it.
var widgets = filter.SubjectFunc(func(field string) (filter.Value, bool) {
	known := map[string]string{"resource": "widgets", "key": "/widgets/a", "name": "a"}
	return filter.TextValue(known[field]), known[field] != ""
})

func TestDisturbed(t *testing.T) {
	late := func(r *Rule) { r.Effect.Delay = time.Hour }
	drop := func(r *Rule) { r.Effect.Drop = true }
	stale := func(r *Rule) { r.Effect.Stale = true }
	lag := func(r *Rule) { r.Effect.Lag = true }
	for name, tt := range map[string]struct {
		rule *Rule
		want string // the marks at which something is asked for
	}{
		"delay":                 {rule(t, Fault, "step:cacher.dispatch", late), "cacher.dispatch 1h0m0s"},
		"of a resource":         {rule(t, Fault, "step:cacher.* resource:widgets name:a", drop), "cacher.reflect drop, cacher.process-event drop, cacher.dispatch drop"},
		"of another":            {rule(t, Fault, "step:cacher.* resource:pods", drop), ""},
		"stale":                 {rule(t, Fault, "resource:widgets", stale), "cacher.reflect 0s"},
		"stale without end":     {rule(t, Fault, "", stale), "cacher.reflect 0s"},
		"of requests":           {rule(t, Fault, "resource:widgets", late), ""},
		"a text":                {rule(t, Fault, "widgets", late), ""},
		"not of somebody":       {rule(t, Fault, "step:cacher.* !user:ann", late), ""},
		"failure":               {rule(t, Fault, "step:cacher.*", late, func(r *Rule) { r.Effect.Err = errors.New("no") }), ""},
		"at the end":            {rule(t, Fault, "step:cacher.*", late, func(r *Rule) { r.AtEnd = true }), ""},
		"skipped, then limited": {rule(t, Fault, "step:cacher.*", drop, func(r *Rule) { r.Skip, r.Count = 1, 1 }), "cacher.process-event drop"},
		"breakpoint":            {rule(t, Breakpoint, "step:cacher.*"), ""},
		"of events":             {rule(t, Fault, "step:cacher.*", late, lag), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewRecorder("p", DefaultLimits).Control()
			if c.Active() {
				t.Error("active without rules")
			}
			must(t, c.Add(tt.rule))
			var got []string
			for _, id := range []steps.ID{steps.CacherReflect, steps.CacherProcessEvent, steps.CacherDispatch} {
				for _, d := range c.Disturbances(id, widgets) {
					how := fmt.Sprint(d.Delay)
					if d.Drop {
						how = "drop"
					}
					if d.Rule != `fault "r"` {
						t.Errorf("asked for by %s", d.Rule)
					}
					got = append(got, id.String()+" "+how)
				}
			}
			if text := strings.Join(got, ", "); text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

// TestDisturbanceEnds: with its time, its context, its rule and its server.
func TestDisturbanceEnds(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	c := r.Control()
	stale := func(delay time.Duration) (*Rule, Disturbance) {
		f := add(t, r, rule(t, Fault, "", func(r *Rule) { r.Effect.Stale, r.Effect.Delay = true, delay }))
		all := c.Disturbances(steps.CacherReflect, widgets)
		return f, all[len(all)-1]
	}
	_, d := stale(time.Nanosecond)
	d.Wait(context.Background()) // or the test ends never
	_, d = stale(0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d.Wait(ctx)
	f, d := stale(0)
	c.Remove(f)
	c.Remove(f)
	d.Wait(context.Background())
	_, d = stale(time.Hour)
	c.Close()
	d.Wait(context.Background())
	if c.Active() || c.Disturbances(steps.CacherReflect, widgets) != nil {
		t.Error("there are rules after Close")
	}
	var none *Control
	if none.Active() {
		t.Error("nothing is active")
	}
}

// TestRemovedDelay: who waits at a step because of a fault goes on when that is removed.
func TestRemovedDelay(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	hit := make(chan struct{}, 1)
	f := add(t, r, rule(t, Fault, "step:etcd.get", func(r *Rule) {
		r.Effect.Delay = time.Hour
		r.Changed = func() { hit <- struct{}{} }
	}))
	tr := travel(t, context.Background(), r, "update")
	<-hit
	r.Control().Remove(f)
	must(t, <-tr.done)
}

func TestDrop(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	ctx, j := r.Begin(context.Background(), Request{})
	if err := j.Drop("me"); !errors.Is(err, ErrNoWatch) {
		t.Error(err)
	}
	ended := 0
	OnDrop(ctx, func() { ended++ })
	OnDrop(context.Background(), func() { t.Error("of nobody") })
	_ = leaf(ctx, steps.RESTWatch)
	must(t, j.Drop("me"))
	if err := j.Drop("me"); !errors.Is(err, ErrNoWatch) || ended != 1 {
		t.Errorf("%v, %d", err, ended)
	}
	if i := j.Record().Interventions; len(i) != 1 || i[0].Kind != Dropped || i[0].By != "me" || i[0].Text != "the watch was dropped" {
		t.Errorf("%+v", i)
	}
	if !j.DroppedBy(`fault "r"`) || len(j.Record().Interventions) != 2 {
		t.Error("not noted")
	}
	OnDrop(ctx, func() { t.Error("it has ended") })
	j.Finish(Response{})
	if err := j.Drop("me"); !errors.Is(err, ErrNoWatch) {
		t.Error(err)
	}
	OnDrop(ctx, func() { t.Error("it has ended before") })
	if j.end != nil {
		t.Error("a journey that has ended keeps what its watch held")
	}
	j.LeaveAlone()
	var none *Journey
	if j.DroppedBy("r") || none.DroppedBy("r") {
		t.Error("what is to be left alone was dropped")
	}
}

// TestLag: an event has the lag of the first rule that hits it, and the journey says so.
func TestLag(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	ctx, j := r.Begin(context.Background(), Request{User: "ann", Verb: "watch"})
	lag := func(r *Rule) { r.Effect.Lag, r.Effect.Delay = true, time.Hour }
	if got := j.Lag("ADDED"); got.Delay != 0 {
		t.Error(got)
	}
	add(t, r, rule(t, Fault, "user:bob", lag))
	add(t, r, rule(t, Fault, "step:handler.watch-event", func(r *Rule) { r.Effect.Stale = true }))
	all := add(t, r, rule(t, Fault, "user:ann step:handler.watch-event !key:DELETED", lag, func(r *Rule) { r.Skip, r.Count = 1, 1 }))
	var hit Lag
	for _, event := range []string{"DELETED", "ADDED", "MODIFIED", "ADDED"} {
		got := j.Lag(event)
		if want := map[bool]time.Duration{true: time.Hour}[event == "MODIFIED"]; got.Delay != want {
			t.Errorf("%s: %v", event, got.Delay)
		}
		if got.Delay > 0 {
			hit = got
		}
	}
	if n := r.Control().Counts(all); n.Matches != 3 || n.Hits != 1 || n.Last.Journey != j.ID() || n.Last.Step != "handler.watch-event" {
		t.Errorf("%+v", n)
	}
	r.Control().Remove(all)
	<-hit.Over

	add(t, r, rule(t, Fault, "", lag))
	must(t, leaf(ctx, steps.HandlerWatchEvent)) // at no step, or the test takes an hour
	i := j.Record().Interventions
	if len(i) != 1 || i[0].Kind != Delayed || i[0].Text != `MODIFIED arrives 1h0m0s later by fault "r"` {
		t.Errorf("%+v", i)
	}
	j.LeaveAlone()
	var none *Journey
	if j.Lag("ADDED").Delay != 0 || none.Lag("ADDED").Delay != 0 {
		t.Error("what is to be left alone has a lag")
	}
}

package handler

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/trace"
)

// lagTest is a watch whose events have a lag of ten seconds, in the time of a synctest.
type lagTest struct {
	t       *testing.T
	control *trace.Control
	rule    *trace.Rule
	events  chan watch.Event
	sent    <-chan watch.Event
	begin   time.Time
	end     context.CancelFunc
}

// newLagTest begins a watch with one event, a.
func newLagTest(t *testing.T) *lagTest {
	f, err := filter.Parse("user:ann", trace.Names)
	if err != nil {
		t.Fatal(err)
	}
	recorder := trace.NewRecorder("p", trace.DefaultLimits)
	l := &lagTest{t: t, control: recorder.Control(), events: make(chan watch.Event), begin: time.Now()}
	l.rule = &trace.Rule{Name: "r", Kind: trace.Fault, Filter: f, Probability: 1, Effect: trace.Effect{Lag: true, Delay: 10 * time.Second}}
	if err := l.control.Add(l.rule); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, l.end = context.WithCancel(context.Background())
	_, watcher := recorder.Begin(ctx, trace.Request{User: "ann"})
	first := named(watch.Added, "a")
	l.sent = delayEvents(ctx, watcher, l.events, newLateEvent(first, lagOf(watcher, first)))
	return l
}

func named(kind watch.EventType, name string) watch.Event {
	if kind == watch.Bookmark {
		return watch.Event{Type: kind, Object: &metav1.Status{}}
	}
	return watch.Event{Type: kind, Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}}
}

// come has an event come from the storage, after a pause.
func (l *lagTest) come(pause time.Duration, kind watch.EventType, name string) {
	time.Sleep(pause)
	l.events <- named(kind, name)
}

// expect takes events until the watch ends or nothing comes for an hour, and compares what came and when.
func (l *lagTest) expect(want ...string) {
	l.t.Helper()
	var got []string
	for open := true; open; {
		select {
		case event, ok := <-l.sent:
			if open = ok; ok {
				got = append(got, fmt.Sprintf("%s %s %v", event.Type, nameIn(event.Object), time.Since(l.begin)))
			}
		case <-time.After(time.Hour):
			open = false
		}
	}
	if !slices.Equal(got, want) {
		l.t.Errorf("got %q, want %q", got, want)
	}
}

func nameIn(obj runtime.Object) string {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return m.Name
	}
	return "-"
}

// TestLate: each event has the lag once, however many wait. A bookmark has none, and overtakes nothing.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLagTest(t)
		defer l.end()
		l.come(0, watch.Modified, "a")
		l.come(2*time.Second, watch.Deleted, "b")
		l.come(time.Second, watch.Bookmark, "")
		l.expect("ADDED a 10s", "MODIFIED a 10s", "DELETED b 12s", "BOOKMARK - 12s")
		begin := time.Since(l.begin)
		l.come(0, watch.Bookmark, "")
		l.expect(fmt.Sprintf("BOOKMARK - %v", begin))
		if n := l.control.Counts(l.rule); n.Hits != 3 {
			t.Errorf("%+v", n)
		}
	})
}

// TestLateUntilRemoved: with the fault, the lag of the events that wait ends, and no later one has any.
func TestLateUntilRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLagTest(t)
		defer l.end()
		l.come(time.Second, watch.Modified, "a")
		l.control.Remove(l.rule)
		l.come(0, watch.Modified, "b")
		l.expect("ADDED a 1s", "MODIFIED a 1s", "MODIFIED b 1s")
	})
}

// TestLateAtTheEnd: what waits is sent if the storage ends the watch. If the client does, nothing goes on; or else the
// bubble of the test does not end.
func TestLateAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLagTest(t)
		defer l.end()
		close(l.events)
		l.expect("ADDED a 10s")
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLagTest(t)
		l.end()
		l.expect()
	})
}

// TestLateAtMost: a watch that is far behind takes no more events, and loses none.
func TestLateAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLagTest(t)
		defer l.end()
		for range maxLate - 1 {
			l.come(0, watch.Modified, "a")
		}
		select {
		case l.events <- named(watch.Modified, "b"):
			t.Error("it took one more")
		case <-time.After(time.Second):
		}
		for range maxLate {
			<-l.sent
		}
		l.come(0, watch.Modified, "b")
		l.expect("MODIFIED b 20s")
	})
}

package handler

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/trace"
)

// lagOf returns how much later a fault has an event arrive. Only changes of objects have a lag.
func lagOf(watcher *trace.Journey, event watch.Event) trace.Lag {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		return watcher.Lag(string(event.Type))
	}
	return trace.Lag{}
}

// lateEvent is an event that is sent at its time, or when its fault is over, and never before an earlier event.
type lateEvent struct {
	event watch.Event
	due   time.Time
	over  <-chan struct{}
}

func newLateEvent(event watch.Event, lag trace.Lag) lateEvent {
	return lateEvent{event, time.Now().Add(lag.Delay), lag.Over}
}

// maxLate limits the events that wait. Further ones stay with the storage, as those of any slow watch do: their lag
// begins when one of the waiting events is sent.
const maxLate = 1000

// delayEvents passes on first and then events in their order, each at its time. The goroutine ends with events or with
// ctx, which ends with the watch.
func delayEvents(ctx context.Context, watcher *trace.Journey, events <-chan watch.Event, first lateEvent) <-chan watch.Event {
	sent := make(chan watch.Event)
	go func() {
		defer close(sent)
		for waiting := []lateEvent{first}; len(waiting) > 0 || events != nil; {
			// A nil channel takes no part in the select.
			receive, send := events, chan<- watch.Event(nil)
			var next lateEvent
			var due <-chan time.Time
			if len(waiting) == maxLate {
				receive = nil
			}
			if len(waiting) > 0 {
				next = waiting[0]
				if wait := time.Until(next.due); wait > 0 {
					due = time.After(wait)
				} else {
					next.over, send = nil, sent
				}
			}
			select {
			case event, ok := <-receive:
				if !ok {
					events = nil
				} else {
					waiting = append(waiting, newLateEvent(event, lagOf(watcher, event)))
				}
			case <-due:
			case <-next.over:
				waiting[0].due = time.Time{}
			case send <- next.event:
				waiting = waiting[1:]
			case <-ctx.Done():
				return
			}
		}
	}()
	return sent
}

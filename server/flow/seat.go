package flow

import (
	"context"
	"strconv"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"

	"github.com/kx-apiserver/kx/core/trace"
)

// Seat is held by a running request. It is a trace.Pauser: a request that is held gives its seat to others. mu guards
// the fields below it.
type Seat struct {
	control *Control
	request Request

	mu sync.Mutex
	// held is the request in the library. It is nil while the request has no seat.
	held  fairqueuing.Request
	rule  *rule
	since time.Time
}

// Pause gives the seat back. When it returns, other requests can have it.
func (s *Seat) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		return
	}
	level, schema := s.rule.level, s.rule.schema.Name
	metrics.ObserveExecutionDuration(s.request.Context, level.name, schema, time.Since(s.since))
	s.control.finish(level, s.held)
	s.held = nil
}

// finish gives back a seat in the library, or a place in its queue. The library would serve the request here.
func (c *Control) finish(l *level, r fairqueuing.Request) {
	if idle := r.Finish(func() {}); idle {
		c.idle(l)
	}
}

// Resume leaves the request without a seat: it was admitted once, and few requests are held.
func (s *Seat) Resume() {}

// Retake waits for a seat again, in a queue like any new request. It returns false if it gets none.
func (s *Seat) Retake(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held != nil || s.take(ctx, &Entry{}, true)
}

// take classifies the request, waits for a seat, and records both in e. again is true if it had a seat before.
func (s *Seat) take(ctx context.Context, e *Entry, again bool) bool {
	c, r := s.control, &s.request
	rule := c.rules.Load().find(r)
	*e = rule.entry(r)
	work := c.work(r, rule.largest)
	e.Seats = work.MaxSeats()
	metrics.ObserveWorkEstimatedSeats(e.Level.Name, e.Schema.Name, e.Seats)

	t := &turn{begun: time.Now(), again: again}
	waiting, giveUp := ctx, func() {}
	if !rule.exempt { // an exempt request never waits
		t.left = make(chan time.Time, 1)
		// The library drops a waiting request when its context ends. This one ends only when take gives up: a client
		// that goes away does not make the library forget a seat that it has just given.
		waiting, giveUp = context.WithCancel(context.WithoutCancel(ctx))
		defer giveUp()
	}
	held, idle := rule.level.set.StartRequest(waiting, &work, rule.hash(e.Flow), e.Flow, e.Schema.Name, r.Info, r.User, t.note)
	seated := held != nil && (!t.queued || s.await(ctx, rule.level, t, e))
	if !rule.exempt {
		waited := time.Since(t.begun)
		metrics.ObserveWaitingDuration(ctx, e.Level.Name, e.Schema.Name, strconv.FormatBool(seated), waited)
		request.TrackAPFQueueWaitLatency(ctx, waited)
	}
	switch {
	case seated:
		metrics.AddDispatch(ctx, e.Level.Name, e.Schema.Name)
		queueset.OnRequestDispatched(held)
		s.held, s.rule, s.since = held, rule, time.Now()
	case held != nil:
		giveUp()
		c.finish(rule.level, held)
	case idle:
		c.idle(rule.level)
	}
	return seated
}

// waitMost limits the wait for a seat, whatever the deadline.
const waitMost = time.Minute

// Patience is the time after which a request without a seat counts as waiting, and its queue is looked up.
const Patience = time.Millisecond

// turn is a request's wait in a queue.
type turn struct {
	queued bool
	begun  time.Time
	// left has the time of leaving the queue.
	left chan time.Time
	// again is true if the request had a seat before.
	again bool
}

// note is called by the library when the request enters the queue, and when it leaves it.
func (t *turn) note(inQueue bool) {
	if inQueue {
		t.queued = true
		return
	}
	t.left <- time.Now()
}

// await waits in a queue, and records in e how long and in which one. It returns false if the request ends or its limit
// passes first.
func (s *Seat) await(ctx context.Context, l *level, t *turn, e *Entry) bool {
	select {
	case <-t.left: // there was a free seat: that is no wait, however busy the machine is
		return true
	default:
	}
	limit := time.NewTimer(time.Until(s.control.deadline(ctx, t)))
	defer limit.Stop()
	search := time.NewTimer(Patience)
	defer search.Stop()
	for {
		select {
		case at := <-t.left:
			if waited := at.Sub(t.begun); waited > Patience {
				e.Waited = waited
			}
			return true
		case <-search.C:
			e.Queue = l.place(s.request.Info)
			if e.Queue < 0 && len(s.request.Info.Parts) > 0 {
				search.Reset(often)
			}
			continue
		case <-limit.C:
		case <-ctx.Done():
		}
		e.Waited = time.Since(t.begun)
		return false
	}
}

// deadline returns the time at which a request gives up. Its time counts from its reception, without the time for which
// it was held. A request that had a seat before may have spent most of its time on its body. So for it only the
// remaining time counts.
func (c *Control) deadline(ctx context.Context, t *turn) time.Time {
	from := t.begun
	if received, ok := request.ReceivedTimestampFrom(ctx); ok && !t.again {
		from = received.Add(trace.HeldFor(ctx))
	}
	limit := c.wait
	if deadline, ok := ctx.Deadline(); ok {
		limit = deadline.Sub(from) / 4 // the rest is for the request itself
	}
	return from.Add(min(limit, waitMost))
}

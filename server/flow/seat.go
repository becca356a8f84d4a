package flow

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/trace"
)

// Seat is held by a running request. It is a trace.Pauser: a request that is held gives its seat to others. mu guards
// leave.
type Seat struct {
	visit *visit

	mu sync.Mutex
	// leave gives the seat back. It is nil while the request has none.
	leave func()
}

// Pause gives the seat back. When it returns, other requests can have it.
func (s *Seat) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leave == nil {
		return
	}
	s.leave()
	s.leave = nil
}

// Resume leaves the request without a seat: it was admitted once, and few requests are held.
func (s *Seat) Resume() {}

// Retake waits for a seat again, in a queue like any new request. It returns false if it gets none.
func (s *Seat) Retake(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leave != nil || s.take(ctx, false)
}

// take waits for a seat. The library keeps a seat for as long as a function runs. Here that function yields, in a
// coroutine, because otherwise the seat could not be given back before the request ends. Unless first is true, the
// entry of the request does not change.
func (s *Seat) take(ctx context.Context, first bool) bool {
	v := s.visit
	if !first {
		again := *v
		v = &again
	}
	w := v.wait(ctx)
	w.anew = !first
	seated, leave := iter.Pull(func(yield func(struct{}) bool) {
		v.control.lib.Handle(w, v.digest(), v.note, v.estimate, w.note, func() { yield(struct{}{}) })
	})
	_, ok := seated()
	w.finish(ok)
	if ok {
		s.leave = leave
	}
	return ok
}

// waitMost limits the wait for a seat, whatever the deadline.
const waitMost = time.Minute

// Patience is the time after which a request without a seat counts as waiting, and its queue is looked up.
const Patience = time.Millisecond

// wait is a request's wait for a seat, and its context. Unlike a derived context it leaves nothing behind.
type wait struct {
	context.Context
	visit  *visit
	queued atomic.Bool
	// begun is the time of entering a queue, and left the time spent there. A request that takes a free seat does not
	// wait, however busy the machine is.
	begun time.Time
	left  atomic.Int64
	// anew is true if the request had a seat before.
	anew bool

	once sync.Once
	over chan struct{}

	// timer starts to watch a request that was put into a queue. It is nil for a request that never waits.
	timer *time.Timer
	// queue is the number of the queue that watch found, or -1.
	queue    int
	watching sync.WaitGroup
}

// wait begins a wait. The caller must call finish when it is over.
func (v *visit) wait(ctx context.Context) *wait {
	return &wait{Context: ctx, visit: v, over: make(chan struct{}), queue: -1}
}

// note is called when the request enters a queue, and when it leaves it. Most requests leave it at once, before watch
// starts.
func (w *wait) note(queued bool) {
	if !queued {
		w.left.Store(int64(time.Since(w.begun)))
	}
	w.queued.Store(queued)
	if queued {
		w.begun = time.Now()
		w.watching.Add(1)
		w.timer = time.AfterFunc(Patience, w.watch)
	}
}

// finish records in the entry how long the request waited, and in which queue.
func (w *wait) finish(seated bool) {
	w.end()
	if w.timer != nil {
		if w.timer.Stop() {
			w.watching.Done()
		}
		w.watching.Wait() // it may still find the queue
	}
	e := &w.visit.entry
	e.Queue = w.queue
	if waited := time.Duration(w.left.Load()); waited > Patience || !seated {
		e.Waited = waited
	}
}

// watch ends the wait when the request ends or its limit passes. Meanwhile it looks up the queue.
func (w *wait) watch() {
	defer w.watching.Done()
	limit := time.NewTimer(time.Until(w.until()))
	defer limit.Stop()
	search := time.NewTimer(0)
	defer search.Stop()
	for {
		select {
		case <-w.over:
			return
		case <-search.C:
			if !w.queued.Load() { // it is being classified, or is about to get its seat
				search.Reset(Patience)
				break
			}
			v := w.visit
			w.queue = v.control.queues.find(v.entry.Level.Name, v.request.Info)
			if w.queue < 0 && len(v.request.Info.Parts) > 0 {
				search.Reset(often)
			}
		case <-limit.C:
			w.end()
		case <-w.Context.Done():
			w.end()
		}
	}
}

// until returns the time at which the request gives up. Its time counts from its reception, without the time for which
// it was held. A request that had a seat before may have spent most of its time on its body. So for it only the
// remaining time counts.
func (w *wait) until() time.Time {
	from := w.begun
	if received, ok := request.ReceivedTimestampFrom(w.Context); ok && !w.anew {
		from = received.Add(trace.HeldFor(w.Context))
	}
	return waitUntil(w.Context, from, w.visit.control.wait)
}

// waitUntil returns the end of the first quarter of the time between from and the deadline of ctx: the rest is for the
// request itself. Without a deadline it adds limit to from.
func waitUntil(ctx context.Context, from time.Time, limit time.Duration) time.Time {
	if deadline, ok := ctx.Deadline(); ok {
		limit = deadline.Sub(from) / 4
	}
	return from.Add(min(limit, waitMost))
}

func (w *wait) end()                  { w.once.Do(func() { close(w.over) }) }
func (w *wait) Done() <-chan struct{} { return w.over }

func (w *wait) Err() error {
	select {
	case <-w.over:
		return context.Canceled
	default:
		return nil
	}
}

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

// Seat is where a request sits while it runs. It is a trace.Pauser: a request that is held gives its seat to others.
type Seat struct {
	visit *visit

	mu sync.Mutex
	// leave gives the seat back. It is nil where there is none.
	leave func()
}

// Pause gives the seat back, and returns when others can have it.
func (s *Seat) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leave == nil {
		return
	}
	s.leave()
	s.leave = nil
}

// Resume leaves the request without a seat: it has been let in once, and few requests are held.
func (s *Seat) Resume() {}

// Retake waits for a seat again, in a queue like any new request, and says whether there was one.
func (s *Seat) Retake(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leave != nil || s.take(ctx, false)
}

// take waits for a seat. The library keeps a seat for as long as a function runs. That is one that yields, in a coroutine, or the seat
// could not be given back before the request ends. Unless it is the first time, what is known of the request stays as it was.
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

// waitMost is how long a request waits for its seat at most, whatever time it has.
const waitMost = time.Minute

// Patience is when a request that has no seat is said to wait, and its queue is looked for.
const Patience = time.Millisecond

// wait is a request's wait for a seat, and the context of it. Other than a derived context it costs nothing that outlives the wait.
type wait struct {
	context.Context
	visit  *visit
	queued atomic.Bool
	// begun is when it entered a queue, and left is how long it was there: a seat that is free is not waited for, however busy the
	// machine is.
	begun time.Time
	left  atomic.Int64
	// anew says that the request had a seat before.
	anew bool

	once sync.Once
	over chan struct{}

	// timer begins to watch a request that has been put into a queue. It is nil for others: those never wait.
	timer *time.Timer
	// queue is what watch found: the number of the queue, or -1.
	queue    int
	watching sync.WaitGroup
}

// wait begins a wait, for which finish must be called once it is over.
func (v *visit) wait(ctx context.Context) *wait {
	return &wait{Context: ctx, visit: v, over: make(chan struct{}), queue: -1}
}

// note is told when the request enters a queue, and when it leaves it. Most leave it at once, before there is anything to watch.
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

// finish has the entry say how long the request waited, and in which queue.
func (w *wait) finish(seated bool) {
	w.end()
	if w.timer != nil {
		if w.timer.Stop() {
			w.watching.Done()
		}
		w.watching.Wait() // it may have found the queue
	}
	e := &w.visit.entry
	e.Queue = w.queue
	if waited := time.Duration(w.left.Load()); waited > Patience || !seated {
		e.Waited = waited
	}
}

// watch ends the wait with the request, or when it takes too long, and looks for the queue meanwhile.
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
			if !w.queued.Load() { // it is being judged, or about to sit down
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

// until is when the request gives up. Its time counts from when it was received, without that in which it was held. One that had a
// seat before may have spent most of it on its body, so only what is left counts.
func (w *wait) until() time.Time {
	from := w.begun
	if received, ok := request.ReceivedTimestampFrom(w.Context); ok && !w.anew {
		from = received.Add(trace.HeldFor(w.Context))
	}
	return waitUntil(w.Context, from, w.visit.control.wait)
}

// waitUntil is the end of the first quarter of the time between from and the deadline of ctx: the rest is for the request itself.
// Without a deadline it is as long after from as given.
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

package flow

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Seat is where a request sits while it runs. It is a trace.Pauser: a request that is held gives its seat to others.
type Seat struct {
	visit *visit

	mu sync.Mutex
	// leave gives the seat back when it is closed, and left is closed when that has happened. Both are nil where it has none.
	leave, left chan struct{}
}

// Pause gives the seat back, and returns when others can have it.
func (s *Seat) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leave == nil {
		return
	}
	close(s.leave)
	<-s.left
	s.leave, s.left = nil, nil
}

// Resume leaves the request without a seat: it has been let in once, and few requests are held.
func (s *Seat) Resume() {}

// Retake waits for a seat again, in a queue like any new request, and says whether there was one.
func (s *Seat) Retake(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leave != nil || s.take(ctx, false)
}

// take waits for a seat. The library keeps a seat for as long as a function runs. That is one that waits, on a goroutine of its own, or
// the seat could not be given back before the request ends. Unless it is the first time, what is known of the request stays as it was.
func (s *Seat) take(ctx context.Context, first bool) bool {
	v := s.visit
	if !first {
		again := *v
		v = &again
	}
	stay := &stay{Context: ctx, done: make(chan struct{})}
	seated, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var queued atomic.Bool
	var failure any
	go func() {
		defer close(left)
		defer func() { failure = recover() }()
		v.control.lib.Handle(stay, v.digest(), v.note, v.estimate, func(in bool) { queued.Store(in) }, func() {
			close(seated)
			<-leave
		})
	}()
	begun := time.Now()
	limit := time.NewTimer(v.control.wait)
	defer limit.Stop()
	search := time.NewTimer(Patience)
	defer search.Stop()
	done := ctx.Done()
	for {
		select {
		case <-seated:
			s.leave, s.left = leave, left
			if waited := time.Since(begun); waited > Patience {
				v.entry.Waited = waited
			}
			return true
		case <-left:
			if failure != nil {
				panic(failure)
			}
			v.entry.Waited = time.Since(begun)
			return false
		case <-search.C:
			if !queued.Load() { // it is being judged, or about to sit down
				search.Reset(Patience)
				break
			}
			v.entry.Queue = v.control.queues.find(v.entry.Level.Name, v.request.Info)
			if v.entry.Queue < 0 && len(v.request.Info.Parts) > 0 {
				search.Reset(often)
			}
		case <-limit.C:
			stay.end()
		case <-done:
			done = nil
			stay.end()
		}
	}
}

// Patience is when a request that has no seat is said to wait, and its queue is looked for.
const Patience = time.Millisecond

// stay is the context of a request while it waits. Other than a derived context it costs nothing that outlives the wait.
type stay struct {
	context.Context
	once sync.Once
	done chan struct{}
}

func (s *stay) end()                  { s.once.Do(func() { close(s.done) }) }
func (s *stay) Done() <-chan struct{} { return s.done }

func (s *stay) Err() error {
	select {
	case <-s.done:
		return context.Canceled
	default:
		return nil
	}
}

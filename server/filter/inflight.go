package filter

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/metrics"
)

// seats limits the concurrent requests of one kind. A nil seats has no limit.
type seats chan struct{}

func newSeats(n int) seats {
	if n == 0 {
		return nil
	}
	return make(seats, n)
}

var (
	noSeatFree            = trace.Because("no-seat-free", "no seat is free", "没有空闲席位")
	administratorAdmitted = trace.Because("administrator-admitted",
		"no seat is free, but administrators are let in without one",
		"没有空闲席位，但管理员不需要席位")
)

// WithMaxInFlightLimit answers 429 if all seats are taken. Watches need no seat. Administrators are let in without one,
// since they may have to mend an overload. A request that waits for the rest of a body gives its seat up meanwhile.
func WithMaxInFlightLimit(next Handler, c *Config) Handler {
	reads, writes := newSeats(c.MaxRequestsInFlight), newSeats(c.MaxMutatingRequestsInFlight)
	bodies := &bodies{metrics: c.Metrics, users: map[string]bodyMemory{}}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(ctx, steps.FilterInFlight, "")
		info, _ := request.RequestInfoFrom(ctx)
		if c.LongRunning(r, info) {
			step.Why(noSeatNeeded)
			step.End(nil)
			next(ctx, w, r)
			return
		}
		kind, free := metrics.ReadOnly, reads
		if isWrite(info.Verb) {
			kind, free = metrics.Mutating, writes
		}
		var taken returnableSeat
		if free != nil {
			select {
			case free <- struct{}{}:
				seat := &seat{free: free, taken: true}
				taken = seat
				defer seat.Pause()
				trace.OnHold(ctx, seat)
				step.Int("taken", int64(len(free)))
				step.Int("seats", int64(cap(free)))
			default:
				if u, _ := request.UserFrom(ctx); !isAdmin(u) {
					step.Why(noSeatFree)
					step.End(nil)
					c.Metrics.CountDropped(kind)
					noSeat(w, 1)
					return
				}
				step.Why(administratorAdmitted)
			}
		}
		defer c.Metrics.InFlight(kind)()
		r, body := bodies.watch(ctx, w, r, kind, taken)
		defer body.end()
		step.End(nil)
		next(ctx, w, r)
	}
}

// seat is the seat of one request. It is a trace.Pauser: a request that is held gives its seat to others. mu guards
// taken.
type seat struct {
	free  seats
	mu    sync.Mutex
	taken bool
}

// Pause gives the seat back.
func (s *seat) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken {
		s.taken = false
		<-s.free
	}
}

// Resume takes a seat again. If none is free, the request goes on without one: it was admitted before, and few requests
// are held.
func (s *seat) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken {
		return
	}
	select {
	case s.free <- struct{}{}:
		s.taken = true
	default:
	}
}

// Retake waits for a free seat. It returns false if ctx ends first.
func (s *seat) Retake(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken {
		return true
	}
	select {
	case s.free <- struct{}{}:
		s.taken = true
		return true
	case <-ctx.Done():
		return false
	}
}

// isWrite reports whether a verb needs a seat for writes.
func isWrite(verb string) bool {
	switch verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

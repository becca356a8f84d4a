package trace

import (
	"context"
	"sync"
	"time"
)

// Pauser is something that a request gives back while it is held: its deadline, its seat.
type Pauser interface {
	Pause()
	Resume()
}

// OnHold makes holds of the request of ctx pause p. The request's own goroutine calls it, before any Fork.
func OnHold(ctx context.Context, p Pauser) {
	if j := FromContext(ctx); j != nil {
		if j.pausing.pausers == nil {
			j.pausing.pausers = make([]Pauser, 0, usualPausers)
		}
		j.pausing.pausers = append(j.pausing.pausers, p)
	}
}

// usualPausers is the number that a request has: its deadline and its seat.
const usualPausers = 2

// HeldFor returns how long the request of ctx has been held so far.
func HeldFor(ctx context.Context) time.Duration {
	if j := FromContext(ctx); j != nil {
		return time.Duration(j.heldFor.Load())
	}
	return 0
}

// pausing pauses the Pausers while at least one of a request's goroutines is held. mu
// guards n, and pausers from the first Fork on.
type pausing struct {
	pausers []Pauser

	mu sync.Mutex
	n  int
}

// drop drops the pausers of an ended request: the kept journey must not keep the request in memory.
func (p *pausing) drop() {
	p.mu.Lock()
	p.pausers = nil
	p.mu.Unlock()
}

func (p *pausing) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n++; p.n > 1 {
		return
	}
	for _, pauser := range p.pausers {
		pauser.Pause()
	}
}

func (p *pausing) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n--; p.n > 0 {
		return
	}
	for i := len(p.pausers) - 1; i >= 0; i-- {
		p.pausers[i].Resume()
	}
}

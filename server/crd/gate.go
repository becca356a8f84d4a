package crd

import (
	"math"
	"sync"
	"sync/atomic"
)

// gate counts requests until it is closed. It takes no lock.
type gate struct {
	// inside is negative once the gate is closed.
	inside atomic.Int64
	once   sync.Once
	empty  chan struct{}
}

const closedGate = math.MinInt64 / 2

func newGate() *gate { return &gate{empty: make(chan struct{})} }

// enter reports whether the gate is open. If so, the caller must leave.
func (g *gate) enter() bool {
	if g.inside.Add(1) > 0 {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.inside.Add(-1) == closedGate {
		g.once.Do(func() { close(g.empty) })
	}
}

// count returns the number of requests inside.
func (g *gate) count() int64 {
	n := g.inside.Load()
	if n < 0 {
		n -= closedGate
	}
	return n
}

// close closes the gate, and returns a channel that is closed when all requests have left. It is called once.
func (g *gate) close() <-chan struct{} {
	if g.inside.Add(closedGate) == closedGate {
		g.once.Do(func() { close(g.empty) })
	}
	return g.empty
}

package etcd3

import (
	"context"
	"sync"

	storage "github.com/kx-apiserver/kx/store"
)

// Gate is where the writes of all stores of a server pass on their way to etcd, so that a rewind has the stored objects
// for itself. The zero value is open. Writes below the stores do not pass it: those of a rewind itself, and those of
// other processes.
//
//  1. While the gate is shut, no write is between it and etcd, and none passes. Reads are not concerned.
//  2. A write that waits goes on when the gate opens. What it demands of the stored object is in its transaction, so that
//     is compared with what is there then.
//  3. The generation changes when the gate opens. A write with an older decision does not pass: its caller may have
//     read at any time before, also while the gate was shut.
//  4. A write is behind the gate for one request to etcd. Nothing in between waits for a user.
//
// A caller that gives up leaves the gate, though etcd may still carry out its request. Whoever shuts the gate has to
// wait until etcd has carried out the requests that it has got: the rewinder does.
//
// mu guards all fields, and is held for a few instructions.
type Gate struct {
	mu sync.Mutex
	// writes counts those behind the gate.
	writes int
	// shut is closed when the gate opens. It is nil while it is open.
	shut chan struct{}
	// empty is closed when the last write leaves a gate that is shut.
	empty      chan struct{}
	generation int64
}

// Generation identifies the stored objects from one rewind to the next.
func (g *Gate) Generation() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.generation
}

// Decide returns a context for a decision that begins to read now, and for its writes. Without a gate that is ctx.
func (g *Gate) Decide(ctx context.Context) context.Context {
	if g == nil {
		return ctx
	}
	return storage.WithDecision(ctx, g.Generation())
}

// Shut shuts the gate, and waits for the writes behind it. open opens it again, at a new generation. If ctx ends first,
// the gate is open.
func (g *Gate) Shut(ctx context.Context) (open func(), err error) {
	for {
		g.mu.Lock()
		other := g.shut
		if other == nil {
			break
		}
		g.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	g.shut, g.empty = make(chan struct{}), make(chan struct{})
	if g.writes == 0 {
		close(g.empty)
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return sync.OnceFunc(func() { g.open(1) }), nil
	case <-ctx.Done():
		g.open(0)
		return nil, ctx.Err()
	}
}

// open opens the gate, some generations later.
func (g *Gate) open(later int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.generation += later
	close(g.shut)
	g.shut, g.empty = nil, nil
}

// pass waits until the gate is open, and lets a write through. Then leave must be called.
func (g *Gate) pass(ctx context.Context) error {
	decided, isDecision := storage.DecisionOf(ctx)
	for {
		g.mu.Lock()
		shut := g.shut
		if isDecision && decided < g.generation {
			g.mu.Unlock()
			return storage.ErrRewound
		}
		if shut == nil {
			g.writes++
			g.mu.Unlock()
			return nil
		}
		g.mu.Unlock()
		select {
		case <-shut:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leave ends a write.
func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.writes--; g.writes == 0 && g.empty != nil {
		close(g.empty)
	}
}

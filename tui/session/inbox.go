package session

import (
	"sync"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Phase is the state of the follower's connection.
type Phase uint8

// The phases.
const (
	Connecting Phase = iota
	Live
	Retrying
	Foreign // the server answers, and is no kx: it is not asked again
	AsSaved // there is no server: all there is was saved
)

// State is the follower's phase, with the reason if it is not live.
type State struct {
	Phase  Phase
	Reason string
}

// Batch holds the changes since the last one.
type Batch struct {
	// Reset reports that earlier rows belong to another filter.
	Reset bool
	// Dropped counts the changes that the screen was too slow for.
	Dropped uint64
	// LeftOut counts the new journeys that the server skipped because there were too many.
	LeftOut uint64
	State   State

	changes  []change
	present  map[string]bool // after a list: the server's journeys
	filtered bool            // with Reset: there is a filter
}

type change struct {
	journey *v1alpha1.Journey
	gone    bool
}

// inbox passes changes from the follower to the screen, which drains it when it draws. mu guards generation and
// batch.
//
//  1. It holds at most most changes; the oldest are dropped and counted.
//  2. Changes from a follower of an earlier generation are dropped.
//  3. changed is called whenever there is something to drain.
type inbox struct {
	most    int
	changed func()

	mu         sync.Mutex
	generation uint64
	batch      Batch
}

func newInbox(most int, changed func()) *inbox { return &inbox{most: most, changed: changed} }

// begin starts a generation and returns its number.
func (b *inbox) begin() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.generation++
	b.batch = Batch{State: State{Phase: Connecting}, Dropped: b.batch.Dropped, LeftOut: b.batch.LeftOut}
	return b.generation
}

// leave changes the batch on behalf of a generation.
func (b *inbox) leave(generation uint64, f func(*Batch)) {
	b.mu.Lock()
	if generation == b.generation {
		f(&b.batch)
		if over := len(b.batch.changes) - b.most; over > 0 {
			b.batch.changes = append(b.batch.changes[:0], b.batch.changes[over:]...)
			b.batch.Dropped += uint64(over)
		}
	}
	b.mu.Unlock()
	b.changed()
}

func (b *inbox) drain() Batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := b.batch
	b.batch = Batch{State: batch.State}
	return batch
}

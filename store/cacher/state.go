package cacher

import (
	"context"
	"sync"
	"time"
)

// State tells how far a cache can be relied on.
type State uint8

// The states of a cache.
const (
	// Uninitialized: never filled, because no client has read yet or the first fill is not done. All reads go to
	// etcd.
	Uninitialized State = iota
	// Fresh: filled, and changes come as they happen.
	Fresh
	// Lagging: changes come, but the cache has not seen what etcd is known to have.
	Lagging
	// Broken: no changes come. The cache holds at its own revision, and at none since.
	Broken
	// Refilling: changes were missed for good, and the cache is being filled again.
	Refilling
)

func (s State) String() string {
	return [...]string{"uninitialized", "fresh", "lagging", "broken", "refilling"}[s]
}

// Condition is a State, since when, and why if there is a reason.
type Condition struct {
	State State
	Since time.Time
	Err   error
}

// lagTolerance is the delay after which a cache counts as lagging.
const lagTolerance = time.Second

// stateHolder holds the state as the reflector knows it: everything but Lagging. mu guards its fields.
type stateHolder struct {
	mu     sync.Mutex
	now    Condition
	filled chan struct{} // closed while the cache is filled
}

func (s *stateHolder) init() {
	s.now = Condition{State: Uninitialized, Since: time.Now()}
	s.filled = make(chan struct{})
}

func (s *stateHolder) get() Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// set changes the state, and says whether that is another one.
func (s *stateHolder) set(state State, err error) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.State == state {
		if err != nil {
			s.now.Err = err
		}
		return false
	}
	isFilled := state == Fresh || state == Broken
	wasFilled := s.now.State == Fresh || s.now.State == Broken
	switch {
	case isFilled && !wasFilled:
		close(s.filled)
	case !isFilled && wasFilled:
		s.filled = make(chan struct{})
	}
	s.now = Condition{State: state, Since: time.Now(), Err: err}
	return true
}

// waitFilled waits until the cache is filled.
func (s *stateHolder) waitFilled(ctx context.Context) error {
	s.mu.Lock()
	filled := s.filled
	s.mu.Unlock()
	select {
	case <-filled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

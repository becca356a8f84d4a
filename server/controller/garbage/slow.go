package garbage

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/admin"
)

const (
	// quickWork limits an attempt that holds up others. An attempt that fails after slowWork or more makes its
	// resource slow.
	quickWork = 5 * time.Second
	slowWork  = time.Second
	// A resource then is slow for slowFor. slowAtOnce limits the objects of slow resources that are worked on
	// at a time.
	slowFor    = time.Minute
	slowAtOnce = 4
)

// slowness holds the slow resources, by the prefixes of their keys. A webhook that does not answer holds up
// each object of its resource for half a minute: they wait for each other, and no others wait for them. mu
// guards until.
type slowness struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (s *slowness) has(resource string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, slow := s.until[resource]
	if slow && time.Now().After(until) {
		delete(s.until, resource)
		return false
	}
	return slow
}

func (s *slowness) add(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	s.until[resource] = time.Now().Add(slowFor)
}

// resourceOf returns the key prefix of a task's object, empty if the object is gone.
func (c *Controller) resourceOf(t task) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.index.byUID[t.uid]
	if n == nil {
		return ""
	}
	path, _, _ := admin.SplitKey("", "/"+n.key)
	return path
}

// any reports whether there may be slow resources.
func (s *slowness) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.until) > 0
}

// tryBriefly tries a task for a short time, or moves it to the slow loop.
func (c *Controller) tryBriefly(ctx context.Context, t task, cause int64) error {
	if c.slowness.any() && c.slowness.has(c.resourceOf(t)) {
		c.slow.Add(t, cause)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, quickWork)
	defer cancel()
	return c.trySlowTask(ctx, t, cause)
}

// trySlowTask tries a task, and marks its resource as slow if it fails late.
func (c *Controller) trySlowTask(ctx context.Context, t task, cause int64) error {
	began := time.Now()
	err := c.try(ctx, t, cause)
	rewound := errors.Is(err, store.ErrRewound) // it waited for the rewind, and not for the resource
	if err != nil && !rewound && time.Since(began) >= slowWork {
		c.slowness.add(c.resourceOf(t))
	}
	return err
}

package garbage

import (
	"context"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/store/admin"
)

const (
	// quickWork bounds an attempt that holds up others, and slowWork is from when on a failed attempt makes its
	// resource a slow one.
	quickWork = 5 * time.Second
	slowWork  = time.Second
	// slowFor is for how long a resource is slow then, and slowAtOnce is how many objects of slow ones are worked on at
	// a time.
	slowFor    = time.Minute
	slowAtOnce = 4
)

// slowness is which resources are slow, by the beginnings of their keys. A webhook that does not answer holds up each
// object of its resource for half a minute: they wait for each other, and no others for them.
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

// resourceOf is the beginning of the key of the object that a task is about, nothing if that is gone.
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

// any says whether there may be slow resources.
func (s *slowness) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.until) > 0
}

// quickly tries a task for a short time, or leaves it to those who have more.
func (c *Controller) quickly(ctx context.Context, t task, cause int64) error {
	if c.slowness.any() && c.slowness.has(c.resourceOf(t)) {
		c.slow.Add(t, cause)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, quickWork)
	defer cancel()
	return c.slowly(ctx, t, cause)
}

// slowly tries a task, and remembers its resource if it fails late.
func (c *Controller) slowly(ctx context.Context, t task, cause int64) error {
	began := time.Now()
	err := c.try(ctx, t, cause)
	if err != nil && time.Since(began) >= slowWork {
		c.slowness.add(c.resourceOf(t))
	}
	return err
}

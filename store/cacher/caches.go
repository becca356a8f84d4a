package cacher

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Caches holds the cachers of a server by resource. They come and go as resources are installed and removed. mu
// guards running.
//
// While a resource is installed anew it has two cachers: the new one, and the old one until its last user is gone.
// Get returns the new one.
type Caches struct {
	mu      sync.Mutex
	running map[schema.GroupResource][]*Cacher
}

// Add makes c known until the function that it returns is called.
func (s *Caches) Add(c *Cacher) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running = map[schema.GroupResource][]*Cacher{}
	}
	resource := c.Resource()
	s.running[resource] = append(s.running[resource], c)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		left := slices.DeleteFunc(s.running[resource], func(other *Cacher) bool { return other == c })
		if s.running[resource] = left; len(left) == 0 {
			delete(s.running, resource)
		}
	}
}

// Get is the cacher of a resource, nil if it has none.
func (s *Caches) Get(resource schema.GroupResource) *Cacher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return newest(s.running[resource])
}

// Sizes returns the number of cached objects of a resource and the bytes of their stored form.
func (s *Caches) Sizes(resource schema.GroupResource) (items int, bytes int64) {
	if c := s.Get(resource); c != nil {
		return c.watchCache.sizes()
	}
	return 0, 0
}

// List is all cachers, in the order of the names of their resources.
func (s *Caches) List() []*Cacher {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Cacher, 0, len(s.running))
	for _, cachers := range s.running {
		all = append(all, newest(cachers))
	}
	slices.SortFunc(all, func(a, b *Cacher) int { return cmp.Compare(a.Resource().String(), b.Resource().String()) })
	return all
}

func newest(cachers []*Cacher) *Cacher {
	if len(cachers) == 0 {
		return nil
	}
	return cachers[len(cachers)-1]
}

// Resource returns the cached resource.
func (c *Cacher) Resource() schema.GroupResource { return c.config.GroupResource }

package etcd3

import "sync"

// Pins keep etcd's history from a revision on: compactors of this process that have them compact nothing that a pin
// needs. Other processes on the same etcd do not know them. The zero value has no pins. mu guards revisions.
type Pins struct {
	mu        sync.Mutex
	revisions map[*int64]bool
}

// Add pins a revision until the function that it returns is called.
func (p *Pins) Add(revision int64) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revisions == nil {
		p.revisions = map[*int64]bool{}
	}
	pin := &revision
	p.revisions[pin] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.revisions, pin)
	}
}

// forbid reports whether a compaction to a revision would drop a pinned one. No Pins forbid nothing.
func (p *Pins) forbid(revision int64) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for pin := range p.revisions {
		if *pin < revision {
			return true
		}
	}
	return false
}

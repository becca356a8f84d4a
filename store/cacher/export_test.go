package cacher

import "time"

// ForgetPast drops what was read of etcd's history, as time does.
func (c *Cacher) ForgetPast() { c.past.trim(time.Now().Add(2 * c.limits.HistoryWindow)) }

// Reread is Caches.Reread for one.
func (c *Cacher) Reread() { c.reread() }

// PastKept is how much of etcd's history is kept beside the cache's own.
func (c *Cacher) PastKept() (events, bytes int) {
	c.past.mu.Lock()
	defer c.past.mu.Unlock()
	return c.past.events, c.past.bytes
}

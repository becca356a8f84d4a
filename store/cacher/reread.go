package cacher

import "errors"

// errOtherKeys says that there are other keys than when the cache was filled.
var errOtherKeys = errors.New("values that could not be decrypted may be readable by now")

// Reread has those caches filled again that have objects which could not be decrypted. Until then, all that needs one
// is read from etcd. It is called when there are other keys.
func (s *Caches) Reread() {
	s.mu.Lock()
	var all []*Cacher
	for _, cachers := range s.running {
		all = append(all, cachers...)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.reread()
	}
}

// reread gives up etcd's watch if there are values to read again. outdated checks the values that are being read
// right now.
func (c *Cacher) reread() {
	c.keys.Add(1)
	if leave := c.leave.Load(); leave != nil && c.unreadable() {
		(*leave)(errOtherKeys)
	}
}

// outdated reports whether the cache has values that could not be decrypted, and there are newer keys than those of
// the attempt. The reflector checks it after each change of the cache and before it goes on. It stays true until the
// cache is filled again.
func (c *Cacher) outdated() bool {
	now := c.keys.Load()
	if now == c.readWith {
		return false
	}
	if c.unreadable() {
		return true
	}
	c.readWith = now
	return false
}

// unreadable says whether there is an object that could not be decrypted.
func (c *Cacher) unreadable() (found bool) {
	state, _ := c.watchCache.snapshot()
	state.Ascend(func(i item) bool {
		found = i.obj.Err() != nil
		return !found
	})
	return found
}

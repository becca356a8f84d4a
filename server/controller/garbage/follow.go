package garbage

import (
	"strings"
	"time"

	"github.com/kx-apiserver/kx/server/controller/feed"
)

// definitions is the key prefix of definitions of custom resources.
const definitions = "apiextensions.k8s.io/customresourcedefinitions/"

// definitionsKnown is the time within which the storages know a newly served definition.
const definitionsKnown = 500 * time.Millisecond

// Begin begins a look at all keys.
func (c *Controller) Begin() { c.round++ }

// End removes the keys that were not put since Begin, and wakes all possible garbage.
func (c *Controller) End(int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision = 0 // the cause of what a look finds is unknown
	for key, n := range c.index.byKey {
		if n.round != c.round {
			c.index.remove(key)
		}
	}
	for _, n := range c.index.byKey {
		c.index.check(n)
		c.index.begin(n)
	}
}

// collected reports whether a controller collects the object of a key.
func collected(key string) bool {
	if strings.HasPrefix(key, "events/") {
		return false
	}
	_, ok := locate(key)
	return ok
}

// Put updates the index with the value of a key at a revision.
func (c *Controller) Put(p feed.Pair) {
	if !collected(p.Key) {
		return
	}
	if p.Value == nil {
		c.removeKey(p.Key, p.Revision)
		return
	}
	f, err := scan(c.decoder, c.prefix+p.Key, p.Value)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if n := c.index.byKey[p.Key]; n != nil {
			n.round = c.round // the known state stays
		}
		if !c.unreadable[p.Key] {
			c.unreadable[p.Key] = true
			c.log.Warn("the garbage collector cannot read an object: it stays as it is", "key", p.Key, "error", err)
		}
		return
	}
	c.revision = p.Revision
	c.readable(p.Key)
	c.index.put(p.Key, f, c.round, p.Changed)
	if p.Changed && len(c.unserved) > 0 && strings.HasPrefix(p.Key, definitions) {
		for uid := range c.unserved {
			c.loop.AddAfter(task{collect, uid, id{}}, 0, definitionsKnown)
		}
		clear(c.unserved)
	}
}

// removeKey removes a key from the index.
func (c *Controller) removeKey(key string, revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision = revision
	c.readable(key)
	c.index.remove(key)
}

// readable records that a key no longer has an unreadable value. It retries all tasks that failed because of
// one: the index may never have known the object of this key, so it can't tell which tasks wait for it. The
// caller holds mu.
func (c *Controller) readable(key string) {
	if !c.unreadable[key] {
		return
	}
	delete(c.unreadable, key)
	for t := range c.blind {
		c.add(t)
	}
	clear(c.blind)
}

package garbage

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
)

// definitions begins the keys of definitions of custom resources.
const definitions = "apiextensions.k8s.io/customresourcedefinitions/"

// definitionsKnown is how long a definition that is served may take to be known to the storages.
const definitionsKnown = 500 * time.Millisecond

// follow looks at all keys and then watches them, again and again.
func (c *Controller) follow(ctx context.Context) {
	var pause work.Backoff
	for ctx.Err() == nil {
		revision, err := c.look(ctx)
		if err == nil {
			pause = work.Backoff{}
			err = c.watch(ctx, revision)
		}
		if err != nil && ctx.Err() == nil {
			c.log.Warn("the garbage collector cannot follow etcd: looking again", "error", err)
		}
		pause.Wait(ctx)
	}
}

// look enters all keys into the index, as of one revision, and removes those that are gone. Then it wakes all that may be garbage.
func (c *Controller) look(ctx context.Context) (revision int64, err error) {
	if revision, err = c.etcd.Revision(ctx); err != nil {
		return 0, err
	}
	c.round++
	for kv, err := range admin.Below(ctx, c.etcd, c.prefix, admin.Range{Revision: revision}) {
		if err != nil {
			return 0, err
		}
		c.put(kv.Key, kv.Value, revision, false)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision = 0 // what is found now has no cause that is known
	for key, n := range c.index.byKey {
		if n.round != c.round {
			c.index.remove(key)
		}
	}
	for _, n := range c.index.byKey {
		c.index.check(n)
		c.index.begin(n)
	}
	return revision, nil
}

// watch enters all changes after a revision, until the watch ends.
func (c *Controller) watch(ctx context.Context, revision int64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for resp := range c.etcd.Client.Watch(clientv3.WithRequireLeader(ctx), c.prefix, clientv3.WithPrefix(), clientv3.WithRev(revision+1)) {
		if err := resp.Err(); err != nil {
			return err
		}
		for _, event := range resp.Events {
			key := string(event.Kv.Key)
			if event.Type == clientv3.EventTypeDelete {
				c.removed(key, event.Kv.ModRevision)
			} else {
				c.put(key, event.Kv.Value, event.Kv.ModRevision, true)
			}
		}
	}
	return ctx.Err()
}

// short is a key below the prefix. ok is false for keys that nobody collects.
func (c *Controller) short(key string) (short string, ok bool) {
	short = strings.TrimPrefix(key, c.prefix)
	if strings.HasPrefix(short, "events/") {
		return "", false
	}
	_, ok = locate(short)
	return short, ok
}

// put enters what a key has at a revision. judge is false during a look.
func (c *Controller) put(key string, value []byte, revision int64, judge bool) {
	short, ok := c.short(key)
	if !ok {
		return
	}
	f, err := scan(c.decoder, key, value)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if n := c.index.byKey[short]; n != nil {
			n.round = c.round // what was known of it stays
		}
		if !c.unreadable[short] {
			c.unreadable[short] = true
			c.log.Warn("the garbage collector cannot read an object: it stays as it is", "key", key, "error", err)
		}
		return
	}
	delete(c.unreadable, short)
	c.revision = revision
	c.index.put(short, f, c.round, judge)
	if judge && len(c.unserved) > 0 && strings.HasPrefix(short, definitions) {
		for uid := range c.unserved {
			c.queue.AddAfter(task{collect, uid, id{}}, definitionsKnown)
		}
		clear(c.unserved)
	}
}

// removed enters the end of a key.
func (c *Controller) removed(key string, revision int64) {
	short, ok := c.short(key)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unreadable, short)
	c.revision = revision
	c.index.remove(short)
}

package cacher

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store"
)

// CatchUp asks etcd for its revision, waits until the cache has seen it, and returns how long that took. A timeout of
// ctx is no error: the next inspection shows the cache behind.
func (c *Cacher) CatchUp(ctx context.Context) (took time.Duration, ok bool) {
	if !c.begun.Load() {
		return 0, false // nobody has asked for the cache, and who looks at it does not either
	}
	start := time.Now()
	revision, _, err := c.revisions.revision(ctx)
	if err != nil || c.watchCache.waitUntilFresh(ctx, revision) != nil {
		return time.Since(start), false
	}
	return time.Since(start), true
}

// Comparison is one object as the cache has it, and as etcd does.
type Comparison struct {
	Key string
	// Cached and Stored are nil where the object does not exist.
	Cached, Stored *object.Encoded
	// Seen is the revision at which Cached holds, Revision one at which Stored holds.
	Seen, Revision int64
}

// ReadBeside reads an object in both places, etcd first, and waits for nothing. The namespace of an object that is in
// none is empty.
func (c *Cacher) ReadBeside(ctx context.Context, namespace, name string) (*Comparison, error) {
	key := c.config.ResourcePrefix + "/" + name
	if namespace != "" {
		key = c.config.ResourcePrefix + "/" + namespace + "/" + name
	}
	b := &Comparison{}
	var err error
	if b.Key, err = store.PrepareKey(c.config.ResourcePrefix, key, false); err != nil {
		return nil, err
	}
	if b.Stored, err = c.config.Storage.GetEncoded(ctx, key, store.GetOptions{IgnoreNotFound: true}); err != nil {
		return nil, fmt.Errorf("read %s in etcd: %w", b.Key, err)
	}
	if b.Stored != nil {
		b.Revision = b.Stored.Revision()
	} else if _, b.Revision, err = c.config.Storage.KeyRevision(ctx, b.Key); err != nil {
		return nil, fmt.Errorf("read %s in etcd: %w", b.Key, err)
	}
	b.Cached, b.Seen = c.watchCache.get(b.Key)
	return b, nil
}

// Difference says in one sentence how the two differ, and nothing if they don't.
func (b *Comparison) Difference() string {
	d := Difference{Key: b.Key}
	if b.Cached != nil {
		d.Cached = b.Cached.Revision()
	}
	if b.Stored != nil {
		d.Etcd = b.Stored.Revision()
	}
	switch {
	case b.Cached == nil && b.Stored == nil:
		return ""
	case d.Cached == d.Etcd && (b.Cached.Err() != nil || b.Stored.Err() != nil || bytes.Equal(b.Cached.Stored(), b.Stored.Stored())):
		return ""
	case b.Seen == 0:
		return fmt.Sprintf("%s: the cache has never been filled", d)
	case b.Seen < b.Revision:
		return fmt.Sprintf("%s: the cache is at %d and has not seen that yet", d, b.Seen)
	case d.Cached > d.Etcd && d.Etcd != 0:
		return fmt.Sprintf("%s: it was written after etcd was asked", d)
	}
	return d.String()
}

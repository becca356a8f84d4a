package cacher

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// GetEncoded reads one object. Its resourceVersion decides where from.
func (c *Cacher) GetEncoded(ctx context.Context, key string, opts store.GetOptions) (_ *object.Encoded, err error) {
	ctx, step := trace.Start(ctx, trace.CacherGet, key)
	defer step.End(&err)
	c.sayLate(step)
	prepared, err := store.PrepareKey(c.config.ResourcePrefix, key, false)
	if err != nil {
		return nil, err
	}
	minimum, err := c.parseRevision(opts.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	if c.asked(ctx) {
		step.Why(trace.CacheFirstRead)
		return c.fromStorage(ctx, key, opts)
	}
	if state := c.state.get().State; state == Uninitialized || state == Refilling || state == Broken && opts.ResourceVersion == "" {
		// A broken cache may have seen the revisions of another etcd.
		step.WhyText(trace.CacheNotReady, state.String())
		return c.fromStorage(ctx, key, opts)
	}
	if opts.ResourceVersion == "" {
		return c.getLatest(ctx, step, prepared, opts)
	}
	obj, seen, err := c.watchCache.WaitUntilFreshAndGet(ctx, minimum, prepared)
	var late notSeen
	if errors.As(err, &late) {
		if err := c.tooLarge(ctx, minimum); err != nil {
			return nil, err
		}
		step.Why(trace.CacheBehind, minimum, late.seen)
		return c.fromStorage(ctx, key, opts)
	}
	if err != nil {
		return nil, err
	}
	if minimum == 0 {
		step.Why(trace.CachedAny, seen)
	} else {
		step.Why(trace.CachedAtLeast, minimum, seen)
	}
	return c.found(ctx, step, key, obj, seen, opts)
}

// getLatest answers with the cached object if etcd says that its revision is still the latest.
func (c *Cacher) getLatest(ctx context.Context, step *trace.Step, key string, opts store.GetOptions) (*object.Encoded, error) {
	before := c.watchCache.revision.Load()
	revision, at, err := c.config.Storage.KeyRevision(ctx, key)
	if err != nil {
		return nil, err
	}
	if !c.revisions.note(at, before) {
		step.Why(trace.CacheRefilled, at, before)
		return c.fromStorage(ctx, key, opts)
	}
	cached := c.latest(key)
	switch {
	case revision == 0:
		step.Why(trace.KeyIsEmpty)
		return c.found(ctx, step, key, nil, at, opts)
	case cached != nil && cached.Revision() == revision:
		step.Why(trace.CachedAtRevision, revision)
		return c.found(ctx, step, key, cached, at, opts)
	case cached != nil && cached.Revision() > revision:
		// It was written after etcd answered: a newer state will do.
		step.Why(trace.CachedNewer, revision, cached.Revision())
		return c.found(ctx, step, key, cached, at, opts)
	}
	step.Why(trace.KeyNotCachedYet, revision)
	return c.fromStorage(ctx, key, opts)
}

// latest returns the newest known object at key: the cached one, or one that this process has written since.
func (c *Cacher) latest(key string) *object.Encoded {
	cached, seen := c.watchCache.get(key)
	if own := c.written.find(key, seen); own != nil {
		return own
	}
	return cached
}

// found answers with a cached object, or with its absence.
func (c *Cacher) found(ctx context.Context, step *trace.Step, key string, obj *object.Encoded, seen int64,
	opts store.GetOptions) (*object.Encoded, error) {
	if obj != nil && obj.Err() != nil {
		step.Why(trace.CacheUnreadable)
		return c.fromStorage(ctx, key, opts)
	}
	c.counts.hits.Add(1)
	if obj == nil {
		if opts.IgnoreNotFound {
			return nil, nil
		}
		return nil, store.NewKeyNotFoundError(key, seen)
	}
	if step.Recording() {
		step.Int("revision", seen)
		step.Int("modRevision", obj.Revision())
		step.Int("bytes", int64(obj.StoredSize()))
	}
	return obj, nil
}

func (c *Cacher) fromStorage(ctx context.Context, key string, opts store.GetOptions) (*object.Encoded, error) {
	c.counts.fallbacks.Add(1)
	return c.config.Storage.GetEncoded(ctx, key, opts)
}

// retrySeconds is the Retry-After for a revision that does not exist yet.
const retrySeconds = 1

// tooLarge returns an error if etcd does not have revision yet. If it has, the cache is late.
func (c *Cacher) tooLarge(ctx context.Context, revision int64) error {
	current, _, err := c.revisions.revision(ctx)
	if err != nil {
		return err
	}
	if revision > current {
		return store.NewTooLargeResourceVersionError(uint64(revision), uint64(current), retrySeconds)
	}
	return nil
}

// parseRevision reads a resourceVersion of a client.
func (c *Cacher) parseRevision(resourceVersion string) (int64, error) {
	revision, err := c.config.Storage.Versioner().ParseResourceVersion(resourceVersion)
	return int64(min(revision, 1<<63-2)), err
}

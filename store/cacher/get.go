package cacher

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

var (
	cacheFirstRead = trace.Because("cache-first-read",
		"nobody had asked for this cache before: it begins to fill, and etcd answers",
		"此前没有人用过这个缓存：缓存开始填充，本次由 etcd 应答")
	cacheNotReady = trace.Because("cache-not-ready",
		"the cache is {state:word}: went to etcd",
		"缓存状态为 {state:word}：改读 etcd")
	cacheBehind = trace.Because("cache-behind",
		"resourceVersion {asked}: the cache is at {cache} and makes no progress: went to etcd",
		"resourceVersion {asked}：缓存停在 {cache}，没有进展：改读 etcd")
	cachedAny = trace.Because("cached-any",
		"resourceVersion 0: whatever the cache has, at {cache}",
		"resourceVersion 0：直接用缓存的内容，缓存在 {cache}")
	cachedAtLeast = trace.Because("cached-at-least",
		"resourceVersion {asked}: the cache has seen it, and is at {cache}",
		"resourceVersion {asked}：缓存已追上，在 {cache}")
)

// GetEncoded reads one object. Its resourceVersion decides where from.
func (c *Cacher) GetEncoded(ctx context.Context, key string, opts store.GetOptions) (_ *object.Encoded, err error) {
	ctx, step := trace.Start(ctx, steps.CacherGet, key)
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
		step.Why(cacheFirstRead)
		return c.fromStorage(ctx, key, opts)
	}
	if state := c.state.get().State; state == Uninitialized || state == Refilling || state == Broken && opts.ResourceVersion == "" {
		// A broken cache may have seen the revisions of another etcd.
		step.WhyText(cacheNotReady, state.String())
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
		step.Why(cacheBehind, minimum, late.seen)
		return c.fromStorage(ctx, key, opts)
	}
	if err != nil {
		return nil, err
	}
	if minimum == 0 {
		step.Why(cachedAny, seen)
	} else {
		step.Why(cachedAtLeast, minimum, seen)
	}
	return c.answerFromCache(ctx, step, key, obj, seen, opts)
}

var (
	cacheRefilled = trace.Because("cache-refilled",
		"etcd is at {etcd}, but the cache had seen {cache}: the cache is filled again; went to etcd",
		"etcd 在 {etcd}，缓存却到过 {cache}：重新填充缓存，改读 etcd")
	cachedAtRevision = trace.Because("cached-at-revision",
		"resourceVersion unset: etcd has the key at {revision}, and so has the cache: cached bytes",
		"没有指定 resourceVersion：etcd 中该键在 {revision}，缓存也是：用缓存的字节")
	cachedNewer = trace.Because("cached-newer",
		"resourceVersion unset: etcd had the key at {etcd}, the cache has it at {cache} by now: cached bytes",
		"没有指定 resourceVersion：etcd 中该键在 {etcd}，缓存已到 {cache}：用缓存的字节")
	keyNotCachedYet = trace.Because("key-not-cached-yet",
		"resourceVersion unset: etcd has the key at {revision}, the cache does not yet: went to etcd",
		"没有指定 resourceVersion：etcd 中该键在 {revision}，缓存还没有：改读 etcd")
	keyIsEmpty = trace.Because("key-is-empty",
		"resourceVersion unset: etcd has nothing at the key",
		"没有指定 resourceVersion：etcd 中没有这个键")
)

// getLatest answers with the cached object if etcd says that its revision is still the latest.
func (c *Cacher) getLatest(ctx context.Context, step *trace.Step, key string, opts store.GetOptions) (*object.Encoded, error) {
	before := c.watchCache.revision.Load()
	revision, at, err := c.config.Storage.KeyRevision(ctx, key)
	if err != nil {
		return nil, err
	}
	if !c.revisions.note(at, before) {
		step.Why(cacheRefilled, at, before)
		return c.fromStorage(ctx, key, opts)
	}
	cached := c.latest(key)
	switch {
	case revision == 0:
		step.Why(keyIsEmpty)
		return c.answerFromCache(ctx, step, key, nil, at, opts)
	case cached != nil && cached.Revision() == revision:
		step.Why(cachedAtRevision, revision)
		return c.answerFromCache(ctx, step, key, cached, at, opts)
	case cached != nil && cached.Revision() > revision:
		// It was written after etcd answered: a newer state will do.
		step.Why(cachedNewer, revision, cached.Revision())
		return c.answerFromCache(ctx, step, key, cached, at, opts)
	}
	step.Why(keyNotCachedYet, revision)
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

var cacheUnreadable = trace.Because("cache-unreadable",
	"the cache can't read the object: went to etcd, which says why",
	"缓存无法读取该对象：改读 etcd，由它说明原因")

// answerFromCache answers with a cached object, or with its absence.
func (c *Cacher) answerFromCache(ctx context.Context, step *trace.Step, key string, obj *object.Encoded, seen int64,
	opts store.GetOptions) (*object.Encoded, error) {
	if obj != nil && obj.Err() != nil {
		step.Why(cacheUnreadable)
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

package cacher

import (
	"context"
	"errors"
	"slices"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// ListEncoded lists what opts select.
func (c *Cacher) ListEncoded(ctx context.Context, key string, opts store.ListOptions) (_ *store.EncodedList, err error) {
	ctx, step := trace.Start(ctx, steps.CacherList, key)
	defer step.End(&err)
	c.sayLate(step)
	prefix, err := store.PrepareKey(c.config.ResourcePrefix, key, opts.Recursive)
	if err != nil {
		return nil, err
	}
	l := listing{cacher: c, step: step, key: key, prefix: prefix, opts: opts}
	if l.exact, l.from, err = store.ValidateListOptions(prefix, c.config.Storage.Versioner(), opts); err != nil {
		return nil, err
	}
	if err := l.moment(ctx); err != nil {
		return nil, err
	}
	if l.tree == nil {
		return l.fromStorage(ctx)
	}
	list, items, err := l.collect(ctx, store.HasUnreadable(ctx))
	if ended := ctx.Err(); err != nil && ended != nil {
		return nil, ended
	}
	if err != nil {
		step.Why(cacheUnreadable)
		list, err := l.fromStorage(ctx)
		if err != nil {
			return nil, err
		}
		return list, list.Items.Readable(ctx)
	}
	c.counts.hits.Add(1)
	evaluated := l.looked
	if l.opts.Predicate.Empty() {
		evaluated = 0
	}
	c.metrics.List(l.looked, evaluated, items)
	if step.Recording() {
		step.Int("revision", list.Revision)
		step.Int("looked", int64(l.looked))
		step.Int("returned", int64(items))
		step.Why(l.why, append(l.given, int64(items), list.Revision)...)
	}
	return list, nil
}

// listing is one call of ListEncoded.
type listing struct {
	cacher *Cacher
	step   *trace.Step
	key    string
	prefix string
	opts   store.ListOptions

	// exact is the one revision that the list may be of, 0 if a later one will do. from is the key that a page begins
	// at, "" for the first page.
	exact int64
	from  string

	tree     *tree
	revision int64
	looked   int

	// why the list is made of this state of the cache, and the first numbers of that reason.
	why   trace.Reason
	given []int64
}

var (
	listedAny = trace.Because("listed-any",
		"resourceVersion 0: whatever the cache has: {items} items of its state at {revision}",
		"resourceVersion 0：直接用缓存的内容：状态在 {revision}，{items} 个条目")
	listedAtLeast = trace.Because("listed-at-least",
		"resourceVersion {asked}: the cache has seen it: {items} items of its state at {revision}",
		"resourceVersion {asked}：缓存已追上：状态在 {revision}，{items} 个条目")
)

// moment finds the state that the list shows, and records why it is that one. It leaves the tree nil if the list must
// go to etcd.
func (l *listing) moment(ctx context.Context) error {
	c := l.cacher
	if c.asked(ctx) {
		l.step.Why(cacheFirstRead)
		return nil
	}
	if state := c.state.get().State; state == Uninitialized || state == Refilling {
		l.step.WhyText(cacheNotReady, state.String())
		return nil
	}
	switch {
	case l.exact > 0:
		return l.atExactly(ctx)
	case l.opts.ResourceVersion == "":
		return l.latest(ctx)
	}
	minimum, err := c.parseRevision(l.opts.ResourceVersion)
	if err != nil {
		return err
	}
	l.tree, l.revision, err = c.watchCache.WaitUntilFreshAndGetList(ctx, minimum)
	var late notSeen
	if errors.As(err, &late) {
		l.step.Why(cacheBehind, minimum, late.seen)
		return c.tooLarge(ctx, minimum)
	}
	if minimum == 0 {
		l.noteReason(listedAny)
	} else {
		l.noteReason(listedAtLeast, minimum)
	}
	return err
}

// noteReason notes the reason of a list that the cache answers.
func (l *listing) noteReason(why trace.Reason, given ...int64) {
	if l.step.Recording() {
		l.why, l.given = why, slices.Clone(given)
	}
}

var (
	latestNotReady = trace.Because("latest-not-ready",
		"resourceVersion unset, and the cache is {state:word}: went to etcd",
		"没有指定 resourceVersion，缓存状态为 {state:word}：改读 etcd")
	latestBehind = trace.Because("latest-behind",
		"resourceVersion unset: etcd is at {etcd}, the cache is at {cache} and makes no progress: went to etcd",
		"没有指定 resourceVersion：etcd 在 {etcd}，缓存停在 {cache}，没有进展：改读 etcd")
	listedLatest = trace.Because("listed-latest",
		"resourceVersion unset: etcd is at {etcd}, and so is the cache: {items} items of its state at {revision}",
		"没有指定 resourceVersion：etcd 在 {etcd}，缓存也是：状态在 {revision}，{items} 个条目")
	listedLatestShared = trace.Because("listed-latest-shared",
		"resourceVersion unset: etcd is at {etcd} (asked together with others), and so is the cache: {items} items of "+
			"its state at {revision}",
		"没有指定 resourceVersion：etcd 在 {etcd}（与其他请求合并询问），缓存也是：状态在 {revision}，{items} 个条目")
	listedCaughtUp = trace.Because("listed-caught-up",
		"resourceVersion unset: etcd is at {etcd}, the cache was at {before} and caught up: {items} items of its state "+
			"at {revision}",
		"没有指定 resourceVersion：etcd 在 {etcd}，缓存从 {before} 追了上来：状态在 {revision}，{items} 个条目")
	listedCaughtUpShared = trace.Because("listed-caught-up-shared",
		"resourceVersion unset: etcd is at {etcd} (asked together with others), the cache was at {before} and caught "+
			"up: {items} items of its state at {revision}",
		"没有指定 resourceVersion：etcd 在 {etcd}（与其他请求合并询问），缓存从 {before} 追了上来：状态在 {revision}，"+
			"{items} 个条目")
)

// latest asks etcd for its revision, and takes the state when the cache has seen that.
func (l *listing) latest(ctx context.Context) (err error) {
	c := l.cacher
	defer func() { c.metrics.ConsistentRead(l.tree == nil, err) }()
	if state := c.state.get().State; state != Fresh {
		l.step.WhyText(latestNotReady, state.String())
		return nil
	}
	seen := c.watchCache.revision.Load()
	revision, shared, err := c.revisions.revision(ctx)
	if err != nil {
		return err
	}
	if revision < seen {
		l.step.Why(cacheRefilled, revision, seen)
		return nil
	}
	seen = c.watchCache.revision.Load()
	l.tree, l.revision, err = c.watchCache.WaitUntilFreshAndGetList(ctx, revision)
	var late notSeen
	if errors.As(err, &late) {
		l.step.Why(latestBehind, revision, late.seen)
		return nil
	}
	switch caughtUp := seen < revision; {
	case caughtUp && shared:
		l.noteReason(listedCaughtUpShared, revision, seen)
	case caughtUp:
		l.noteReason(listedCaughtUp, revision, seen)
	case shared:
		l.noteReason(listedLatestShared, revision)
	default:
		l.noteReason(listedLatest, revision)
	}
	return err
}

var (
	exactCompacted = trace.Because("exact-compacted",
		"revision {asked} is wanted, and it has been compacted: went to etcd",
		"要修订版本 {asked}，它已被压缩：改读 etcd")
	exactBehind = trace.Because("exact-behind",
		"revision {asked} is wanted, and the cache is at {cache} and makes no progress: went to etcd",
		"要修订版本 {asked}，缓存停在 {cache}，没有进展：改读 etcd")
	exactForgotten = trace.Because("exact-forgotten",
		"revision {asked} is wanted, and the cache has forgotten what happened since: went to etcd",
		"要修订版本 {asked}，缓存已丢弃此后的历史：改读 etcd")
	listedExactly = trace.Because("listed-exactly",
		"revision {asked} is wanted: {items} items of the cache's state at {revision}",
		"要修订版本 {asked}：缓存的状态在 {revision}，{items} 个条目")
)

// atExactly takes the state at the exact revision, when the cache has seen that.
func (l *listing) atExactly(ctx context.Context) error {
	c := l.cacher
	if l.exact < c.config.Storage.CompactRevision() {
		l.step.Why(exactCompacted, l.exact)
		return nil
	}
	err := c.watchCache.waitUntilFresh(ctx, l.exact)
	var late notSeen
	if errors.As(err, &late) {
		l.step.Why(exactBehind, l.exact, late.seen)
		return c.tooLarge(ctx, l.exact)
	}
	if err != nil {
		return err
	}
	if l.tree = c.watchCache.getExact(l.exact); l.tree == nil {
		l.step.Why(exactForgotten, l.exact)
		return nil
	}
	l.revision = l.exact
	l.noteReason(listedExactly, l.exact)
	return nil
}

// limit returns how many items the list may have, 0 for any number. A list at resourceVersion 0 has no limit.
func (l *listing) limit() int64 {
	if l.opts.ResourceVersion == "0" {
		return 0
	}
	return l.opts.Predicate.Limit
}

// checkedBytes is the part of a list that is checked before its first byte is sent. An unreadable object in it is an
// error of the list. One behind it cuts the list off, as in a list that is read from etcd.
const checkedBytes = 2 << 20

// looksBetween is the number of objects between two checks whether the client is still connected.
const looksBetween = 256

// collect makes a list of the tree, and returns how many items it has. Those that can't be read may be among them if
// unreadable.
func (l *listing) collect(ctx context.Context, unreadable bool) (list *store.EncodedList, count int, err error) {
	var items []*object.Encoded
	pred, limit := &l.opts.Predicate, l.limit()
	everything := pred.Empty()
	if everything && limit == 0 && l.prefix == l.cacher.prefix && l.from == "" {
		items = make([]*object.Encoded, 0, l.tree.Len())
	}
	var lastKey string
	checked := 0
	hasMore, left := false, int64(0)
	l.each(func(i item) bool {
		if hasMore = limit > 0 && int64(len(items)) >= limit; hasMore {
			left++
			return everything // only then does anybody want to know how many are left
		}
		l.looked++
		selected := true
		if l.looked%looksBetween == 0 {
			if err = ctx.Err(); err != nil {
				return false
			}
		}
		if !everything {
			selected, err = l.cacher.selects(pred, i.obj)
		} else if checked < checkedBytes && !unreadable {
			checked += i.obj.Size()
			err = i.obj.Readable()
		}
		if err != nil {
			return false
		}
		if selected {
			items = append(items, i.obj)
		}
		lastKey = i.key
		return true
	})
	if err != nil {
		return nil, 0, err
	}
	list = &store.EncodedList{Revision: l.revision, Items: object.ItemsOf(items)}
	list.Continue, list.Remaining, err = store.PrepareContinueToken(lastKey, l.prefix, l.revision, limit+left, hasMore, l.opts)
	return list, len(items), err
}

// each visits the items of the list's range.
func (l *listing) each(visit func(item) bool) {
	if !l.opts.Recursive {
		if found, ok := l.tree.Get(item{key: l.prefix}); ok {
			visit(found)
		}
		return
	}
	ascend(l.tree, l.prefix, l.from, visit)
}

func (l *listing) fromStorage(ctx context.Context) (*store.EncodedList, error) {
	l.cacher.counts.fallbacks.Add(1)
	return l.cacher.config.Storage.ListEncoded(ctx, l.key, l.opts)
}

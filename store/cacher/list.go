package cacher

import (
	"context"
	"errors"
	"fmt"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// ListEncoded lists what opts select.
func (c *Cacher) ListEncoded(ctx context.Context, key string, opts store.ListOptions) (_ *store.EncodedList, err error) {
	ctx, step := trace.Start(ctx, trace.CacherList, key)
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
	why, err := l.moment(ctx)
	if err != nil {
		return nil, err
	}
	if l.tree == nil {
		step.Why(why + ": went to etcd")
		return l.fromStorage(ctx)
	}
	list, items, err := l.collect()
	if err != nil {
		step.Why("the cache can't read an object: went to etcd, which says why")
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
		step.Whyf("%s: served %d items from the cache's snapshot at %d", why, items, list.Revision)
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

	// exact is the one revision that the list may be of, 0 if a later one will do. from is the key that a page begins at, ""
	// for the first page.
	exact int64
	from  string

	tree     *tree
	revision int64
	looked   int
}

// moment finds the state that the list shows, and says why it is that one. It leaves the tree nil if etcd must be asked.
func (l *listing) moment(ctx context.Context) (why string, err error) {
	c := l.cacher
	if state := c.state.get().State; state == Uninitialized || state == Refilling {
		return fmt.Sprintf("the cache is %s", state), nil
	}
	latest := l.opts.ResourceVersion == "" && l.exact == 0
	switch {
	case latest:
		return l.latest(ctx)
	case l.exact > 0:
		return l.atExactly(ctx)
	}
	minimum, err := c.parseRevision(l.opts.ResourceVersion)
	if err != nil {
		return "", err
	}
	l.tree, l.revision, err = c.watchCache.WaitUntilFreshAndGetList(ctx, minimum)
	var late notSeen
	if errors.As(err, &late) {
		return fmt.Sprintf("resourceVersion %d: the cache is at %d and does not get on", minimum, late.seen), c.tooLarge(ctx, minimum)
	}
	if minimum == 0 {
		return "resourceVersion 0: whatever the cache has", err
	}
	return fmt.Sprintf("resourceVersion %d: at least that new", minimum), err
}

// latest asks etcd for its revision, and takes the state when the cache has seen that.
func (l *listing) latest(ctx context.Context) (why string, err error) {
	c := l.cacher
	defer func() { c.metrics.ConsistentRead(l.tree == nil, err) }()
	if state := c.state.get().State; state != Fresh {
		return fmt.Sprintf("resourceVersion unset, and the cache is %s", state), nil
	}
	seen := c.watchCache.revision.Load()
	revision, shared, err := c.revisions.revision(ctx)
	if err != nil {
		return "", err
	}
	if revision < seen {
		return fmt.Sprintf("etcd is at %d, and the cache had seen %d: it is filled again", revision, seen), nil
	}
	seen = c.watchCache.revision.Load()
	l.tree, l.revision, err = c.watchCache.WaitUntilFreshAndGetList(ctx, revision)
	var late notSeen
	if errors.As(err, &late) {
		return fmt.Sprintf("resourceVersion unset: etcd is at %d, the cache at %d and does not get on", revision, late.seen), nil
	}
	if err != nil || !l.step.Recording() {
		return "", err
	}
	why = fmt.Sprintf("resourceVersion unset: etcd is at %d, so is the cache", revision)
	if seen < revision {
		why = fmt.Sprintf("resourceVersion unset: etcd is at %d, the cache was at %d and caught up", revision, seen)
	}
	if shared {
		why += " (asked together with others)"
	}
	return why, nil
}

// atExactly takes the state at the exact revision, when the cache has seen that.
func (l *listing) atExactly(ctx context.Context) (why string, err error) {
	c := l.cacher
	why = fmt.Sprintf("revision %d is wanted", l.exact)
	if l.exact < c.config.Storage.CompactRevision() {
		return why + ", and that has been compacted", nil
	}
	err = c.watchCache.waitUntilFresh(ctx, l.exact)
	var late notSeen
	if errors.As(err, &late) {
		return fmt.Sprintf("%s, and the cache is at %d and does not get on", why, late.seen), c.tooLarge(ctx, l.exact)
	}
	if err != nil {
		return "", err
	}
	if l.tree = c.watchCache.getExact(l.exact); l.tree == nil {
		return why + ", and the cache has forgotten what happened since", nil
	}
	l.revision = l.exact
	return why, nil
}

// limit returns how many items the list may have, 0 for any number. A list at resourceVersion 0 has no limit.
func (l *listing) limit() int64 {
	if l.opts.ResourceVersion == "0" {
		return 0
	}
	return l.opts.Predicate.Limit
}

// checkedBytes is how much of a list is checked before its first byte is sent. An unreadable object in it is an error of the
// list. One behind it cuts the list off, as in a list that is read from etcd.
const checkedBytes = 2 << 20

// collect makes a list of the tree, and returns how many items it has.
func (l *listing) collect() (list *store.EncodedList, count int, err error) {
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
		if !everything {
			selected, err = l.cacher.selects(pred, i.obj)
		} else if checked < checkedBytes {
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

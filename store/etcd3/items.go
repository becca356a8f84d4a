package etcd3

import (
	"context"
	"iter"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// heldBytes bounds the head of a list, which is kept in memory. The items after it are read while the consumer takes
// them.
const heldBytes = 2 << 20

// ListEncoded holds the head of a list, and reads the rest while the consumer takes it. With a selector it decodes
// the objects as far as the selector needs.
func (s *store) ListEncoded(ctx context.Context, key string, opts storage.ListOptions) (_ *storage.EncodedList, err error) {
	prefix, err := s.prepareKey(key, opts.Recursive)
	if err != nil {
		return nil, err
	}
	begin := &listHead{store: s, pred: opts.Predicate, unreadable: storage.HasUnreadable(ctx)}
	list := &storage.EncodedList{}
	err = s.list(ctx, prefix, opts, begin, func(revision int64, token string, remaining *int64) error {
		list.Revision, list.Continue, list.Remaining = revision, token, remaining
		return nil
	})
	if err != nil {
		return nil, err
	}
	list.Items = object.ItemsOf(begin.items)
	if begin.rest != "" {
		list.Items = (&longList{listHead: begin, prefix: prefix, revision: list.Revision}).items
	}
	return list, nil
}

// listHead is the first items of a list: all of them, unless they are too large together.
type listHead struct {
	store *store
	pred  storage.SelectionPredicate
	// unreadable says that objects that can't be read are items too.
	unreadable bool
	items      []*object.Encoded
	bytes      int
	// rest is the key of the first item that is not held, "" if all are.
	rest string
	// selected counts the list's items among the objects read so far: up to its limit, or to rest.
	selected  int
	evaluated int
	errors    corruptObjErrAggregator
}

func (l *listHead) len() int     { return l.selected }
func (l *listHead) seen() int    { return l.evaluated }
func (l *listHead) err() error   { return l.errors.aggregate() }
func (l *listHead) expect(n int) {}
func (l *listHead) full() bool   { return l.pred.Limit > 0 && int64(l.selected) >= l.pred.Limit }

// enough reports whether the head is complete. Later items are selected when they are taken. A list with a limit
// reads on, since it must know where it ends.
func (l *listHead) enough() bool { return l.pred.Limit == 0 && l.rest != "" }

func (l *listHead) add(ctx context.Context, kv *mvccpb.KeyValue) error {
	if l.enough() {
		return nil
	}
	if ctx.Err() != nil {
		return timeoutError(kv.Key)
	}
	obj := l.store.transient(ctx, kv)
	l.evaluated++
	matched, err := l.selects(obj)
	if err != nil {
		if l.errors.add(string(kv.Key), err) {
			return l.errors.aggregate()
		}
		return nil
	}
	if !matched {
		return nil
	}
	if l.bytes += obj.StoredSize(); l.bytes > heldBytes && len(l.items) > 0 && l.rest == "" {
		l.rest = string(kv.Key)
	}
	if l.rest == "" {
		l.items = append(l.items, obj)
	}
	if !l.enough() {
		l.selected++
	}
	return nil
}

// longList is a list that is longer than its head.
type longList struct {
	*listHead
	prefix   string
	revision int64
}

// items yields the head and then the rest, which it reads.
func (f *longList) items(ctx context.Context) iter.Seq2[runtime.Object, error] {
	return func(yield func(runtime.Object, error) bool) {
		for _, item := range f.listHead.items {
			if !yield(item, nil) {
				return
			}
		}
		cost := metrics.ListCost{}
		defer func() { f.store.metrics.ListRest(cost) }()
		f.read(ctx, &cost, yield)
	}
}

// read yields the items after the head.
func (f *longList) read(ctx context.Context, cost *metrics.ListCost, yield func(runtime.Object, error) bool) {
	left := f.selected - len(f.listHead.items) // of a list with a limit
	pager := f.store.pages.pager()
	unshown := trace.WithoutRecording(ctx)
	for from := f.rest; ; {
		page, err := f.store.kv.list(ctx, f.prefix, kubernetes.ListOptions{Revision: f.revision, Limit: pager.limit, Continue: from})
		if err != nil {
			yield(nil, f.store.listError(ctx, err, f.revision, false, "", f.prefix))
			return
		}
		pager.observe(page.Kvs)
		cost.Fetched += len(page.Kvs)
		for i, kv := range page.Kvs {
			if f.pred.Limit > 0 && left == 0 {
				return
			}
			from = string(kv.Key) + "\x00"
			if ctx.Err() != nil {
				yield(nil, timeoutError(kv.Key))
				return
			}
			obj, matched, err := f.item(unshown, kv)
			page.Kvs[i] = nil // what is done need not stay in memory
			cost.Evaluated++
			if err != nil {
				yield(nil, err)
				return
			}
			if !matched {
				continue
			}
			left--
			cost.Returned++
			if !yield(obj, nil) {
				return
			}
		}
		if int64(len(page.Kvs)) >= page.Count {
			return
		}
		if len(page.Kvs) == 0 {
			yield(nil, errNothingFound)
			return
		}
	}
}

// item is a stored object, and whether it is selected. One that can't be read fails as a list of it does.
func (f *longList) item(ctx context.Context, kv *mvccpb.KeyValue) (*object.Encoded, bool, error) {
	obj := f.store.transient(ctx, kv)
	matched, err := f.selects(obj)
	if err == nil {
		return obj, matched, nil
	}
	var failed corruptObjErrAggregator
	failed.add(string(kv.Key), err)
	return nil, false, failed.aggregate()
}

// selects reports whether the list has obj. An object that the predicate can't evaluate is not selected; an
// unreadable one is an error.
func (l *listHead) selects(obj *object.Encoded) (bool, error) {
	pred := &l.pred
	if l.unreadable && pred.Empty() {
		return true, nil
	}
	if err := obj.Readable(); err != nil || pred.Empty() {
		return true, err
	}
	decoded, err := obj.Object()
	if err != nil {
		return false, err
	}
	matched, err := pred.Matches(decoded)
	return err == nil && matched, nil
}

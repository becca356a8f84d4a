package etcd3

import (
	"context"
	"fmt"
	"math"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
	"github.com/kx-apiserver/kx/store/transform"
)

// GetList is ListEncoded and a decoding.
func (s *store) GetList(ctx context.Context, key string, opts storage.ListOptions, listObj runtime.Object) error {
	list, err := s.ListEncoded(ctx, key, opts)
	if err != nil {
		return err
	}
	return list.Into(ctx, s.versioner, listObj)
}

// list reads the head of what opts select at prefix. The list that it returns has no items yet.
func (s *store) list(ctx context.Context, prefix string, opts storage.ListOptions, head *listHead) (_ *storage.EncodedList, err error) {
	ctx, step := trace.Start(ctx, trace.Etcd3List, prefix)
	defer step.End(&err)
	noteListOptions(step, opts)
	revision, continueKey, err := storage.ValidateListOptions(prefix, s.versioner, opts)
	if err != nil {
		return nil, err
	}
	l := listing{
		store: s, prefix: prefix, opts: opts, head: head,
		revision: revision, continueKey: continueKey, limit: opts.Predicate.Limit, count: -1, pager: s.pages.pager(),
	}
	if l.limit == 0 {
		l.limit = math.MaxInt64
	}
	start := time.Now()
	err = l.run(ctx)
	cost := metrics.ListCost{Fetched: l.fetched, Evaluated: head.evaluated, Returned: head.selected}
	s.metrics.List(cost, start)
	l.describe(step, cost)
	if err != nil {
		return nil, err
	}
	token, remaining, err := storage.PrepareContinueToken(string(l.lastKey), prefix, l.revision, l.count, l.hasMore, opts)
	if err != nil {
		return nil, err
	}
	if err := head.errors.aggregate(); err != nil {
		return nil, err
	}
	return &storage.EncodedList{Revision: l.revision, Continue: token, Remaining: remaining}, nil
}

func noteListOptions(step *trace.Step, opts storage.ListOptions) {
	noteText(step, "resourceVersion", opts.ResourceVersion)
	noteText(step, "resourceVersionMatch", string(opts.ResourceVersionMatch))
	noteText(step, "continue", opts.Predicate.Continue)
	if opts.Predicate.Limit > 0 {
		step.Int("limit", opts.Predicate.Limit)
	}
	if step.Recording() && !opts.Predicate.Empty() {
		noteText(step, "labels", selectorText(opts.Predicate.Label))
		noteText(step, "fields", selectorText(opts.Predicate.Field))
	}
}

func selectorText(selector fmt.Stringer) string {
	if selector == nil {
		return ""
	}
	return selector.String()
}

// listing is one call of list: page after page of etcd's, until it has what was asked for.
type listing struct {
	store  *store
	prefix string
	opts   storage.ListOptions
	head   *listHead

	// revision is what all pages are read at; 0 before the first one if that is the latest.
	revision    int64
	continueKey string
	// limit is how many keys are wanted next. They may take several pages.
	limit int64
	pager *pager

	fetched int
	pages   int64
	lastKey []byte
	// count is how many keys there were from the start of the first page on.
	count   int64
	hasMore bool
}

func (l *listing) run(ctx context.Context) error {
	for {
		page, err := l.read(ctx)
		if err != nil {
			return err
		}
		pageHasMore := int64(len(page.Kvs)) < page.Count
		full, err := l.take(ctx, page.Kvs)
		if err != nil {
			return err
		}
		l.hasMore = (pageHasMore || full) && l.opts.Predicate.Limit > 0
		if full || !pageHasMore || l.head.full() || l.head.enough() {
			return nil
		}
		l.continueKey = string(l.lastKey) + "\x00"
		if l.opts.Predicate.Empty() {
			l.limit -= int64(len(page.Kvs))
		} else {
			// The selector lets few objects through. Larger pages ask etcd less often.
			l.limit = max(l.limit, min(l.limit, maxLimit/2)*2)
		}
	}
}

// read asks etcd for the next page.
func (l *listing) read(ctx context.Context) (page kubernetes.ListResponse, err error) {
	if l.opts.Recursive {
		page, err = l.store.kv.list(ctx, l.prefix,
			kubernetes.ListOptions{Revision: l.revision, Limit: min(l.limit, l.pager.limit), Continue: l.continueKey})
	} else {
		page, err = l.store.getAsList(ctx, l.prefix, l.revision)
	}
	if err != nil {
		continued := l.opts.Predicate.Continue != ""
		return page, l.store.listError(ctx, err, l.revision, continued, l.continueKey, l.prefix)
	}
	l.pages++
	l.fetched += len(page.Kvs)
	l.pager.observe(page.Kvs)
	if l.count < 0 {
		l.count = page.Count
	}
	if l.revision == 0 {
		if err := l.store.validateMinimumResourceVersion(l.opts.ResourceVersion, uint64(page.Revision)); err != nil {
			return page, err
		}
		l.revision = page.Revision
	}
	if len(page.Kvs) == 0 && page.Count > 0 {
		return page, errNothingFound
	}
	if estimator := l.store.estimator.Load(); estimator != nil {
		estimator.update(page.Kvs...)
	}
	return page, nil
}

// getAsList reads one key in the form of a page.
func (s *store) getAsList(ctx context.Context, key string, revision int64) (page kubernetes.ListResponse, err error) {
	resp, err := s.kv.get(ctx, metrics.OperationGet, key, revision)
	if err != nil {
		return page, err
	}
	page.Revision = resp.Revision
	if resp.KV != nil {
		page.Kvs, page.Count = []*mvccpb.KeyValue{resp.KV}, 1
	}
	return page, nil
}

// take adds the objects of a page until the list is full.
func (l *listing) take(ctx context.Context, kvs []*mvccpb.KeyValue) (full bool, err error) {
	shown, unshown := ctx, trace.Unrecorded(ctx)
	for i, kv := range kvs {
		if l.head.full() {
			return true, nil
		}
		l.lastKey = kv.Key
		if l.head.evaluated > 0 {
			shown = unshown // the others are read like the first one
		}
		if err := l.head.add(shown, kv); err != nil {
			return false, err
		}
		// A long list takes seconds to decode: what is done need not stay in memory.
		kvs[i] = nil
	}
	return false, nil
}

func (l *listing) describe(step *trace.Step, cost metrics.ListCost) {
	if !step.Recording() {
		return
	}
	step.Int("revision", l.revision)
	step.Int("pages", l.pages)
	step.Int("fetched", int64(cost.Fetched))
	step.Int("returned", int64(cost.Returned))
	switch {
	case l.pages > 1:
		step.Why(trace.ReadPages, int64(l.pages), int64(cost.Returned), int64(cost.Fetched))
	case cost.Evaluated > 1:
		step.Why(trace.ReadAlike, int64(cost.Evaluated))
	}
}

// read fills obj with a stored object. Of many that are read alike one is traced: quiet leaves out the steps. Errors name
// the key.
func (s *store) read(ctx context.Context, kv *mvccpb.KeyValue, obj runtime.Object, quiet bool) error {
	if quiet {
		data, _, err := s.transformer.TransformFromStorage(ctx, kv.Value, transform.DefaultContext(kv.Key))
		if err != nil {
			return transformError(kv.Key, err)
		}
		if err := s.decoder.Decode(data, obj, kv.ModRevision); err != nil {
			s.metrics.DecodeError()
			return decodeError(kv.Key, err)
		}
		return nil
	}
	key := string(kv.Key)
	data, _, err := s.transformFromStorage(ctx, key, kv.Value, transform.DefaultContext(kv.Key))
	if err != nil {
		return err
	}
	return s.decode(ctx, key, data, obj, kv.ModRevision)
}

func transformError[K string | []byte](key K, err error) error {
	return storage.NewInternalError(fmt.Errorf("unable to transform key %q: %w", key, err))
}

func decodeError[K string | []byte](key K, err error) error {
	return fmt.Errorf("unable to decode key %q: %w", key, err)
}

package etcd3

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
	"github.com/kx-apiserver/kx/store/transform"
)

// GetList decodes each object in its place in listObj.
func (s *store) GetList(ctx context.Context, key string, opts storage.ListOptions, listObj runtime.Object) (err error) {
	prefix, err := s.prepareKey(key, opts.Recursive)
	if err != nil {
		return err
	}
	items, err := s.newListItems(listObj)
	if err != nil {
		return err
	}
	items.pred = opts.Predicate
	return s.list(ctx, prefix, opts, items, func(revision int64, token string, remaining *int64) error {
		items.neverNil()
		return s.versioner.UpdateList(listObj, uint64(revision), token, remaining)
	})
}

// collector receives the objects of a list.
type collector interface {
	// full reports whether it has all requested objects, enough whether the rest need not be read now. expect makes
	// room for n objects more, if all of them will be kept.
	full() bool
	enough() bool
	expect(n int)
	// add keeps the object that kv is if it is selected. One that can't be read is kept as an error, until there are
	// too many of them.
	add(ctx context.Context, kv *mvccpb.KeyValue) error
	// len counts the kept objects, seen those that were checked. err returns the error of unreadable ones.
	len() int
	seen() int
	err() error
}

// list passes the selected objects at prefix to items, and the totals of the list to done.
func (s *store) list(ctx context.Context, prefix string, opts storage.ListOptions, items collector,
	done func(revision int64, token string, remaining *int64) error) (err error) {
	ctx, step := trace.Start(ctx, steps.Etcd3List, prefix)
	defer step.End(&err)
	noteListOptions(step, opts)
	revision, continueKey, err := storage.ValidateListOptions(prefix, s.versioner, opts)
	if err != nil {
		return err
	}
	l := listing{
		store: s, prefix: prefix, opts: opts, items: items,
		revision: revision, continueKey: continueKey, limit: opts.Predicate.Limit, count: -1, pager: s.pages.pager(),
	}
	if l.limit == 0 {
		l.limit = math.MaxInt64
	}
	start := time.Now()
	err = l.run(ctx)
	cost := metrics.ListCost{Fetched: l.fetched, Evaluated: items.seen(), Returned: items.len()}
	s.metrics.List(cost, start)
	l.describe(step, cost)
	if err != nil {
		return err
	}
	token, remaining, err := storage.PrepareContinueToken(string(l.lastKey), prefix, l.revision, l.count, l.hasMore, opts)
	if err != nil {
		return err
	}
	if err := items.err(); err != nil {
		return err
	}
	return done(l.revision, token, remaining)
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

// listing is one call of GetList: it reads page after page of etcd's, until it has all requested objects.
type listing struct {
	store  *store
	prefix string
	opts   storage.ListOptions
	items  collector

	// revision is the revision of all pages; 0 before the first one if the list is to be the latest.
	revision    int64
	continueKey string
	// limit is the number of keys to read next. They may take several pages.
	limit int64
	pager *pager

	fetched int
	pages   int64
	lastKey []byte
	// count counts the keys from the start of the first page on.
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
		if full || !pageHasMore || l.items.full() || l.items.enough() {
			return nil
		}
		l.continueKey = string(l.lastKey) + "\x00"
		if l.opts.Predicate.Empty() {
			l.limit -= int64(len(page.Kvs))
		} else {
			// The selector matches few objects. Larger pages take fewer requests to etcd.
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
	l.items.expect(len(kvs))
	shown, unshown := ctx, trace.WithoutRecording(ctx)
	for i, kv := range kvs {
		if l.items.full() {
			return true, nil
		}
		l.lastKey = kv.Key
		if l.items.seen() > 0 {
			shown = unshown // the others are read like the first one
		}
		if err := l.items.add(shown, kv); err != nil {
			return false, err
		}
		// A long list takes seconds to decode: decoded values need not stay in memory.
		kvs[i] = nil
	}
	return false, nil
}

var (
	readPages = trace.Because("read-pages",
		"{pages} pages: {returned} of {fetched} objects are in the list",
		"{pages} 页：读到 {fetched} 个对象，列表中有 {returned} 个")
	readAlike = trace.Because("read-alike",
		"all {objects} objects were read like the first one, whose steps are here",
		"{objects} 个对象的读法都与第一个相同，这里是第一个的步骤")
)

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
		step.Why(readPages, int64(l.pages), int64(cost.Returned), int64(cost.Fetched))
	case cost.Evaluated > 1:
		step.Why(readAlike, int64(cost.Evaluated))
	}
}

// listItems is the items of a list as it fills.
type listItems struct {
	store *store
	pred  storage.SelectionPredicate
	// values is the list's slice of objects. An object is decoded in its place.
	values reflect.Value
	// apiVersion is set on an unstructured object before it is decoded, if the list has one.
	apiVersion string
	evaluated  int
	errors     corruptObjErrAggregator
}

// newListItems returns the items of listObj.
func (s *store) newListItems(listObj runtime.Object) (*listItems, error) {
	ptr, err := meta.GetItemsPtr(listObj)
	if err != nil {
		return nil, err
	}
	values, err := conversion.EnforcePtr(ptr)
	if err != nil || values.Kind() != reflect.Slice {
		return nil, fmt.Errorf("need ptr to slice: the items of %T are %T", listObj, ptr)
	}
	if !reflect.PointerTo(values.Type().Elem()).Implements(reflect.TypeFor[runtime.Object]()) {
		return nil, fmt.Errorf("the items of %T are no objects", listObj)
	}
	items := &listItems{store: s, values: values}
	if list, ok := listObj.(*unstructured.UnstructuredList); ok {
		items.apiVersion = list.GetAPIVersion()
	}
	return items, nil
}

func (l *listItems) len() int   { return l.values.Len() }
func (l *listItems) seen() int  { return l.evaluated }
func (l *listItems) err() error { return l.errors.aggregate() }

// full reports whether the list has reached its limit.
func (l *listItems) full() bool { return l.pred.Limit > 0 && int64(l.values.Len()) >= l.pred.Limit }

// enough is never: all objects are decoded now.
func (l *listItems) enough() bool { return false }

// expect makes room for n objects more, if all of them will be in the list.
func (l *listItems) expect(n int) {
	if !l.pred.Empty() {
		return
	}
	if l.pred.Limit > 0 {
		n = min(n, int(l.pred.Limit)-l.values.Len())
	}
	l.values.Grow(n)
}

// add decodes an object and keeps it if it is selected. An object that can't be read is kept as an error, until there
// are too many of them.
func (l *listItems) add(ctx context.Context, kv *mvccpb.KeyValue) error {
	if ctx.Err() != nil {
		return timeoutError(kv.Key)
	}
	n := l.values.Len()
	l.values.Grow(1)
	l.values.SetLen(n + 1)
	slot := l.values.Index(n)
	obj := slot.Addr().Interface().(runtime.Object)
	if u, ok := obj.(*unstructured.Unstructured); ok && l.apiVersion != "" {
		u.Object = map[string]any{"apiVersion": l.apiVersion}
	}
	err := l.store.read(ctx, kv, obj, l.evaluated > 0)
	if err == nil {
		l.evaluated++
		// An object that a predicate can't evaluate is not selected.
		if matched, err := l.pred.Matches(obj); err == nil && matched {
			return nil
		}
	}
	slot.SetZero()
	l.values.SetLen(n)
	if err != nil && l.errors.add(string(kv.Key), err) {
		return l.errors.aggregate()
	}
	return nil
}

// neverNil makes an empty list's items a slice, which encodes as [].
func (l *listItems) neverNil() {
	if l.values.IsNil() {
		l.values.Set(reflect.MakeSlice(l.values.Type(), 0, 0))
	}
}

// read fills obj with a stored object. Of many that are read alike one is traced: quiet leaves out the steps. Errors
// name the key.
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

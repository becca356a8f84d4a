package etcd3

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
)

func (s *store) Watch(ctx context.Context, key string, opts storage.ListOptions) (_ watch.Interface, err error) {
	key, err = s.prepareKey(key, opts.Recursive)
	if err != nil {
		return nil, err
	}
	ctx, step := trace.Start(ctx, steps.Etcd3Watch, key)
	defer step.End(&err)
	noteText(step, "resourceVersion", opts.ResourceVersion)
	parsed, err := s.versioner.ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	wc := &watchChan{
		store:     s,
		key:       key,
		revision:  int64(min(parsed, math.MaxInt64-1)),
		recursive: opts.Recursive,
		progress:  opts.ProgressNotify,
		pred:      opts.Predicate,
		results:   make(chan watch.Event),
	}
	if err := wc.plan(ctx, step, opts); err != nil {
		return nil, err
	}
	wc.ctx, wc.cancel = context.WithCancel(trace.Fork(ctx))
	go wc.run()
	return wc, nil
}

// watchChan is a watch: one goroutine from etcd's events to the watcher's.
type watchChan struct {
	store     *store
	key       string
	recursive bool
	progress  bool
	pred      storage.SelectionPredicate

	// revision is the last revision that the watcher knows. At first it comes from the client, or is that of the
	// initial state; then it is that of the present event.
	revision int64
	// initialEvents: the watch sends the present state first. initialBookmark: a bookmark ends that state.
	initialEvents, initialBookmark bool

	ctx     context.Context
	cancel  context.CancelFunc
	results chan watch.Event

	// page holds initial events that are read and not sent. feed delivers the changes after them.
	page []*mvccpb.KeyValue
	feed *feed
}

var (
	changesFromState = trace.Because("changes-from-state",
		"initial events were asked for: the present state, then its changes",
		"要求初始事件：先给出当前状态，再给出之后的变更")
	changesFromRevision = trace.Because("changes-from-revision",
		"a resourceVersion was given: the changes after it",
		"指定了 resourceVersion：它之后的变更")
	changesFromAny = trace.Because("changes-from-any",
		"resourceVersion unset or 0: the present state, then its changes",
		"没有指定 resourceVersion 或为 0：先给出当前状态，再给出之后的变更")
	changesFromNow = trace.Because("changes-from-now",
		"resourceVersion unset or 0 and no initial events wanted: the changes from now on",
		"没有指定 resourceVersion 或为 0，且不要初始事件：从现在起的变更")
)

// plan decides where the watch begins, by the options and the revision that the watcher knows.
func (wc *watchChan) plan(ctx context.Context, step *trace.Step, opts storage.ListOptions) error {
	switch {
	case opts.SendInitialEvents != nil && *opts.SendInitialEvents:
		step.Why(changesFromState)
		wc.initialEvents, wc.initialBookmark = true, opts.Predicate.AllowWatchBookmarks
	case wc.revision > 0:
		step.Why(changesFromRevision)
	case opts.SendInitialEvents == nil:
		step.Why(changesFromAny)
		wc.initialEvents = true
	default:
		step.Why(changesFromNow)
		current, err := wc.store.GetCurrentResourceVersion(ctx)
		if err != nil {
			return err
		}
		wc.revision = int64(current)
	}
	return nil
}

func (wc *watchChan) Stop() { wc.cancel() }

func (wc *watchChan) ResultChan() <-chan watch.Event { return wc.results }

// RequestWatchProgress asks for a bookmark at etcd's revision.
func (wc *watchChan) RequestWatchProgress() error { return wc.store.kv.requestProgress(wc.ctx) }

// run sends what there is to send until the watch ends, for whatever reason.
func (wc *watchChan) run() {
	defer close(wc.results)
	defer wc.cancel()
	err := wc.send()
	// A watcher that has left, or whose time is over, gets no error.
	if err == nil || wc.ctx.Err() != nil || isCancelError(err) {
		return
	}
	wc.emit(watch.Event{Type: watch.Error, Object: errorStatus(err)})
}

// errorStatus is err as the object of an ERROR event.
func errorStatus(err error) runtime.Object {
	var status apierrors.APIStatus
	if err = interpretWatchError(err); !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	s := status.Status()
	return &s
}

// emit gives an event to the watcher, and says whether the watch goes on. It holds little for a watcher that is not
// ready.
func (wc *watchChan) emit(event watch.Event) bool {
	select {
	case wc.results <- event:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		var more clientv3.WatchChan
		if wc.feed != nil {
			more = wc.feed.responses
		}
		select {
		case wc.results <- event:
			return true
		case <-wc.ctx.Done():
			return false
		case resp, ok := <-more:
			wc.feed.add(resp, ok)
		case <-timer.C:
			wc.page = nil
			if wc.feed != nil {
				wc.feed.cut(wc.revision)
			}
		}
	}
}

func (wc *watchChan) send() error {
	if wc.initialEvents {
		if err := wc.checkRevision(); err != nil {
			return err
		}
		if err := wc.sync(); err != nil {
			return err
		}
	}
	if wc.initialBookmark {
		if err := wc.bookmark(wc.revision, true); err != nil {
			return err
		}
	}
	return wc.follow()
}

// checkRevision refuses to send the state of a revision that does not exist yet.
func (wc *watchChan) checkRevision() error {
	if wc.revision == 0 {
		return nil
	}
	current, err := wc.store.GetCurrentResourceVersion(wc.ctx)
	if err != nil {
		return err
	}
	if uint64(wc.revision) > current {
		// Watchers that come back at different times do not come back all at once.
		retrySeconds := 1 + rand.IntN(3)
		return storage.NewTooLargeResourceVersionError(uint64(wc.revision), current, retrySeconds)
	}
	return nil
}

// sync sends an ADDED event for all there is, and sets the revision at which it was there.
func (wc *watchChan) sync() error {
	var revision int64
	var continueKey string
	pager := wc.store.pages.pager()
	for sent := 0; ; {
		page, err := wc.readPage(revision, pager.limit, continueKey)
		if err != nil {
			from := continueKey
			if from == "" {
				from = wc.key
			}
			return wc.store.listError(wc.ctx, err, revision, true, from, wc.key)
		}
		if len(page.Kvs) == 0 && page.Count > 0 {
			return errNothingFound
		}
		hasMore := int64(len(page.Kvs)) < page.Count
		pager.observe(page.Kvs)
		wc.page, page.Kvs = page.Kvs, nil
		for len(wc.page) > 0 {
			kv := wc.page[0]
			wc.page[0], wc.page = nil, wc.page[1:]
			last := len(wc.page) == 0
			continueKey = string(kv.Key) + "\x00"
			if err := wc.sendInitial(kv, sent > 0); err != nil {
				return err
			}
			sent++
			hasMore = hasMore || len(wc.page) == 0 && !last // the rest was thrown away
		}
		if revision == 0 {
			revision = page.Revision
		}
		if !hasMore {
			wc.revision = revision
			return nil
		}
	}
}

func (wc *watchChan) readPage(revision, limit int64, continueKey string) (kubernetes.ListResponse, error) {
	if !wc.recursive {
		return wc.store.getAsList(wc.ctx, wc.key, revision)
	}
	return wc.store.kv.list(wc.ctx, wc.key,
		kubernetes.ListOptions{Revision: revision, Limit: limit, Continue: continueKey})
}

// sendInitial sends an object of the initial state. Of many only the first is traced.
func (wc *watchChan) sendInitial(kv *mvccpb.KeyValue, quiet bool) error {
	obj := wc.store.newFunc()
	if err := wc.store.read(wc.ctx, kv, obj, quiet); err != nil {
		return err
	}
	if wc.selects(obj) && !wc.emit(watch.Event{Type: watch.Added, Object: obj}) {
		return wc.ctx.Err()
	}
	return nil
}

// follow sends the changes after wc.revision, until etcd ends the watch.
func (wc *watchChan) follow() error {
	for {
		ctx, stop := context.WithCancel(wc.ctx)
		wc.feed = &feed{stop: stop, responses: wc.store.kv.watch(ctx, wc.key, wc.revision+1, wc.recursive, wc.progress)}
		err := wc.sendFeed()
		stop()
		if err != nil || !wc.feed.behind {
			return err
		}
	}
}

// sendFeed sends the events of one watch of etcd.
func (wc *watchChan) sendFeed() error {
	for {
		resp, ok := wc.feed.next()
		if !ok {
			return nil
		}
		if err := resp.Err(); err != nil {
			return err
		}
		if resp.IsProgressNotify() {
			wc.store.metrics.Bookmark()
			wc.revision = resp.Header.Revision
			if err := wc.bookmark(resp.Header.Revision, false); err != nil {
				return err
			}
			continue
		}
		wc.feed.rest, resp.Events = resp.Events, nil
		for len(wc.feed.rest) > 0 {
			if err := wc.change(wc.feed.nextEvent()); err != nil {
				return err
			}
		}
	}
}

// change sends an event of etcd.
func (wc *watchChan) change(e *clientv3.Event) error {
	wc.store.metrics.Event()
	wc.revision = e.Kv.ModRevision
	event, err := wc.transform(e)
	if err != nil {
		return err
	}
	*e = clientv3.Event{} // its values are in the object
	if event.Type != "" && !wc.emit(event) {
		return wc.ctx.Err()
	}
	return nil
}

// bookmark tells the watcher that it has seen all changes up to a revision.
func (wc *watchChan) bookmark(revision int64, initialEventsEnd bool) error {
	obj := wc.store.newFunc()
	if err := wc.store.versioner.UpdateObject(obj, uint64(revision)); err != nil {
		return fmt.Errorf("failed to propagate object resource version: %w", err)
	}
	if initialEventsEnd {
		if err := storage.AnnotateInitialEventsEndBookmark(obj); err != nil {
			return fmt.Errorf("cannot annotate a bookmark of %s: %w", wc.store.groupResource, err)
		}
	}
	wc.emit(watch.Event{Type: watch.Bookmark, Object: obj})
	return nil
}

var eventNotSelected = trace.Because("event-not-selected",
	"not selected, neither before nor now",
	"变更前后都没有被选中")

// transform turns an event of etcd into the watcher's. An event without a type is not for this watcher.
func (wc *watchChan) transform(e *clientv3.Event) (event watch.Event, err error) {
	key := string(e.Kv.Key)
	ctx, step := trace.Start(wc.ctx, steps.Etcd3Event, key)
	defer step.End(&err)
	step.Int("revision", e.Kv.ModRevision)
	if estimator := wc.store.estimator.Load(); estimator != nil {
		estimator.observe(e)
	}
	prev, err := wc.store.previous(ctx, e)
	switch {
	case err != nil:
		return event, err
	case e.Type == clientv3.EventTypeDelete:
		event, err = wc.deleteEvent(ctx, e, prev.Value)
	default:
		event, err = wc.put(ctx, e, prev)
	}
	if event.Type == "" && err == nil {
		step.Why(eventNotSelected)
	}
	noteText(step, "type", string(event.Type))
	return event, err
}

// deleteEvent makes an event of a deletion: the last state of the object, at the revision of its deletion.
func (wc *watchChan) deleteEvent(ctx context.Context, e *clientv3.Event, value []byte) (watch.Event, error) {
	obj, err := wc.object(ctx, e, value)
	if err != nil {
		var corrupt *CorruptObjectError
		if errors.As(err, &corrupt) {
			return watch.Event{}, &corruptObjectDeletedError{err: corrupt}
		}
		return watch.Event{}, err
	}
	if !wc.selects(obj) {
		return watch.Event{}, nil
	}
	return watch.Event{Type: watch.Deleted, Object: obj}, nil
}

// put makes an event of a write. To a watcher with a selector an object comes and goes as it is selected.
func (wc *watchChan) put(ctx context.Context, e *clientv3.Event, prev *mvccpb.KeyValue) (watch.Event, error) {
	obj, err := wc.object(ctx, e, e.Kv.Value)
	if err != nil {
		return watch.Event{}, err
	}
	selected := wc.selects(obj)
	if e.IsCreate() {
		if !selected {
			return watch.Event{}, nil
		}
		return watch.Event{Type: watch.Added, Object: obj}, nil
	}
	if wc.pred.Empty() {
		return watch.Event{Type: watch.Modified, Object: obj}, nil
	}
	old, err := wc.object(ctx, e, prev.Value)
	if err != nil {
		return watch.Event{}, err
	}
	switch wasSelected := wc.selects(old); {
	case selected && wasSelected:
		return watch.Event{Type: watch.Modified, Object: obj}, nil
	case selected:
		return watch.Event{Type: watch.Added, Object: obj}, nil
	case wasSelected:
		return watch.Event{Type: watch.Deleted, Object: old}, nil
	}
	return watch.Event{}, nil
}

// object makes an object of one of the values of an event, at the event's revision.
func (wc *watchChan) object(ctx context.Context, e *clientv3.Event, value []byte) (runtime.Object, error) {
	obj := wc.store.newFunc()
	kv := mvccpb.KeyValue{Key: e.Kv.Key, Value: value, ModRevision: e.Kv.ModRevision}
	return obj, wc.store.read(ctx, &kv, obj, false)
}

func (wc *watchChan) selects(obj runtime.Object) bool {
	matched, err := wc.pred.Matches(obj)
	return err == nil && matched
}

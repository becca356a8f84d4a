package cacher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for !condition() {
		if pause(ctx, time.Millisecond); ctx.Err() != nil {
			t.Fatalf("%s: that does not happen", what)
		}
	}
}

func watchFrom(t testing.TB, s store.Interface, resourceVersion string, change func(*store.ListOptions)) watch.Interface {
	t.Helper()
	opts := everything
	opts.ResourceVersion = resourceVersion
	if change != nil {
		change(&opts)
	}
	w, err := s.Watch(t.Context(), "/pandas/", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

func statusOf(t testing.TB, e watch.Event) *metav1.Status {
	t.Helper()
	status, ok := e.Object.(*metav1.Status)
	if e.Type != watch.Error || !ok {
		t.Fatalf("%s %v", e.Type, e.Object)
	}
	return status
}

func consistent(t testing.TB, r *rig) {
	t.Helper()
	report, err := r.cacher.CheckConsistency(t.Context())
	if err != nil || len(report.Differences) > 0 {
		t.Errorf("%v, %v", report, err)
	}
}

func TestTooOldAndTooNew(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	r := newRig(t, client, func(c *cacher.Config) {
		c.Limits = cacher.Limits{HistoryMin: 3, HistoryMax: 10, Wait: 50 * time.Millisecond}
	})
	old := r.create(t, "ns", "a", "red")
	first := r.update(t, "ns", "a", "red")
	if _, err := client.Compact(t.Context(), revisionOf(first)); err != nil {
		t.Fatal(err)
	}
	last := first
	for range 30 {
		last = r.update(t, "ns", "a", "red")
	}
	until(t, "the cache has seen all", func() bool {
		list(t, r.cached, everything)
		return r.cacher.Inspect().Revision >= revisionOf(last)
	})
	// What the history has forgotten and etcd has not is there.
	if e := next(t, watchFrom(t, r.cached, first.GetResourceVersion(), nil)); revisionOf(e.Object) != revisionOf(first)+1 {
		t.Errorf("a watch from before the history: %s", describe(e))
	}
	status := statusOf(t, next(t, watchFrom(t, r.cached, old.GetResourceVersion(), nil)))
	if want := fmt.Sprintf("too old resource version: %s (%s)", old.GetResourceVersion(), first.GetResourceVersion()); status.Code != http.StatusGone ||
		status.Reason != metav1.StatusReasonExpired || status.Message != want {
		t.Errorf("a watch from before what etcd has: %+v, want %s", status, want)
	}
	status = statusOf(t, next(t, watchFrom(t, r.cached, "999999999", nil)))
	if !apierrors.HasStatusCause(&apierrors.StatusError{ErrStatus: *status}, metav1.CauseTypeResourceVersionTooLarge) || status.Details.RetryAfterSeconds == 0 {
		t.Errorf("a watch from the future: %+v", status)
	}
	err := r.cached.Get(t.Context(), key("ns", "a"), store.GetOptions{ResourceVersion: "999999999"}, &unstructured.Unstructured{})
	if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("a GET from the future: %v", err)
	}
	for _, match := range []metav1.ResourceVersionMatch{"", metav1.ResourceVersionMatchNotOlderThan, metav1.ResourceVersionMatchExact} {
		opts := everything
		opts.ResourceVersion, opts.ResourceVersionMatch = "999999999", match
		err := r.cached.GetList(t.Context(), "/pandas/", opts, &unstructured.UnstructuredList{})
		if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) || !ok || seconds == 0 {
			t.Errorf("a LIST from the future, %q: %v, again in %d s", match, err, seconds)
		}
	}
	opts := everything
	// An exact revision that the cache has forgotten is etcd's to answer.
	opts.ResourceVersion, opts.ResourceVersionMatch = first.GetResourceVersion(), metav1.ResourceVersionMatchExact
	if got := list(t, r.cached, opts); got.GetResourceVersion() != first.GetResourceVersion() || got.Items[0].GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("exactly %s is %s", first.GetResourceVersion(), got.GetResourceVersion())
	}
}

// TestSlowWatcher has clients that read nothing while far more happens than the history holds: others don't notice, and they
// are told all of it by etcd's history, until that is compacted.
func TestSlowWatcher(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	r := newRig(t, client, func(c *cacher.Config) { c.Limits = cacher.Limits{HistoryMin: 10, HistoryMax: 100} })
	opts := everything
	opts.ResourceVersion = r.create(t, "ns", "a", "red").GetResourceVersion()
	var slow [2]watch.Interface
	for i := range slow {
		w, err := r.cached.WatchEncoded(t.Context(), "/pandas/", opts)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		slow[i] = w
	}
	fast := watchFrom(t, r.cached, opts.ResourceVersion, nil)
	const burst = 300
	done := make(chan int)
	go func() {
		n := 0
		for range fast.ResultChan() {
			if n++; n == burst {
				break
			}
		}
		done <- n
	}()
	var want []int64
	for range burst {
		want = append(want, revisionOf(r.update(t, "ns", "a", "red")))
	}
	if n := <-done; n != burst {
		t.Errorf("the fast watcher got %d events of %d", n, burst)
	}
	var got []int64
	for range want {
		got = append(got, next(t, slow[0]).Object.(*object.Encoded).Revision())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the slow watcher was told %v, want %v", got, want)
	}
	if _, err := client.Compact(t.Context(), want[burst-1]); err != nil {
		t.Fatal(err)
	}
	r.cacher.ForgetPast()
	n := 0
	for e := range slow[1].ResultChan() {
		if e.Type != watch.Error {
			if revision := e.Object.(*object.Encoded).Revision(); revision != want[n] {
				t.Errorf("event %d is of %d, want %d", n, revision, want[n])
			}
			n++
			continue
		}
		if status := e.Object.(*metav1.Status); status.Code != http.StatusGone || !strings.HasPrefix(status.Message, "too old resource version: ") {
			t.Errorf("%+v", status)
		}
	}
	if n == 0 || n == burst {
		t.Errorf("the slower watcher was told %d events", n)
	}
}

// TestSlowWatcherCatchesUp has one that stops reading for a while, within the history.
func TestSlowWatcherCatchesUp(t *testing.T) {
	r := shared(t, nil)
	opts := everything
	opts.ResourceVersion = r.create(t, "ns", "a", "red").GetResourceVersion()
	w, err := r.cached.WatchEncoded(t.Context(), "/pandas/", opts)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for round := range 3 {
		var want, got []int64
		for range 100 {
			want = append(want, revisionOf(r.update(t, "ns", "a", "red")))
		}
		last := want[len(want)-1]
		until(t, "the watcher is behind, and its queue full", func() bool {
			i := r.cacher.Inspect()
			seen := i.Watchers[0]
			return i.Revision >= last && seen.Behind && seen.Queued == seen.Buffer && seen.At < last && seen.Sent == int64(100*round+seen.Queued)
		})
		for range want {
			got = append(got, next(t, w).Object.(*object.Encoded).Revision())
		}
		if !slices.Equal(got, want) {
			t.Fatalf("round %d: %v, want %v", round, got, want)
		}
		until(t, "the watcher is live again", func() bool { return !r.cacher.Inspect().Watchers[0].Behind })
		if seen := r.cacher.Inspect().Watchers[0]; fmt.Sprint(seen.From) != opts.ResourceVersion || seen.At < last || seen.Sent != int64(100*(round+1)) || seen.Queued != 0 {
			t.Errorf("round %d, up to %d: %+v", round, last, seen)
		}
	}
}

func TestTransitionsAndTriggers(t *testing.T) {
	r := shared(t, nil)
	start := r.create(t, "ns", "a", "red").GetResourceVersion()
	byField := func(selector fields.Selector) func(*store.ListOptions) {
		return func(o *store.ListOptions) {
			o.Predicate.Field = selector
			o.Predicate.IndexFields = []string{"spec.color"}
		}
	}
	red := watchFrom(t, r.cached, start, byField(fields.OneTermEqualSelector("spec.color", "red")))
	blue := watchFrom(t, r.cached, start, byField(fields.OneTermEqualSelector("spec.color", "blue")))
	label := watchFrom(t, r.cached, start, func(o *store.ListOptions) { o.Predicate.Label = labels.SelectorFromSet(labels.Set{"color": "blue"}) })
	named := watchFrom(t, r.cached, start, byField(fields.OneTermEqualSelector("metadata.name", "b")))
	until(t, "all are live", func() bool {
		return !slices.ContainsFunc(r.cacher.Inspect().Watchers, func(w cacher.WatcherInfo) bool { return w.Behind })
	})
	r.update(t, "ns", "a", "blue")
	r.update(t, "ns", "a", "blue")
	r.create(t, "other", "b", "red")
	r.update(t, "ns", "a", "red")
	deleted := r.delete(t, "ns", "a")
	for name, c := range map[string]struct {
		w    watch.Interface
		want []string
	}{
		"red":   {red, []string{"DELETED ns/a", "ADDED other/b", "ADDED ns/a", "DELETED ns/a"}},
		"blue":  {blue, []string{"ADDED ns/a", "MODIFIED ns/a", "DELETED ns/a"}},
		"label": {label, []string{"ADDED ns/a", "MODIFIED ns/a", "DELETED ns/a"}},
		"named": {named, []string{"ADDED other/b"}},
	} {
		for i, want := range c.want {
			e := next(t, c.w)
			if got := describe(e); got != want {
				t.Errorf("%s: event %d is %s, want %s", name, i, got, want)
			}
			if e.Type == watch.Deleted && name == "red" && i == 3 && revisionOf(e.Object) != revisionOf(deleted) {
				t.Errorf("%s: deleted at %d, want %d", name, revisionOf(e.Object), revisionOf(deleted))
			}
		}
	}
}

func TestBookmarksAreFresh(t *testing.T) {
	r := shared(t, func(c *cacher.Config) { c.Limits.BookmarkPeriod = 100 * time.Millisecond })
	created := r.create(t, "ns", "a", "red")
	w := watchFrom(t, r.cached, created.GetResourceVersion(), func(o *store.ListOptions) { o.Predicate.AllowWatchBookmarks = true })
	quiet := watchFrom(t, r.cached, created.GetResourceVersion(), nil)
	other := shared(t, nil) // another resource of the same etcd
	later := other.create(t, "ns", "x", "red")
	for {
		e := next(t, w)
		if e.Type != watch.Bookmark {
			t.Fatalf("%s", describe(e))
		}
		if e.Object.(metav1.Object).GetAnnotations()[metav1.InitialEventsAnnotationKey] != "" {
			t.Error("a bookmark ends initial events that there were none of")
		}
		if revisionOf(e.Object) >= revisionOf(later) {
			break
		}
	}
	select {
	case e := <-quiet.ResultChan():
		t.Errorf("who did not ask for bookmarks got %s", describe(e))
	default:
	}
}

// TestCompactionBeneath compacts etcd while the cache has lost its watch: what happened meanwhile is gone, so the cache is
// filled again and watchers begin again. One whose watch was not lost notices nothing.
func TestCompactionBeneath(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	r, faults := newHeldRig(t, client)
	start := r.create(t, "ns", "a", "red").GetResourceVersion()
	w := watchFrom(t, r.cached, start, nil)
	compact := func() {
		now, err := client.Get(t.Context(), "/", clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Compact(t.Context(), now.Header.Revision); err != nil {
			t.Fatal(err)
		}
	}
	r.create(t, "ns", "b", "red")
	compact()
	r.create(t, "ns", "c", "red")
	for _, want := range []string{"ADDED ns/b", "ADDED ns/c"} {
		if got := describe(next(t, w)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	faults.hold = make(chan struct{})
	faults.fail <- errors.New("lost")
	until(t, "the cache is broken", func() bool { return r.cacher.Inspect().State == cacher.Broken })
	r.create(t, "ns", "d", "red")
	// A broken cache falls back to etcd for what must be the latest.
	if got := names(list(t, r.cached, everything)); !slices.Contains(got, "ns/d") {
		t.Errorf("while the cache is broken there is %v", got)
	}
	r.delete(t, "ns", "a")
	compact()
	close(faults.hold)
	if status := statusOf(t, next(t, w)); status.Code != http.StatusGone {
		t.Errorf("%+v", status)
	}
	until(t, "the cache is filled again", func() bool { return r.cacher.Inspect().State == cacher.Fresh })
	if got, want := names(list(t, r.cached, everything)), []string{"ns/b", "ns/c", "ns/d"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	consistent(t, r)
	if err := r.cacher.ReadinessCheck(); err != nil {
		t.Error(err)
	}
}

// TestLostWhileNothingChanges has the cache's watch end, and go on when nothing has been written since: etcd answers no request for
// progress about a watch of what comes after its revision.
func TestLostWhileNothingChanges(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	r, faults := newHeldRig(t, client)
	r.create(t, "ns", "a", "red")
	if got, want := names(list(t, r.cached, everything)), []string{"ns/a"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for range 3 {
		faults.hold = make(chan struct{})
		faults.fail <- errors.New("lost")
		until(t, "the cache is broken", func() bool { return r.cacher.Inspect().State == cacher.Broken })
		close(faults.hold)
		until(t, "the cache is fresh again", func() bool { return r.cacher.Inspect().State == cacher.Fresh })
	}
	consistent(t, r)
	r.create(t, "ns", "b", "red")
	if got, want := names(list(t, r.cached, everything)), []string{"ns/a", "ns/b"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// heldStorage is a storage whose watch fails when it is told to, and does not begin again before it may.
type heldStorage struct {
	cacher.Storage
	hold chan struct{}
	fail chan error
}

// newHeld is one whose watch may begin.
func newHeld(s cacher.Storage) *heldStorage {
	h := &heldStorage{Storage: s, hold: make(chan struct{}), fail: make(chan error)}
	close(h.hold)
	return h
}

// newHeldRig is a rig on such a storage.
func newHeldRig(t *testing.T, client *clientv3.Client) (r *rig, faults *heldStorage) {
	t.Helper()
	r = newRig(t, client, func(c *cacher.Config) {
		faults = newHeld(c.Storage)
		c.Storage = faults
	})
	return r, faults
}

func (h *heldStorage) Follow(ctx context.Context, key string, revision int64, handle func(store.Changes) error) error {
	select {
	case <-h.hold:
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	defer func() { cancel(nil); close(ended) }()
	go func() {
		select {
		case err := <-h.fail:
			cancel(err)
		case <-ended:
		}
	}()
	err := h.Storage.Follow(ctx, key, revision, handle)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// TestLostConnection cuts the connection to etcd: what the cache has can be read, what must be the latest can't, and all is
// well again when the connection is.
func TestLostConnection(t *testing.T) {
	cluster := embedtest.StartCluster(t)
	proxy := newProxy(t, strings.TrimPrefix(cluster.Endpoints()[0], "http://"))
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + proxy.addr}, DialTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	r := newRig(t, client, nil)
	start := r.create(t, "ns", "a", "red").GetResourceVersion()
	w := watchFrom(t, r.cached, start, nil)

	proxy.cut()
	var got unstructured.Unstructured
	if err := r.cached.Get(t.Context(), key("ns", "a"), store.GetOptions{ResourceVersion: "0"}, &got); err != nil || got.GetName() != "a" {
		t.Errorf("%v, %v", got.GetName(), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := r.cached.Get(ctx, key("ns", "a"), store.GetOptions{}, &got); err == nil {
		t.Error("the latest is known without etcd")
	}
	// Another process writes meanwhile.
	direct := open(t, cluster.Client(t), r.prefix)
	if err := direct.Create(t.Context(), key("ns", "b"), panda("ns", "b", "red"), nil, 0); err != nil {
		t.Fatal(err)
	}
	proxy.heal()
	if got := describe(next(t, w)); got != "ADDED ns/b" {
		t.Errorf("%s", got)
	}
	until(t, "a LIST is answered", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		out := &unstructured.UnstructuredList{}
		return r.cached.GetList(ctx, "/pandas/", everything, out) == nil && len(out.Items) == 2
	})
	consistent(t, r)
}

// proxy is a wire that can be cut.
type proxy struct {
	addr string

	mu     sync.Mutex
	target string
	dead   bool
	conns  []net.Conn
}

func newProxy(t testing.TB, target string) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	p := &proxy{addr: listener.Addr().String(), target: target}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p
}

func (p *proxy) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	other, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = other.Close() }()
	p.mu.Lock()
	dead := p.dead
	p.conns = append(p.conns, conn, other)
	p.mu.Unlock()
	if dead {
		return
	}
	go func() { _, _ = io.Copy(other, conn); _ = other.Close() }()
	_, _ = io.Copy(conn, other)
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

// aim leads the wire elsewhere.
func (p *proxy) aim(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = false
}

// TestUndecodable has etcd hold what is no object: it fails those who read it, as it would without a cache, and nobody
// else.
func TestUndecodable(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	r := newRig(t, client, nil)
	r.create(t, "ns", "a", "red")
	put, err := client.Put(t.Context(), r.prefix+key("ns", "broken"), "no JSON")
	if err != nil {
		t.Fatal(err)
	}
	var out unstructured.Unstructured
	for _, rv := range []string{"", "0", fmt.Sprint(put.Header.Revision)} {
		until(t, "the cache has it", func() bool { return r.cacher.Inspect().Revision >= put.Header.Revision })
		cached := r.cached.Get(t.Context(), key("ns", "broken"), store.GetOptions{ResourceVersion: rv}, &out)
		raw := r.raw.Get(t.Context(), key("ns", "broken"), store.GetOptions{ResourceVersion: rv}, &out)
		if cached == nil || raw == nil || cached.Error() != raw.Error() {
			t.Errorf("resourceVersion %q: cached %v, uncached %v", rv, cached, raw)
		}
	}
	if err := r.cached.Get(t.Context(), key("ns", "a"), store.GetOptions{}, &out); err != nil {
		t.Error(err)
	}
	cached := r.cached.GetList(t.Context(), "/pandas/", everything, &unstructured.UnstructuredList{})
	raw := r.raw.GetList(t.Context(), "/pandas/", everything, &unstructured.UnstructuredList{})
	if cached == nil || raw == nil || cached.Error() != raw.Error() {
		t.Errorf("LIST: cached %v, uncached %v", cached, raw)
	}
	if err := r.cached.Delete(t.Context(), key("ns", "broken"), &out, store.ValidateAllObjectFunc, store.DeleteOptions{ExpectTransformOrDecodeError: true}); err != nil {
		t.Error(err)
	}
	if got := names(list(t, r.cached, everything)); !slices.Equal(got, []string{"ns/a"}) {
		t.Errorf("%v", got)
	}
	consistent(t, r)
}

// TestDifferencesAreNamed lets a cache miss what happens.
func TestDifferencesAreNamed(t *testing.T) {
	var faults *forgetful
	r := shared(t, func(c *cacher.Config) {
		faults = &forgetful{Storage: c.Storage, forget: "/pandas/ns/lost"}
		c.Storage = faults
	})
	r.create(t, "ns", "a", "red")
	r.create(t, "ns", "lost", "red")
	r.create(t, "ns", "z", "red")
	report, err := r.cacher.CheckConsistency(t.Context())
	if err != nil || len(report.Differences) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := report.Differences[0].String(); !strings.HasPrefix(got, "/pandas/ns/lost is in etcd at revision ") || !strings.HasSuffix(got, ", and not in the cache") {
		t.Error(got)
	}
}

// forgetful is a storage that does not tell of one key's changes after a revision.
type forgetful struct {
	cacher.Storage
	forget string
	after  atomic.Int64
}

func (f *forgetful) Follow(ctx context.Context, key string, revision int64, handle func(store.Changes) error) error {
	return f.Storage.Follow(ctx, key, revision, func(changes store.Changes) error {
		changes.Changes = slices.DeleteFunc(changes.Changes, func(c store.Change) bool {
			return c.Key == f.forget && c.Revision > f.after.Load()
		})
		return handle(changes)
	})
}

// TestRestoredEtcd has etcd say that it is at an earlier revision, as one does that was restored from a backup: the cache is
// filled again, and its watchers begin again.
func TestRestoredEtcd(t *testing.T) {
	var past *restored
	r := shared(t, func(c *cacher.Config) {
		past = &restored{Storage: c.Storage}
		c.Storage = past
	})
	read := map[string]func(){
		"LIST": func() { list(t, r.cached, everything) },
		"GET": func() {
			var out unstructured.Unstructured
			if err := r.cached.Get(t.Context(), key("ns", "a"), store.GetOptions{}, &out); err != nil || out.GetName() != "a" {
				t.Error(out.GetName(), err)
			}
		},
	}
	r.create(t, "ns", "a", "red")
	list(t, r.cached, everything) // what is latest, so the cache has seen it
	for name, read := range read {
		w := watchFrom(t, r.cached, fmt.Sprint(r.cacher.Inspect().Revision), nil)
		past.once.Store(true)
		read()
		if status := statusOf(t, next(t, w)); status.Code != http.StatusGone {
			t.Errorf("%s: %+v", name, status)
		}
		until(t, "the cache is filled again", func() bool { return r.cacher.Inspect().State == cacher.Fresh })
		consistent(t, r)
	}
}

// restored is a storage that is in its past, once.
type restored struct {
	cacher.Storage
	once atomic.Bool
}

func (r *restored) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	if r.once.CompareAndSwap(true, false) {
		return 1, nil
	}
	return r.Storage.GetCurrentResourceVersion(ctx)
}

func (r *restored) KeyRevision(ctx context.Context, key string) (object, storage int64, err error) {
	object, storage, err = r.Storage.KeyRevision(ctx, key)
	if r.once.CompareAndSwap(true, false) {
		return object, 1, err
	}
	return object, storage, err
}

// TestWatchThatEndsAtOnce has the cache's watch end as soon as it is asked for, again and again, while others write and
// ask for progress: no answer that etcd made for one watch may be taken for one about the next.
func TestWatchThatEndsAtOnce(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	m := newModel(t, client)
	m.faultPause = time.Millisecond
	m.run(t, *modelTime, m.refill)
}

// TestDeleteTriesTheNewestState deletes what its caller has read, while the cache, the caller or both are late. The cache
// does not learn of what another process writes.
func TestDeleteTriesTheNewestState(t *testing.T) {
	for _, test := range []struct {
		name string
		// others is what happens meanwhile. The caller reads the object afterwards, or before if it is late.
		others func(t *testing.T, r *rig, direct store.Interface)
		late   bool
		// told tells the cache of all changes.
		told   bool
		change func(suggestion *unstructured.Unstructured) // nil for none
		why    string
		fails  func(error) bool // nil if it does not
	}{
		{name: "both have it", why: "the caller has the object at R, and so has the cache: the caller's is tried first, which saves a read"},
		{name: "the cache is late", others: updateDirectly,
			why: "the caller has the object at R, which the fresh cache lacks: the caller's is tried first, which saves a read"},
		{name: "the caller is late", late: true, told: true, others: func(t *testing.T, r *rig, _ store.Interface) { r.update(t, "ns", "lost", "blue") },
			why: "the caller has the object at R, the cache at R by now: the cached one is tried first, which saves a read"},
		{name: "both are late", late: true, others: updateDirectly,
			why: "the caller has the object at R, and so has the cache: the caller's is tried first, which saves a read"},
		{name: "it is gone", late: true, others: deleteDirectly,
			why:   "the caller has the object at R, and so has the cache: the caller's is tried first, which saves a read",
			fails: store.IsNotFound},
		{name: "another has its name", late: true, others: replaceDirectly,
			why:   "the caller has the object at R, and so has the cache: the caller's is tried first, which saves a read",
			fails: store.IsInvalidObj},
		{name: "the caller says no revision", change: func(u *unstructured.Unstructured) { u.SetResourceVersion("") },
			why: "the cache has the object at R: that is tried first, which saves a read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var faults *forgetful
			r := shared(t, func(c *cacher.Config) {
				faults = &forgetful{Storage: c.Storage, forget: "/pandas/ns/lost"}
				c.Storage = faults
			})
			faults.after.Store(math.MaxInt64)
			direct := r.raw
			var created unstructured.Unstructured
			if err := direct.Create(t.Context(), key("ns", "lost"), panda("ns", "lost", "red"), &created, 0); err != nil {
				t.Fatal(err)
			}
			if err := r.cached.Get(t.Context(), key("ns", "lost"), store.GetOptions{ResourceVersion: created.GetResourceVersion()}, &created); err != nil {
				t.Fatal(err)
			}
			// Filled later, it would have what others write.
			until(t, "the cache is filled", func() bool { return r.cacher.Inspect().State == cacher.Fresh })
			if !test.told {
				faults.after.Store(revisionOf(&created))
			}
			read := func() *unstructured.Unstructured {
				out := &unstructured.Unstructured{}
				if err := direct.Get(t.Context(), key("ns", "lost"), store.GetOptions{IgnoreNotFound: true}, out); err != nil {
					t.Fatal(err)
				}
				return out
			}
			suggestion := read()
			if test.others != nil {
				test.others(t, r, direct)
			}
			// What this process writes is known to the cache until it has seen that revision.
			now, err := direct.GetCurrentResourceVersion(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			until(t, "the cache has seen what others did", func() bool { return r.cacher.Inspect().Revision >= int64(now) })
			want := read()
			if !test.late {
				suggestion = read()
			}
			if test.change != nil {
				test.change(suggestion)
			}
			ctx, journey := trace.NewRecorder("test", trace.DefaultLimits).Begin(t.Context(), trace.Request{})
			uid := types.UID("ns-lost")
			var out unstructured.Unstructured
			err = r.cached.Delete(ctx, key("ns", "lost"), &out, store.ValidateAllObjectFunc,
				store.DeleteOptions{Suggestion: suggestion, Preconditions: &store.Preconditions{UID: &uid}})
			journey.Finish(trace.Response{Code: 200})
			if why := revisions.ReplaceAllString(journey.Record().Steps[0].Why, "${1}R"); why != test.why {
				t.Errorf("%q", why)
			}
			if test.fails != nil {
				if err == nil || !test.fails(err) {
					t.Errorf("got %v", err)
				}
				if after := read(); !equality.Semantic.DeepEqual(after, want) {
					t.Errorf("there is %v", after)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if revisionOf(&out) <= revisionOf(want) {
				t.Errorf("deleted at %d, it was at %d", revisionOf(&out), revisionOf(want))
			}
			want.SetResourceVersion(out.GetResourceVersion())
			if !equality.Semantic.DeepEqual(&out, want) {
				t.Errorf("got %v, want %v", out, want)
			}
			if after := read(); len(after.Object) > 0 {
				t.Errorf("there is %v", after)
			}
		})
	}
}

var revisions = regexp.MustCompile(`( at )\d+`)

func updateDirectly(t *testing.T, _ *rig, direct store.Interface) {
	err := direct.GuaranteedUpdate(t.Context(), key("ns", "lost"), &unstructured.Unstructured{},
		func(runtime.Object, store.ResponseMeta) (runtime.Object, *uint64, error) {
			return panda("ns", "lost", "green"), nil, nil
		}, store.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func deleteDirectly(t *testing.T, _ *rig, direct store.Interface) {
	if err := direct.Delete(t.Context(), key("ns", "lost"), &unstructured.Unstructured{}, store.ValidateAllObjectFunc, store.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func replaceDirectly(t *testing.T, r *rig, direct store.Interface) {
	deleteDirectly(t, r, direct)
	other := panda("ns", "lost", "red")
	other.SetUID("other")
	if err := direct.Create(t.Context(), key("ns", "lost"), other, nil, 0); err != nil {
		t.Fatal(err)
	}
}

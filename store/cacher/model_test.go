package cacher_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

var (
	modelSeed = flag.Uint64("model.seed", 0, "what the model test draws its operations from; 0 is the clock")
	modelTime = flag.Duration("model.time", 2*time.Second, "how long the model test runs")
)

// TestModel has many clients do what occurs to them, on the cached storage and on the uncached one, while etcd is compacted
// and the cache loses its watch, is filled again, and begins anew as after a restart. Every answer is held against what truly
// happened, which a watch of etcd's own tells: a GET is never older than it may be, a LIST is one moment, a watch is told
// every change once, in order, from where it began, and 410 only if etcd has compacted what comes next.
//
//	go test ./store/cacher -run TestModel -model.seed=<seed> -model.time=1h
func TestModel(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	m := newModel(t, client)
	m.run(t, *modelTime, m.compact, m.lose, m.refill, func(context.Context) error { m.restart(t); return nil })
}

// TestModelOnACluster does the same on an etcd of three members that is spoken to through sockets, and whose leader is
// stopped and comes back.
func TestModelOnACluster(t *testing.T) {
	cluster := embedtest.StartCluster(t)
	m := newModel(t, cluster.Client(t))
	m.run(t, *modelTime, func(ctx context.Context) error {
		leader := cluster.Leader()
		if leader < 0 {
			return nil
		}
		cluster.Stop(leader)
		return cluster.Restart(ctx, leader)
	}, func(ctx context.Context) error {
		_ = m.compact(ctx) // while there is no leader, that fails
		return nil
	})
}

// change is one revision of what truly happened.
type change struct {
	revision int64
	key      string
	n        string // what makes the object another one; "" if it is deleted
	color    string
}

type model struct {
	*rig
	seed   uint64
	client *clientv3.Client
	faults *faultyStorage
	// now is the storage with the cacher of now in front.
	now atomic.Pointer[cacher.Cacher]
	// compacted is the newest revision that etcd was asked to compact.
	compacted atomic.Int64
	// faultPause is the most that there is between faults.
	faultPause time.Duration

	// committed is the newest revision that some client knows to be written.
	committed atomic.Int64
	writes    atomic.Int64

	mu  sync.Mutex
	log []change
	// byKey is the log of each key, once it is complete.
	byKey  map[string][]change
	seen   int64 // the log is complete up to here
	checks []func(m *model) error
}

// faultyStorage is a storage whose changes come late, and can cease to come.
type faultyStorage struct {
	cacher.Storage
	fail chan error
}

func (f *faultyStorage) Follow(ctx context.Context, key string, revision int64, handle func(store.Changes) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case err := <-f.fail:
			cancel(err)
		case <-ended:
		}
	}()
	err := f.Storage.Follow(ctx, key, revision, func(changes store.Changes) error {
		pause(ctx, time.Duration(changes.Revision%4)*time.Millisecond)
		return handle(changes)
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func newModel(t *testing.T, client *clientv3.Client) *model {
	m := &model{seed: *modelSeed, client: client, faultPause: 300 * time.Millisecond}
	if m.seed == 0 {
		m.seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-model.seed=%d", m.seed)
	m.rig = newRig(t, client, m.configure)
	m.now.Store(m.cached)
	return m
}

func (m *model) configure(c *cacher.Config) {
	m.faults = &faultyStorage{Storage: c.Storage, fail: make(chan error)}
	c.Storage = m.faults
	c.Limits = cacher.Limits{HistoryMin: 5, HistoryMax: 400, HistoryWindow: time.Second, BookmarkPeriod: 200 * time.Millisecond, PageSize: 7}
}

// restart puts another cacher in the place of the one that runs.
func (m *model) restart(t *testing.T) {
	m.cacher.Stop()
	m.start(t, m.configure)
	m.now.Store(m.cached)
}

// run lets clients and faults work for a while, and then checks all they were told.
func (m *model) run(t *testing.T, d time.Duration, faults ...func(context.Context) error) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var oracle, clients sync.WaitGroup
	oracleCtx, stopOracle := context.WithCancel(t.Context())
	defer stopOracle()
	oracle.Go(func() { m.follow(oracleCtx) })
	other := open(t, m.client, m.prefix) // another process, whose writes the cache is not told of by anybody but etcd
	for i := range 12 {
		random := rand.New(rand.NewPCG(m.seed, uint64(i)))
		s := func() store.Interface { return m.now.Load() }
		if i%4 == 3 {
			s = func() store.Interface { return other }
		}
		clients.Go(func() { m.client12(ctx, random, s, i) })
	}
	clients.Go(func() {
		random := rand.New(rand.NewPCG(m.seed, 1000))
		for ctx.Err() == nil {
			pause(ctx, time.Duration(random.Int64N(int64(m.faultPause))))
			if err := faults[random.IntN(len(faults))](ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	clients.Wait()
	m.finish(t)
	stopOracle()
	oracle.Wait()
	slices.SortFunc(m.log, func(a, b change) int { return cmp.Compare(a.revision, b.revision) })
	m.byKey = map[string][]change{}
	for _, c := range m.log {
		m.byKey[c.key] = append(m.byKey[c.key], c)
	}
	failed := 0
	for _, check := range m.checks {
		if err := check(m); err != nil {
			t.Errorf("%v (seed %d)", err, m.seed)
			if failed++; failed > 5 {
				break
			}
		}
	}
	t.Logf("%d changes, %d answers checked", len(m.log), len(m.checks))
	if len(m.checks) == 0 || len(m.log) == 0 {
		t.Error("nothing happened")
	}
}

// finish waits until the log is complete, and checks that the cache is what etcd is.
func (m *model) finish(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	report, err := m.cacher.CheckConsistency(ctx)
	for err != nil {
		if pause(ctx, 20*time.Millisecond); ctx.Err() != nil {
			t.Fatal(err)
		}
		report, err = m.cacher.CheckConsistency(ctx)
	}
	if len(report.Differences) > 0 {
		t.Errorf("the cache differs from etcd at %d: %v", report.Revision, report.Differences)
	}
	for m.complete() < m.committed.Load() {
		if pause(ctx, time.Millisecond); ctx.Err() != nil {
			t.Fatalf("the log ends at %d, %d was written", m.complete(), m.committed.Load())
		}
	}
}

func (m *model) complete() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// follow writes down what truly happens.
func (m *model) follow(ctx context.Context) {
	for ctx.Err() == nil {
		for resp := range m.client.Watch(clientv3.WithRequireLeader(ctx), m.prefix+"/pandas/", clientv3.WithPrefix(), clientv3.WithRev(m.complete()+1)) {
			m.mu.Lock()
			for _, e := range resp.Events {
				c := change{revision: e.Kv.ModRevision, key: strings.TrimPrefix(string(e.Kv.Key), m.prefix)}
				if e.Type == clientv3.EventTypePut {
					var u unstructured.Unstructured
					if u.UnmarshalJSON(e.Kv.Value) == nil {
						c.n, c.color = content(&u)
					}
				}
				m.log, m.seen = append(m.log, c), c.revision
			}
			m.mu.Unlock()
		}
	}
}

func content(u *unstructured.Unstructured) (n, color string) {
	n, _, _ = unstructured.NestedString(u.Object, "spec", "n")
	color, _, _ = unstructured.NestedString(u.Object, "spec", "color")
	return n, color
}

func (m *model) compact(ctx context.Context) error {
	revision := m.complete()
	m.compacted.Store(revision)
	_, err := m.client.Compact(ctx, revision)
	if err != nil && strings.Contains(err.Error(), "compacted") || m.complete() == 0 {
		return nil // nothing has happened since
	}
	return err
}

func (m *model) lose(ctx context.Context) error {
	return m.fault(ctx, errors.New("the connection is lost"))
}

func (m *model) refill(ctx context.Context) error {
	return m.fault(ctx, apierrors.NewResourceExpired("compacted"))
}

func (m *model) fault(ctx context.Context, err error) error {
	select {
	case m.faults.fail <- err:
	case <-ctx.Done():
	}
	return nil
}

func (m *model) check(check func(m *model) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checks = append(m.checks, check)
}

// client12 is one client: most write and read, some watch.
func (m *model) client12(ctx context.Context, random *rand.Rand, storage func() store.Interface, i int) {
	for ctx.Err() == nil {
		s := storage()
		switch {
		case i >= 8:
			m.watch(ctx, random, s)
		case random.IntN(3) == 0:
			m.write(ctx, random, s)
		case random.IntN(2) == 0:
			m.get(ctx, random, s)
		default:
			m.list(ctx, random, s)
		}
	}
}

var colors = []string{"red", "green", "blue"}

func randomKey(random *rand.Rand) (ns, name string) {
	return []string{"a", "ab", "b"}[random.IntN(3)], fmt.Sprintf("p%02d", random.IntN(12))
}

func (m *model) write(ctx context.Context, random *rand.Rand, s store.Interface) {
	ns, name := randomKey(random)
	obj := panda(ns, name, colors[random.IntN(len(colors))])
	_ = unstructured.SetNestedField(obj.Object, strconv.FormatInt(m.writes.Add(1), 10), "spec", "n")
	out := &unstructured.Unstructured{}
	var err error
	switch random.IntN(4) {
	case 0:
		var opts store.DeleteOptions
		if read := newPanda(); random.IntN(2) == 0 && s.Get(ctx, key(ns, name), store.GetOptions{ResourceVersion: "0"}, read) == nil {
			opts.Suggestion = read // which may be older than the cache is by then
		}
		err = s.Delete(ctx, key(ns, name), out, store.ValidateAllObjectFunc, opts)
	case 1:
		err = s.Create(ctx, key(ns, name), obj, out, 0)
	default:
		err = s.GuaranteedUpdate(ctx, key(ns, name), out, func(runtime.Object, store.ResponseMeta) (runtime.Object, *uint64, error) { return obj, nil, nil }, store.UpdateOptions{IgnoreNotFound: true})
	}
	if err == nil {
		m.commit(revisionOf(out))
	}
}

func revisionOf(obj runtime.Object) int64 {
	u, ok := obj.(metav1.Common)
	if !ok {
		return 0
	}
	revision, _ := strconv.ParseInt(u.GetResourceVersion(), 10, 64)
	return revision
}

func (m *model) commit(revision int64) {
	for {
		known := m.committed.Load()
		if revision <= known || m.committed.CompareAndSwap(known, revision) {
			return
		}
	}
}

// least is a resourceVersion to ask with, and the least revision that the answer may be of.
func (m *model) least(random *rand.Rand) (resourceVersion string, least int64) {
	switch committed := m.committed.Load(); {
	case random.IntN(3) == 0 || committed == 0:
		return "0", 0
	case random.IntN(2) == 0:
		return strconv.FormatInt(committed, 10), committed
	default:
		return "", committed
	}
}

func (m *model) get(ctx context.Context, random *rand.Rand, s store.Interface) {
	ns, name := randomKey(random)
	k := key(ns, name)
	rv, least := m.least(random)
	out := &unstructured.Unstructured{}
	err := s.Get(ctx, k, store.GetOptions{ResourceVersion: rv}, out)
	if err != nil && !store.IsNotFound(err) {
		return // etcd is not there
	}
	got := change{key: k}
	if err == nil {
		got.revision = revisionOf(out)
		got.n, got.color = content(out)
	}
	m.check(func(m *model) error { return m.wasAt(got, least, "GET "+k+" resourceVersion="+rv) })
}

// wasAt says whether the key was what got says at some revision, not before least.
func (m *model) wasAt(got change, least int64, what string) error {
	log := m.byKey[got.key]
	first := after(log, least)
	was := change{key: got.key}
	if first > 0 {
		was = log[first-1]
	}
	if same(was, got) || slices.ContainsFunc(log[first:], func(c change) bool { return same(c, got) }) {
		return nil
	}
	return fmt.Errorf("%s answered %+v, which it was not from %d on", what, got, least)
}

func same(a, b change) bool {
	return a.n == b.n && (a.n == "" || a.revision == b.revision && a.color == b.color)
}

// stateAt is what there was at a revision.
func (m *model) stateAt(revision int64, prefix, color string) map[string]change {
	state := map[string]change{}
	for k, log := range m.byKey {
		i := after(log, revision)
		if i == 0 || !strings.HasPrefix(k, prefix) {
			continue
		}
		if c := log[i-1]; c.n != "" && (color == "" || c.color == color) {
			state[k] = c
		}
	}
	return state
}

// after is where the changes after a revision begin in a log.
func after(log []change, revision int64) int {
	i, _ := slices.BinarySearchFunc(log, revision+1, func(c change, revision int64) int { return cmp.Compare(c.revision, revision) })
	return i
}

func scope(random *rand.Rand) (prefix, color string, opts store.ListOptions) {
	opts, prefix = everything, "/pandas/"
	if random.IntN(2) == 0 {
		prefix = "/pandas/a/"
	}
	if random.IntN(2) == 0 {
		color = colors[random.IntN(len(colors))]
		opts.Predicate.Label = labels.SelectorFromSet(labels.Set{"color": color})
	}
	return prefix, color, opts
}

func (m *model) list(ctx context.Context, random *rand.Rand, s store.Interface) {
	prefix, color, opts := scope(random)
	var least int64
	opts.ResourceVersion, least = m.least(random)
	exact := opts.ResourceVersion != "" && opts.ResourceVersion != "0" && random.IntN(2) == 0
	if exact {
		opts.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	}
	if random.IntN(2) == 0 {
		opts.Predicate.Limit = int64(1 + random.IntN(10))
	}
	var items []unstructured.Unstructured
	var revision int64
	for page := 0; ; page++ {
		out := &unstructured.UnstructuredList{}
		if err := s.GetList(ctx, prefix, opts, out); err != nil {
			return // too old, or etcd is not there
		}
		items = append(items, out.Items...)
		if at := revisionOf(out); page > 0 && at != revision {
			m.check(func(*model) error { return fmt.Errorf("page %d is of %d, the first of %d", page, at, revision) })
		} else {
			revision = at
		}
		if out.GetContinue() == "" {
			break
		}
		opts.Predicate.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = out.GetContinue(), "", ""
		if random.IntN(3) == 0 {
			m.write(ctx, random, s)
		}
	}
	what := fmt.Sprintf("LIST %s color=%s limit=%d at %d", prefix, color, opts.Predicate.Limit, revision)
	m.check(func(m *model) error {
		if revision < least || exact && revision != least {
			return fmt.Errorf("%s: %d was asked for", what, least)
		}
		return m.isState(what, items, revision, prefix, color)
	})
}

// isState says whether items are the state at a revision.
func (m *model) isState(what string, items []unstructured.Unstructured, revision int64, prefix, color string) error {
	want := m.stateAt(revision, prefix, color)
	got := map[string]change{}
	for i := range items {
		c := change{revision: revisionOf(&items[i]), key: key(items[i].GetNamespace(), items[i].GetName())}
		c.n, c.color = content(&items[i])
		got[c.key] = c
	}
	if len(got) != len(items) || !maps.Equal(got, want) {
		return fmt.Errorf("%s answered %v, it was %v", what, got, want)
	}
	return nil
}

// watch watches for a while: from the state or from a revision.
func (m *model) watch(ctx context.Context, random *rand.Rand, s store.Interface) {
	prefix, color, opts := scope(random)
	opts.Predicate.AllowWatchBookmarks = true
	from, initial := m.committed.Load(), random.IntN(2) == 0
	switch {
	case initial:
		opts.SendInitialEvents, opts.ResourceVersionMatch = &initial, metav1.ResourceVersionMatchNotOlderThan
		opts.ResourceVersion, _ = m.least(random)
	case from == 0:
		return
	default:
		from = max(1, from-int64(random.IntN(50)))
		opts.ResourceVersion = strconv.FormatInt(from, 10)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(600))*time.Millisecond)
	defer cancel()
	w, err := s.Watch(ctx, prefix, opts)
	if err != nil {
		return
	}
	defer w.Stop()
	var events []watch.Event
	var failed error
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			failed = apierrors.FromObject(e.Object)
			break // too old, or lost: it may have been told all until then
		}
		events = append(events, e)
		if random.IntN(40) == 0 {
			pause(ctx, time.Duration(random.IntN(100))*time.Millisecond) // a slow client
		}
	}
	what := fmt.Sprintf("WATCH %s color=%s from %s initial=%t", prefix, color, opts.ResourceVersion, initial)
	compacted := m.compacted.Load()
	m.check(func(m *model) error {
		if err := m.isWatch(what, events, from, initial, prefix, color); err != nil {
			return err
		}
		if apierrors.IsResourceExpired(failed) && len(events) > 0 {
			from = revisionOf(events[len(events)-1].Object)
		}
		if apierrors.IsResourceExpired(failed) && (!initial || len(events) > 0) && from >= compacted {
			return fmt.Errorf("%s: %v after %d, and etcd was compacted at %d", what, failed, from, compacted)
		}
		return nil
	})
}

// isWatch says whether events are what happened after a revision, until the last of them, without a gap.
func (m *model) isWatch(what string, events []watch.Event, from int64, initial bool, prefix, color string) error {
	if initial {
		var items []unstructured.Unstructured
		for len(events) > 0 && events[0].Type == watch.Added {
			items, events = append(items, *events[0].Object.(*unstructured.Unstructured)), events[1:]
		}
		if len(events) == 0 {
			return nil // it ended before the state was complete
		}
		end := events[0]
		if end.Type != watch.Bookmark || end.Object.(metav1.Object).GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
			return fmt.Errorf("%s: the state ends with %s", what, end.Type)
		}
		from, events = revisionOf(end.Object), events[1:]
		if err := m.isState(what+" (its state)", items, from, prefix, color); err != nil {
			return err
		}
	}
	var got []string
	last := from
	for _, e := range events {
		revision := revisionOf(e.Object)
		if revision < last || revision == last && e.Type != watch.Bookmark {
			return fmt.Errorf("%s: %s at %d after %d", what, e.Type, revision, last)
		}
		last = revision
		if e.Type != watch.Bookmark {
			u := e.Object.(*unstructured.Unstructured)
			got = append(got, fmt.Sprintf("%s %s at %d", e.Type, key(u.GetNamespace(), u.GetName()), revision))
		}
	}
	if want := m.eventsBetween(from, last, prefix, color); !slices.Equal(got, want) {
		return fmt.Errorf("%s, from %d to %d, was told %v, there were %v", what, from, last, got, want)
	}
	return nil
}

// eventsBetween are the events after a revision, up to another.
func (m *model) eventsBetween(from, to int64, prefix, color string) (events []string) {
	before := m.stateAt(from, prefix, "")
	for _, c := range m.log[after(m.log, from):after(m.log, to)] {
		if !strings.HasPrefix(c.key, prefix) {
			continue
		}
		was := before[c.key]
		before[c.key] = c
		selected := func(c change) bool { return c.n != "" && (color == "" || c.color == color) }
		var eventType watch.EventType
		switch {
		case selected(c) && selected(was):
			eventType = watch.Modified
		case selected(c):
			eventType = watch.Added
		case selected(was):
			eventType = watch.Deleted
		}
		if eventType != "" {
			events = append(events, fmt.Sprintf("%s %s at %d", eventType, c.key, c.revision))
		}
	}
	return events
}

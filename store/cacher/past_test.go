package cacher_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// readStorage counts how often its history is read, and fails a number of these reads. It tells a few revisions at a time,
// where etcd tells a thousand.
type readStorage struct {
	cacher.Storage
	reads, fail atomic.Int64
}

func (s *readStorage) History(ctx context.Context, key string, after, until int64, handle func(store.PastChanges) error) error {
	s.reads.Add(1)
	if s.fail.Add(-1) >= 0 {
		return errors.New("etcd is busy")
	}
	return s.Storage.History(ctx, key, after, until, func(changes store.PastChanges) error {
		rest := changes.Changes
		for len(rest) > 10 {
			n := 10
			for n < len(rest) && rest[n].Revision == rest[n-1].Revision {
				n++
			}
			if n == len(rest) {
				break
			}
			if err := handle(store.PastChanges{Revision: rest[n-1].Revision, Changes: rest[:n]}); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return handle(store.PastChanges{Revision: changes.Revision, Changes: rest})
	})
}

// again puts another cacher in the place of the rig's, as a restart does. It has seen nothing of what happened before.
func (r *rig) again(t testing.TB, limits cacher.Limits) *readStorage {
	t.Helper()
	r.cacher.Stop()
	storage := &readStorage{Storage: r.raw}
	r.start(t, func(c *cacher.Config) { c.Storage, c.Limits = storage, limits })
	return storage
}

// happen writes what a history has: objects that are created, change, change color, go, come back, and go many at a time.
// It says which revisions there were.
func happen(t testing.TB, r *rig, client *clientv3.Client, n int) (revisions []int64) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(n)))
	there := map[string]bool{}
	for i := range n {
		ns, name := []string{"a", "b"}[random.IntN(2)], fmt.Sprintf("p%d", random.IntN(8))
		color := colors[random.IntN(len(colors))]
		switch k := key(ns, name); {
		case i%40 == 39: // all of a namespace, in one transaction
			resp, err := client.Delete(t.Context(), r.prefix+"/pandas/"+ns+"/", clientv3.WithPrefix())
			if err != nil {
				t.Fatal(err)
			}
			revisions = append(revisions, resp.Header.Revision)
			maps.DeleteFunc(there, func(k string, _ bool) bool { return strings.HasPrefix(k, "/pandas/"+ns+"/") })
		case !there[k]:
			revisions, there[k] = append(revisions, revisionOf(r.create(t, ns, name, color))), true
		case random.IntN(4) == 0:
			revisions = append(revisions, revisionOf(r.delete(t, ns, name)))
			delete(there, k)
		default:
			revisions = append(revisions, revisionOf(r.update(t, ns, name, color)))
		}
	}
	return revisions
}

// readUntil reads the events of a watch until it is told the last one, which has a name of its own.
func readUntil(w watch.Interface, last string) (events []string) {
	for e := range w.ResultChan() {
		if e.Type == watch.Bookmark {
			continue
		}
		text := describe(e)
		if status, failed := e.Object.(*metav1.Status); failed {
			text += ": " + status.Message
		}
		if e.Type != watch.Error {
			text = fmt.Sprintf("%s at %d", text, revisionOf(e.Object))
		}
		events = append(events, text)
		if e.Type == watch.Error || strings.HasPrefix(text, "ADDED "+last+" ") {
			break
		}
	}
	return events
}

// TestRestartIsNotFelt: many watches, with selectors and without, go on after a restart from wherever they were. Each is told
// what a watch of etcd's own is told, and then what happens; and etcd is asked for its history a few times, not by each.
func TestRestartIsNotFelt(t *testing.T) {
	client := embedtest.Shared(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	for name, limits := range map[string]cacher.Limits{
		"all fits":            {BookmarkPeriod: 50 * time.Millisecond},
		"more than is kept":   {HistoryMin: 4, HistoryMax: 40},
		"larger than is kept": {HistoryMin: 4, HistoryBytes: 40 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, client, nil)
			revisions := happen(t, r, client, 200)
			storage := r.again(t, limits)
			resume(t, r, revisions[:len(revisions)-1], 90)
			reads := storage.reads.Load()
			if most := int64(5); limits.HistoryMax == 0 && limits.HistoryBytes == 0 && reads > most {
				t.Errorf("etcd's history was read %d times", reads)
			}
			if reads == 0 {
				t.Error("etcd's history was not read")
			}
			consistent(t, r)
		})
	}
}

// resume has n watches go on after any of revisions, and holds what they are told against watches of etcd.
func resume(t *testing.T, r *rig, revisions []int64, n int) {
	t.Helper()
	prefixes := []string{"/pandas/", "/pandas/a/"}
	type pair struct{ cached, etcd watch.Interface }
	pairs := map[string]pair{}
	for i := range n {
		opts, prefix, what := everything, prefixes[i%2], "all"
		opts.ResourceVersion = fmt.Sprint(revisions[i*len(revisions)/n])
		opts.Predicate.AllowWatchBookmarks = i%2 == 0
		switch i % 5 {
		case 1:
			opts.Predicate.Label, what = labels.SelectorFromSet(labels.Set{"color": "red"}), "label"
		case 2:
			opts.Predicate.Field, what = fields.OneTermEqualSelector("spec.color", "red"), "field"
		}
		var p pair
		var err error
		if p.cached, err = r.cached.Watch(t.Context(), prefix, opts); err == nil {
			opts.Predicate.AllowWatchBookmarks = false
			p.etcd, err = r.raw.Watch(t.Context(), prefix, opts)
		}
		if err != nil {
			t.Fatal(err)
		}
		pairs[fmt.Sprintf("%d: %s %s after %s", i, prefix, what, opts.ResourceVersion)] = p
	}
	r.create(t, "a", "last", "red")
	var failed atomic.Bool
	var wg sync.WaitGroup
	for what, p := range pairs {
		wg.Go(func() {
			defer p.cached.Stop()
			defer p.etcd.Stop()
			got, want := readUntil(p.cached, "a/last"), readUntil(p.etcd, "a/last")
			if !slices.Equal(got, want) && !failed.Swap(true) {
				t.Errorf("%s: %d events\n%s\nwant %d\n%s", what, len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
			}
		})
	}
	wg.Wait()
}

// TestPastIsBounded: however much of etcd's history is read, no more is kept than the limits of the cache's own allow, and
// nothing once nobody needs it.
func TestPastIsBounded(t *testing.T) {
	r := shared(t, nil)
	start := r.create(t, "ns", "a", "red")
	for range 3000 {
		r.update(t, "ns", "a", "red")
	}
	const most = 1200
	r.again(t, cacher.Limits{HistoryMin: 5, HistoryMax: most})
	w := watchFrom(t, r.cached, start.GetResourceVersion(), nil)
	for range 3000 {
		next(t, w)
		if events, _ := r.cacher.PastKept(); events == 0 || events > most+10 {
			t.Fatalf("%d events are kept", events)
		}
	}
	r.cacher.ForgetPast()
	if events, bytes := r.cacher.PastKept(); events != 0 || bytes != 0 {
		t.Errorf("%d events are left, %d bytes", events, bytes)
	}
}

// TestPastThatFails: a watch whose history can't be read for a while is told nothing, and goes on when it can be. Then the
// compacted part of it is 410, for whoever needs that and nobody else.
func TestPastThatFails(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	r := newRig(t, client, nil)
	first := r.create(t, "ns", "a", "red")
	second := r.update(t, "ns", "a", "red")
	third := r.update(t, "ns", "a", "red")
	storage := r.again(t, cacher.Limits{})
	storage.fail.Store(2)
	w := watchFrom(t, r.cached, first.GetResourceVersion(), nil)
	for _, want := range []int64{revisionOf(second), revisionOf(third)} {
		if e := next(t, w); e.Type != watch.Modified || revisionOf(e.Object) != want {
			t.Errorf("%s, want %d", describe(e), want)
		}
	}
	storage = r.again(t, cacher.Limits{})
	if _, err := client.Compact(t.Context(), revisionOf(second)); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		status := statusOf(t, next(t, watchFrom(t, r.cached, first.GetResourceVersion(), nil)))
		want := fmt.Sprintf("too old resource version: %s (%s)", first.GetResourceVersion(), second.GetResourceVersion())
		if status.Code != http.StatusGone || status.Message != want {
			t.Errorf("%d: %+v, want %s", i, status, want)
		}
	}
	if n := storage.reads.Load(); n != 1 {
		t.Errorf("etcd was asked %d times for what it has compacted", n)
	}
	if e := next(t, watchFrom(t, r.cached, second.GetResourceVersion(), nil)); revisionOf(e.Object) != revisionOf(third) {
		t.Errorf("after what was compacted: %s", describe(e))
	}
}

// TestRefillIsNotFelt: watches of a cache that is filled again, live ones and those that are behind, go on with what etcd
// tells of the time between.
func TestRefillIsNotFelt(t *testing.T) {
	var faults *heldStorage
	r := shared(t, func(c *cacher.Config) {
		faults = newHeld(c.Storage)
		c.Storage = faults
	})
	start := r.create(t, "ns", "a", "red").GetResourceVersion()
	live, slow := watchFrom(t, r.cached, start, nil), watchFrom(t, r.cached, start, nil)
	var want []string
	change := func(n int) {
		for range n {
			want = append(want, fmt.Sprintf("MODIFIED ns/a at %d", revisionOf(r.update(t, "ns", "a", "red"))))
		}
	}
	change(200) // the slow one has room for fewer
	read := func(w watch.Interface, n int) (got []string) {
		for range n {
			e := next(t, w)
			got = append(got, fmt.Sprintf("%s at %d", describe(e), revisionOf(e.Object)))
		}
		return got
	}
	told := read(live, len(want))
	for range 3 {
		faults.hold = make(chan struct{})
		faults.fail <- apierrors.NewResourceExpired("compacted")
		until(t, "the cache is filled again", func() bool { return r.cacher.Inspect().State == cacher.Refilling })
		change(10)
		close(faults.hold)
		told = append(told, read(live, 10)...)
	}
	change(10)
	told = append(told, read(live, 10)...)
	if !slices.Equal(told, want) {
		t.Errorf("the live watch was told\n%v, want\n%v", told, want)
	}
	if told = read(slow, len(want)); !slices.Equal(told, want) {
		t.Errorf("the slow watch was told\n%v, want\n%v", told, want)
	}
	until(t, "both are live again", func() bool {
		i := r.cacher.Inspect()
		return len(i.Watchers) == 2 && !slices.ContainsFunc(i.Watchers, func(w cacher.WatcherInfo) bool { return w.Behind })
	})
}

// TestRefillAtCompaction: a watch that is behind goes on after a refill if etcd has all that follows its last event, even if
// everything before is compacted.
func TestRefillAtCompaction(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	r, faults := newHeldRig(t, client)
	w := watchFrom(t, r.cached, r.create(t, "ns", "a", "red").GetResourceVersion(), nil)
	until(t, "the watch is live", func() bool {
		i := r.cacher.Inspect()
		return len(i.Watchers) == 1 && !i.Watchers[0].Behind
	})
	// At some event there is no more room: that one waits for the client.
	var last int64
	events := 0
	for behind := false; !behind; events++ {
		last = revisionOf(r.update(t, "ns", "a", "red"))
		until(t, "the watch has the event or is behind", func() bool {
			i := r.cacher.Inspect()
			behind = len(i.Watchers) == 1 && i.Watchers[0].Behind
			return behind || len(i.Watchers) == 1 && i.Watchers[0].At == last
		})
	}
	if _, err := client.Put(t.Context(), "/elsewhere", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	faults.hold = make(chan struct{})
	faults.fail <- apierrors.NewResourceExpired("compacted")
	until(t, "the cache is filled again", func() bool { return r.cacher.Inspect().State == cacher.Refilling })
	missed := revisionOf(r.update(t, "ns", "a", "red"))
	close(faults.hold)
	until(t, "the cache is fresh", func() bool { return r.cacher.Inspect().State == cacher.Fresh })
	for range events {
		next(t, w)
	}
	if e := next(t, w); e.Type != watch.Modified || revisionOf(e.Object) != missed {
		t.Errorf("after the refill: %s, want a change at %d", describe(e), missed)
	}
}

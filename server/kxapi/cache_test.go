package kxapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/etcd3"
)

const cachesRoot = "/apis/kx.dev/v1alpha1/caches"

var pandas = schema.GroupResource{Group: "example.com", Resource: "pandas"}

func newPanda() runtime.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion("example.com/v1")
	u.SetKind("Panda")
	return u
}

// faulty is a storage that can be told to go wrong.
type faulty struct {
	cacher.Storage
	// lose is what begins the keys whose changes the cache never hears of.
	lose string
	// unread and unfollowed are errors of reading all, and of following changes.
	unread, unfollowed atomic.Pointer[error]
	// interrupt ends what follows.
	interrupt chan struct{}
}

func (f *faulty) ReadAll(ctx context.Context, key string, pageSize int64, each func(*object.Encoded)) (int64, error) {
	if err := f.unread.Load(); err != nil {
		return 0, *err
	}
	return f.Storage.ReadAll(ctx, key, pageSize, each)
}

func (f *faulty) Follow(ctx context.Context, key string, revision int64, handle func(store.Changes) error) error {
	if err := f.unfollowed.Load(); err != nil {
		return *err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-f.interrupt:
			cancel()
		case <-ctx.Done():
		}
	}()
	return f.Storage.Follow(ctx, key, revision, func(changes store.Changes) error {
		changes.Changes = slices.DeleteFunc(changes.Changes, func(c store.Change) bool { return f.lose != "" && strings.HasPrefix(c.Key, f.lose) })
		return handle(changes)
	})
}

// den serves the cache of pandas over HTTP.
type den struct {
	storage *faulty
	cacher  *cacher.Cacher
	server  *httptest.Server
}

func newDen(t *testing.T, storage *faulty) *den {
	t.Helper()
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	compactor := etcd3.StartCompactor(client, 0, nil, nil)
	t.Cleanup(compactor.Stop)
	raw, err := etcd3.New(etcd3.Options{
		Client: etcd3.NewClient(client), Compactor: compactor, Codec: unstructured.UnstructuredJSONScheme, NewFunc: newPanda,
		Prefix: "/registry", ResourcePrefix: "/pandas/", GroupResource: pandas,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	storage.Storage, storage.interrupt = raw, make(chan struct{})
	c, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage: storage, ResourcePrefix: "/pandas", GroupResource: pandas, NewFunc: newPanda, Prefill: true,
		GetAttrsFunc: func(runtime.Object) (labels.Set, fields.Set, error) { return nil, nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	var caches cacher.Caches
	t.Cleanup(caches.Add(c))
	return &den{storage: storage, cacher: c, server: newServerOf(t, trace.NewRecorder("p", trace.DefaultLimits), &caches)}
}

func (d *den) create(t *testing.T, name string) int64 {
	t.Helper()
	u := newPanda().(*unstructured.Unstructured)
	u.SetName(name)
	out := &unstructured.Unstructured{}
	if err := d.storage.Create(t.Context(), "/pandas/n/"+name, u, out, 0); err != nil {
		t.Fatal(err)
	}
	return revisionOf(t, out)
}

func (d *den) update(t *testing.T, name string) int64 {
	t.Helper()
	out := &unstructured.Unstructured{}
	err := d.storage.GuaranteedUpdate(t.Context(), "/pandas/n/"+name, out, func(in runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
		in.(*unstructured.Unstructured).SetLabels(map[string]string{"changed": "yes"})
		return in, nil, nil
	}, store.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return revisionOf(t, out)
}

func (d *den) delete(t *testing.T, name string) {
	t.Helper()
	admit := func(context.Context, runtime.Object) error { return nil }
	if err := d.storage.Delete(t.Context(), "/pandas/n/"+name, &unstructured.Unstructured{}, admit, store.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func revisionOf(t *testing.T, u *unstructured.Unstructured) (revision int64) {
	t.Helper()
	if _, err := fmt.Sscan(u.GetResourceVersion(), &revision); err != nil {
		t.Fatal(err)
	}
	return revision
}

func read[T any](t *testing.T, d *den, path string) *T {
	t.Helper()
	code, body := get(t, d.server.URL+cachesRoot+path)
	into := new(T)
	if err := json.Unmarshal([]byte(body), into); code != 200 || err != nil {
		t.Fatalf("%s: %d %s", path, code, body)
	}
	return into
}

// TestDifferences has a cache lose changes: the check names each object that is not the same, and no other.
func TestDifferences(t *testing.T) {
	d := newDen(t, &faulty{lose: "/pandas/n/lost"})
	d.await(t, "is filled", func(s v1alpha1.CacheStatus) bool { return s.State == v1alpha1.CacheFresh }) // what it reads, it has
	d.create(t, "fine")
	updated, deleted := d.create(t, "lost-update"), d.create(t, "lost-deletion")
	if check := read[v1alpha1.CacheCheck](t, d, "/pandas.example.com/check"); check.Status.Consistent || len(check.Status.Differences) != 2 {
		t.Fatalf("%+v", check.Status)
	}
	// A refill finds what was lost.
	d.storage.lose = ""
	d.refill(t)
	if check := read[v1alpha1.CacheCheck](t, d, "/pandas.example.com/check"); !check.Status.Consistent || check.Status.Items != 3 {
		t.Fatalf("%+v", check.Status)
	}
	d.storage.lose = "/pandas/n/lost"
	created, now := d.create(t, "lost-creation"), d.update(t, "lost-update")
	d.delete(t, "lost-deletion")
	d.update(t, "fine")

	check := read[v1alpha1.CacheCheck](t, d, "/pandas.example.com/check").Status
	want := []v1alpha1.CacheDifference{
		{Key: "/pandas/n/lost-creation", EtcdRevision: created},
		{Key: "/pandas/n/lost-deletion", CachedRevision: deleted},
		{Key: "/pandas/n/lost-update", CachedRevision: updated, EtcdRevision: now},
	}
	if check.Consistent || check.Items != 3 || len(check.Differences) != len(want) || check.Revision <= now {
		t.Fatalf("%+v", check)
	}
	for i, got := range check.Differences {
		if !strings.HasPrefix(got.Message, got.Key+" is ") {
			t.Error(got.Message)
		}
		if got.Message = ""; got != want[i] {
			t.Errorf("%+v, want %+v", got, want[i])
		}
	}
	for name, want := range map[string]string{
		"fine":          "",
		"lost-creation": fmt.Sprintf("/pandas/n/lost-creation is in etcd at revision %d, and not in the cache", created),
		"lost-update":   fmt.Sprintf("/pandas/n/lost-update is at revision %d in the cache, and at %d in etcd", updated, now),
		"lost-deletion": fmt.Sprintf("/pandas/n/lost-deletion is in the cache at revision %d, and not in etcd", deleted),
	} {
		read[v1alpha1.Cache](t, d, "/pandas.example.com") // it catches up
		got := read[v1alpha1.CachedObject](t, d, "/pandas.example.com/object?namespace=n&name="+name).Status
		// What is not there now was not there at etcd's revision, which may be later than what the cache has seen.
		if !strings.HasPrefix(got.Difference, want) || want == "" && got.Difference != "" || (got.Cached == nil) != (name == "lost-creation") || (got.Etcd == nil) != (name == "lost-deletion") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// refill makes the cache begin anew.
func (d *den) refill(t *testing.T) {
	t.Helper()
	expired := error(expired("the changes are gone"))
	before := d.cacher.Inspect().Since
	d.storage.unfollowed.Store(&expired)
	d.storage.interrupt <- struct{}{}
	d.await(t, "is refilled", func(s v1alpha1.CacheStatus) bool { return s.Since.After(before) && s.State == v1alpha1.CacheRefilling })
	d.storage.unfollowed.Store(nil)
	d.await(t, "is filled again", func(s v1alpha1.CacheStatus) bool { return s.State == v1alpha1.CacheFresh })
}

func (d *den) await(t *testing.T, what string, is func(v1alpha1.CacheStatus) bool) v1alpha1.CacheStatus {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; {
		list := read[v1alpha1.CacheList](t, d, "")
		if len(list.Items) == 1 && is(list.Items[0].Status) {
			return list.Items[0].Status
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cache never %s: %+v", what, list.Items)
		}
	}
}

// TestStates shows a cache in each state, and why it is in it.
func TestStates(t *testing.T) {
	down := errors.New("etcd is down")
	storage := &faulty{}
	storage.unread.Store(&down)
	d := newDen(t, storage)
	d.await(t, "says why it is not filled", func(s v1alpha1.CacheStatus) bool {
		return s.State == v1alpha1.CacheUninitialized && strings.Contains(s.Error, down.Error())
	})
	if code, body := get(t, d.server.URL+cachesRoot+"/pandas.example.com/check"); code != 503 || !strings.Contains(body, "is uninitialized") || !strings.Contains(body, down.Error()) {
		t.Errorf("a check before it was filled: %d %s", code, body)
	}
	storage.unread.Store(nil)
	if s := d.await(t, "is filled", func(s v1alpha1.CacheStatus) bool { return s.State == v1alpha1.CacheFresh }); s.Error != "" {
		t.Errorf("%+v", s)
	}
	storage.unfollowed.Store(&down)
	storage.interrupt <- struct{}{}
	d.await(t, "is broken", func(s v1alpha1.CacheStatus) bool {
		return s.State == v1alpha1.CacheBroken && strings.Contains(s.Error, down.Error())
	})
	if code, body := get(t, d.server.URL+cachesRoot+"/pandas.example.com/check"); code != 503 || !strings.Contains(body, "is broken") || !strings.Contains(body, down.Error()) {
		t.Errorf("a check while it is broken: %d %s", code, body)
	}
	// What etcd has since, a broken cache does not see: it says how far it is behind.
	made := d.create(t, "a")
	if s := read[v1alpha1.Cache](t, d, "/pandas.example.com").Status; s.State != v1alpha1.CacheBroken || s.EtcdRevision < made || s.Lag == 0 || s.CaughtUpMicros != nil {
		t.Errorf("%+v", s)
	}
	if s := read[v1alpha1.CachedObject](t, d, "/pandas.example.com/object?namespace=n&name=a").Status; !strings.HasSuffix(s.Difference, "has not seen that yet") {
		t.Errorf("%+v", s)
	}
	storage.unfollowed.Store(nil)
	s := d.await(t, "follows again", func(s v1alpha1.CacheStatus) bool { return s.State == v1alpha1.CacheFresh && s.Items == 1 })
	if s.Error != "" {
		t.Errorf("%+v", s)
	}

	var table metav1.Table
	_, body := get(t, d.server.URL+cachesRoot, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	if err := json.Unmarshal([]byte(body), &table); err != nil || len(table.Rows) != 1 || len(table.Rows[0].Cells) != len(table.ColumnDefinitions) {
		t.Fatalf("%v: %s", err, body)
	}
	var names []string
	for _, c := range table.ColumnDefinitions {
		names = append(names, c.Name)
	}
	cells := table.Rows[0].Cells
	if fmt.Sprint(names[:10]) != "[Name State Since Items Bytes Revision Lag Watches Hits Fallbacks]" ||
		cells[0] != "pandas.example.com" || cells[1] != "Fresh" || cells[3] != 1.0 {
		t.Errorf("%v\n%v", names, cells)
	}
}

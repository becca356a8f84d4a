package cacher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/embedded"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// listening starts an etcd that clients can connect to. It ends with the test.
func listening(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{
		Dir: dir, Ephemeral: true, Listen: []string{"http://127.0.0.1:0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

func saveSnapshot(t *testing.T, server *embedded.Server) (file string) {
	t.Helper()
	client := server.Client()
	defer func() { _ = client.Close() }()
	snapshot, err := client.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(snapshot)
	if err := errors.Join(err, snapshot.Close()); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRestoredAndAhead puts an etcd that was restored from a snapshot in the place of the one that the cache follows, with the
// same address and cluster. It has passed the cache's revision by other writes, so that the watch could go on where it
// was: that would lose what the new history has between, and keep what it never had.
func TestRestoredAndAhead(t *testing.T) {
	for name, diverge := range map[string]struct {
		before func(*testing.T, *rig) // what is lost
		after  func(*testing.T, store.Interface)
		want   []string
	}{
		"an object is lost": {
			before: func(t *testing.T, r *rig) { r.create(t, "ns", "lost", "red") },
			after:  func(*testing.T, store.Interface) {},
			want:   []string{"ns/a", "ns/b"},
		},
		"a deletion is lost": {
			before: func(t *testing.T, r *rig) { r.delete(t, "ns", "b") },
			after:  func(*testing.T, store.Interface) {},
			want:   []string{"ns/a", "ns/b"},
		},
		"nothing is lost, and something came between": {
			before: func(*testing.T, *rig) {},
			after: func(t *testing.T, s store.Interface) {
				if err := s.Create(t.Context(), key("ns", "new"), panda("ns", "new", "red"), nil, 0); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"ns/a", "ns/b", "ns/new"},
		},
	} {
		t.Run(name, func(t *testing.T) { restoredAndAhead(t, diverge.before, diverge.after, diverge.want) })
	}
}

func restoredAndAhead(t *testing.T, before func(*testing.T, *rig), after func(*testing.T, store.Interface), want []string) {
	old := listening(t, t.TempDir())
	proxy := newProxy(t, old.Addrs()[0].String())
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + proxy.addr}, DialTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	client.Watcher = etcd3.NewWatcher(client)
	r := newRig(t, client, nil)
	r.create(t, "ns", "a", "red")
	r.create(t, "ns", "b", "red")
	snapshot := saveSnapshot(t, old)
	before(t, r)
	put(t, client, 10) // of other resources
	list(t, r.cached, everything)
	w := watchFrom(t, r.cached, fmt.Sprint(r.cacher.Inspect().Revision), nil)
	seen := r.cacher.Inspect().Revision

	proxy.cut()
	dir := filepath.Join(t.TempDir(), "restored")
	if _, err := admin.Restore(t.Context(), admin.RestoreOptions{File: snapshot, Dir: dir, Bump: 1}, nil); err != nil {
		t.Fatal(err)
	}
	restored := listening(t, dir)
	inside := restored.Client()
	t.Cleanup(func() { _ = inside.Close() })
	direct := open(t, inside, r.prefix)
	after(t, direct)
	if now := put(t, inside, 30); now <= seen {
		t.Fatalf("the restored etcd is at %d, and the cache at %d", now, seen)
	}
	proxy.aim(restored.Addrs()[0].String())
	proxy.heal()

	if status := statusOf(t, next(t, w)); status.Code != http.StatusGone {
		t.Errorf("%+v", status)
	}
	until(t, "the cache is filled again", func() bool { return r.cacher.Inspect().State == cacher.Fresh })
	if got := names(list(t, r.cached, everything)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	consistent(t, r)
}

// put writes n times what is nobody's, and says where etcd is then.
func put(t *testing.T, client *clientv3.Client, n int) (revision int64) {
	t.Helper()
	for i := range n {
		resp, err := client.Put(t.Context(), "/others", fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		revision = resp.Header.Revision
	}
	return revision
}

// TestReconnectKeepsWatches: an etcd that is the same after a lost connection is no reason to begin again.
func TestReconnectKeepsWatches(t *testing.T) {
	server := listening(t, t.TempDir())
	proxy := newProxy(t, server.Addrs()[0].String())
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + proxy.addr}, DialTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	client.Watcher = etcd3.NewWatcher(client)
	r := newRig(t, client, nil)
	w := watchFrom(t, r.cached, r.create(t, "ns", "a", "red").GetResourceVersion(), nil)
	inside := server.Client()
	t.Cleanup(func() { _ = inside.Close() })
	direct := open(t, inside, r.prefix)
	for i := range 3 {
		proxy.cut()
		name := fmt.Sprintf("n%d", i)
		if err := direct.Create(t.Context(), key("ns", name), panda("ns", name, "red"), nil, 0); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			if err := direct.Delete(t.Context(), key("ns", "a"), &unstructured.Unstructured{}, store.ValidateAllObjectFunc, store.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		proxy.heal()
		if got := describe(next(t, w)); got != "ADDED ns/"+name {
			t.Error(got)
		}
		if i == 1 {
			if got := describe(next(t, w)); got != "DELETED ns/a" {
				t.Error(got)
			}
		}
	}
	until(t, "the cache is fresh", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return r.cached.GetList(ctx, "/pandas/", everything, &unstructured.UnstructuredList{}) == nil
	})
	consistent(t, r)
}

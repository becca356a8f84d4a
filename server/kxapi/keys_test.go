package kxapi

import (
	"fmt"
	"strings"
	"testing"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// newEtcd is an etcd with nothing in it.
func newEtcd(t *testing.T) *Etcd {
	t.Helper()
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	return &Etcd{Live: admin.NewLive(client, "the etcd of the test"), Decoder: &admin.Decoder{Prefix: "/registry"}}
}

// TestKeyFollowerTooSlow: what waits for a client is bounded, and it is told so.
func TestKeyFollowerTooSlow(t *testing.T) {
	keys := &keys{&Etcd{Decoder: &admin.Decoder{Prefix: "/registry"}}, nil}
	f := &keyFollower{versionFeed{events: make(chan watch.Event, keyEventsMost+1)}, keys, keys.resource(), &metainternalversion.ListOptions{}}
	more, n := true, 0
	for ; more; n++ {
		more = f.take(admin.Event{KV: admin.KV{Key: "/a", ModRevision: int64(n + 1)}}, nil)
	}
	if n != keyEventsMost+1 || len(f.events) != keyEventsMost+1 {
		t.Errorf("%d events were taken, %d wait", n, len(f.events))
	}
	var last watch.Event
	for len(f.events) > 0 {
		last = <-f.events
	}
	if status, ok := last.Object.(*metav1.Status); last.Type != watch.Error || !ok || status.Code != 410 {
		t.Errorf("%+v", last)
	}
}

// TestKeyHistoryCut: of a key that was written very often, or is very large, the latest revisions are told of.
func TestKeyHistoryCut(t *testing.T) {
	etcd := newEtcd(t)
	r := &keys{etcd, trace.NewRecorder("p", trace.DefaultLimits)}
	for range revisionsMost + 3 {
		if _, err := etcd.Live.Client.Put(t.Context(), "/often", "x"); err != nil {
			t.Fatal(err)
		}
	}
	large := strings.Repeat("x", 1<<20)
	for range revisionBytesMost>>20 + 2 {
		if _, err := etcd.Live.Client.Put(t.Context(), "/large", large); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]string{"/often": "1000 of 1003", "/large": "32 of 34"} {
		got, err := r.history(t.Context(), v1alpha1.KeyName(key))
		if err != nil {
			t.Fatal(err)
		}
		s := got.Status
		n := len(s.Revisions)
		if text := fmt.Sprint(n, " of ", int64(n)+s.Cut); text != want || s.Revisions[n-1].Version != int64(n)+s.Cut {
			t.Errorf("%s: %s, the last of version %d", key, text, s.Revisions[n-1].Version)
		}
	}
}

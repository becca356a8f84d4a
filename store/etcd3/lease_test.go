package etcd3_test

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3"
)

func leaseOf(t *testing.T, client *clientv3.Client, key string) int64 {
	t.Helper()
	resp, err := client.Get(t.Context(), key)
	if err != nil || len(resp.Kvs) != 1 {
		t.Fatalf("%d values at %s, %v", len(resp.Kvs), key, err)
	}
	return resp.Kvs[0].Lease
}

func TestLeasesAreShared(t *testing.T) {
	s, client, prefix := shared(t, func(o *etcd3.Options) { o.Leases.MaxObjectCount = 2 })
	leases := map[string]int64{}
	for _, o := range []struct {
		name string
		ttl  uint64
	}{{"a", 3600}, {"b", 3600}, {"c", 3600}, {"d", 600}, {"e", 0}} {
		if err := s.Create(t.Context(), key(o.name), configMap(o.name, "x"), nil, o.ttl); err != nil {
			t.Fatal(err)
		}
		leases[o.name] = leaseOf(t, client, prefix+key(o.name))
	}
	if leases["a"] == 0 || leases["a"] != leases["b"] {
		t.Errorf("two objects with one TTL have leases %x and %x", leases["a"], leases["b"])
	}
	if leases["c"] == leases["a"] {
		t.Error("a lease took more objects than it may")
	}
	if leases["d"] == leases["c"] || leases["e"] != 0 {
		t.Errorf("another TTL: lease %x after %x; none: lease %x", leases["d"], leases["c"], leases["e"])
	}
	ttl, err := client.TimeToLive(t.Context(), clientv3.LeaseID(leases["a"]))
	if err != nil || ttl.GrantedTTL < 3600 || ttl.GrantedTTL > 3660 {
		t.Errorf("a TTL of 3600 s was granted as %d s, %v", ttl.GrantedTTL, err)
	}
}

// TestUpdateSetsTheTTL also shows that an update without a TTL makes the object stay.
func TestUpdateSetsTheTTL(t *testing.T) {
	s, client, prefix := shared(t, nil)
	create(t, s, "a", "x")
	ttl := uint64(3600)
	err := s.GuaranteedUpdate(t.Context(), key("a"), &corev1.ConfigMap{}, func(input runtime.Object, res store.ResponseMeta) (runtime.Object, *uint64, error) {
		out, _, err := setData("y")(input, res)
		return out, &ttl, err
	}, store.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if leaseOf(t, client, prefix+key("a")) == 0 {
		t.Error("an update with a TTL has no lease")
	}
	if err := s.GuaranteedUpdate(t.Context(), key("a"), &corev1.ConfigMap{}, setData("z"), store.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if lease := leaseOf(t, client, prefix+key("a")); lease != 0 {
		t.Errorf("an update without a TTL kept lease %x", lease)
	}
}

func TestObjectsEnd(t *testing.T) {
	s, _, _ := shared(t, nil)
	w, err := s.Watch(t.Context(), "/configmaps/", everything)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := s.Create(t.Context(), key("a"), configMap("a", "x"), nil, 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
		if e := next(t, w); e.Type != want {
			t.Errorf("event %s, want %s", e.Type, want)
		}
	}
}

package service_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin/builtintest"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

// TestRestoredWithoutRanges starts on an etcd that has services and no RangeAllocations, as a restored one may.
func TestRestoredWithoutRanges(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	s := newServer(t, etcd)
	s.create(t, web("x", ofType("NodePort")))
	if _, err := etcd.Client.Delete(t.Context(), etcd.Prefix+"/ranges/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	restarted := newServer(t, etcd)
	got := restarted.create(t, web("y", ofType("NodePort")))
	if got.Spec.ClusterIP != "10.96.1.2" || got.Spec.Ports[0].NodePort != 30087 {
		t.Errorf("%+v", got.Spec)
	}
	restarted.wantTaken(t, []int{256, 257}, []int{86, 87})
}

// TestStoredRangeDecides starts on an etcd whose ranges are another's.
func TestStoredRangeDecides(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	codec, err := scheme.StorageCodec(corev1.Resource("serviceipallocations"), runtime.ContentTypeProtobuf)
	if err != nil {
		t.Fatal(err)
	}
	// 10.0.0.0/29 has six addresses, of which the first, 10.0.0.1, is taken.
	data, err := runtime.Encode(codec, &corev1.RangeAllocation{Range: "10.0.0.0/29", Data: []byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.Client.Put(t.Context(), etcd.Prefix+"/ranges/serviceips", string(data)); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, etcd)
	for i := 2; i <= 6; i++ {
		if got, want := s.create(t, web(fmt.Sprintf("x%d", i))).Spec.ClusterIP, fmt.Sprintf("10.0.0.%d", i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	_, err = s.try(builtintest.Context(t, "default"), web("one-too-many"))
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed to allocate a serviceIP: range is full") {
		t.Errorf("a full range: %v", err)
	}
	s.remove(t, "x3")
	if got := s.create(t, web("again")).Spec.ClusterIP; got != "10.0.0.3" {
		t.Errorf("after one was given back: %s", got)
	}
}

// TestTwoServers creates services through two servers of one etcd at once: no address may be given twice.
func TestTwoServers(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	servers := []server{newServer(t, etcd), newServer(t, etcd)}
	const each = 10
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		seen = map[string]string{}
	)
	ctx := builtintest.Context(t, "default")
	for n, s := range servers {
		for i := range each {
			wg.Go(func() {
				svc, err := s.try(ctx, web(fmt.Sprintf("x-%d-%d", n, i)))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if other, ok := seen[svc.Spec.ClusterIP]; ok {
					t.Errorf("%s and %s both have %s", svc.Name, other, svc.Spec.ClusterIP)
				}
				seen[svc.Spec.ClusterIP] = svc.Name
			})
		}
	}
	wg.Wait()
	if len(seen) != each*len(servers) {
		t.Errorf("%d addresses", len(seen))
	}
}

// TestServiceOfOldTimes updates a service that was stored before there were clusterIPs and IP families.
func TestServiceOfOldTimes(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	const old = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x","namespace":"default","uid":"u"},` +
		`"spec":{"clusterIP":"10.96.1.1","ports":[{"port":80}],"selector":{"a":"b"}}}`
	if _, err := etcd.Client.Put(t.Context(), etcd.Prefix+"/services/specs/default/x", old); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, etcd)
	obj, err := s.Get(builtintest.Context(t, "default"), "x", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	svc := obj.(*corev1.Service)
	svc.Labels = map[string]string{"a": "b"}
	if svc, err = s.update(t, svc); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(svc.Spec.ClusterIPs, []string{"10.96.1.1"}) || !slices.Equal(svc.Spec.IPFamilies, []corev1.IPFamily{"IPv4"}) ||
		*svc.Spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		t.Errorf("%+v", svc.Spec)
	}
	if got := s.create(t, web("y")).Spec.ClusterIP; got != "10.96.1.2" {
		t.Errorf("the next service has %s", got)
	}
}

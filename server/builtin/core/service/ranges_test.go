package service_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

// TestRestoredWithoutRanges starts on an etcd that has services, and nothing that says what they use, as one that older
// servers filled.
func TestRestoredWithoutRanges(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	s := newServer(t, etcd)
	s.create(t, web("x", ofType("NodePort")))
	for _, prefix := range []string{"/ranges/", "/ipaddresses/"} {
		if _, err := etcd.Client.Delete(t.Context(), etcd.Prefix+prefix, clientv3.WithPrefix()); err != nil {
			t.Fatal(err)
		}
	}
	restarted := newServer(t, etcd)
	got := restarted.create(t, web("y", ofType("NodePort")))
	if got.Spec.ClusterIP != "10.96.1.2" || got.Spec.Ports[0].NodePort != 30087 {
		t.Errorf("%+v", got.Spec)
	}
	restarted.wantTaken(t, []int{256, 257}, []int{86, 87})
}

// put stores an object as the API would.
func put(t *testing.T, etcd *builtintest.Etcd, key string, resource schema.GroupResource, obj runtime.Object) {
	t.Helper()
	codec, err := scheme.StorageCodec(resource, runtime.ContentTypeProtobuf)
	if err != nil {
		t.Fatal(err)
	}
	data, err := runtime.Encode(codec, obj)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.Client.Put(t.Context(), etcd.Prefix+key, string(data)); err != nil {
		t.Fatal(err)
	}
}

func putAddress(t *testing.T, etcd *builtintest.Etcd, ip, owner string, age time.Duration) {
	t.Helper()
	put(t, etcd, "/ipaddresses/"+ip, networkingv1.Resource("ipaddresses"), &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Name: ip, UID: "u", CreationTimestamp: metav1.NewTime(time.Now().Add(-age)),
			Labels: map[string]string{networkingv1.LabelManagedBy: "ipallocator.k8s.io"},
		},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "default", Name: owner}},
	})
}

// TestAbandonedAddresses starts on an etcd in which a server took addresses and was killed before it wrote the services.
func TestAbandonedAddresses(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	putAddress(t, etcd, "10.96.1.1", "never-came", time.Hour)
	putAddress(t, etcd, "10.96.1.2", "about-to-come", 0)
	s := newServer(t, etcd)
	for i, want := range []string{"10.96.1.1", "10.96.1.3"} {
		if got := s.create(t, web(fmt.Sprintf("x%d", i))).Spec.ClusterIP; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	// Nobody takes away what says that it is another's.
	if _, err := etcd.Client.Delete(t.Context(), etcd.Prefix+"/ipaddresses/10.96.1.3"); err != nil {
		t.Fatal(err)
	}
	putAddress(t, etcd, "10.96.1.3", "another", 0)
	s.remove(t, "x0")
	s.remove(t, "x1")
	s.wantTaken(t, []int{257, 258}, nil)
}

// TestIPAddress looks at the object by which a service has its address. Its fields are those of a kube-apiserver v1.37.1.
func TestIPAddress(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	s := newServer(t, etcd)
	s.create(t, web("x"))
	answer, err := etcd.Client.Get(t.Context(), etcd.Prefix+"/ipaddresses/10.96.1.1")
	if err != nil || answer.Count != 1 {
		t.Fatal(answer, err)
	}
	obj, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), answer.Kvs[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	got := obj.(*networkingv1.IPAddress)
	if got.UID == "" || got.CreationTimestamp.IsZero() || len(got.ManagedFields) != 1 || got.ManagedFields[0].Time == nil {
		t.Fatalf("%+v", got)
	}
	got.UID, got.CreationTimestamp, got.ManagedFields[0].Time = "", metav1.Time{}, nil
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"kind":"IPAddress","apiVersion":"networking.k8s.io/v1","metadata":{"name":"10.96.1.1",` +
		`"labels":{"ipaddress.kubernetes.io/ip-family":"IPv4","ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"},` +
		`"managedFields":[{"manager":"kube-apiserver","operation":"Update","apiVersion":"networking.k8s.io/v1","fieldsType":"FieldsV1",` +
		`"fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:ipaddress.kubernetes.io/ip-family":{},"f:ipaddress.kubernetes.io/managed-by":{}}},` +
		`"f:spec":{"f:parentRef":{".":{},"f:name":{},"f:namespace":{},"f:resource":{}}}}}]},` +
		`"spec":{"parentRef":{"resource":"services","namespace":"default","name":"x"}}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

// TestStoredRangeDecides starts on an etcd that has ranges.
func TestStoredRangeDecides(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	for name, cidrs := range map[string][]string{"a-not-ready": {"10.1.0.0/24"}, "kubernetes": {"fd00::/108", "10.0.0.0/29"}} {
		cidr := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
		if name != "kubernetes" {
			cidr.Status.Conditions = []metav1.Condition{{Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionFalse}}
		}
		put(t, etcd, "/servicecidrs/"+name, networkingv1.Resource("servicecidrs"), cidr)
	}
	// 10.0.0.0/29 has six addresses, of which the first, 10.0.0.1, is taken.
	putAddress(t, etcd, "10.0.0.1", "about-to-come", 0)
	s := newServer(t, etcd)
	for i := 2; i <= 6; i++ {
		if got, want := s.create(t, web(fmt.Sprintf("x%d", i))).Spec.ClusterIP, fmt.Sprintf("10.0.0.%d", i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	_, err := s.try(t, builtintest.Context(t, "default"), web("one-too-many"))
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed to allocate a serviceIP: range is full") {
		t.Errorf("a full range: %v", err)
	}
	if _, err := s.try(t, builtintest.Context(t, "default"), web("x", withIP("10.1.0.5"))); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), "the provided network does not match the current range") {
		t.Errorf("of a range that is not ready: %v", err)
	}
	newServer(t, etcd).remove(t, "x3") // another server on this etcd gives it back
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
				svc, err := s.try(t, ctx, web(fmt.Sprintf("x-%d-%d", n, i)))
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

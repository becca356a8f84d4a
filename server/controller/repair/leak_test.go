package repair

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/core/service"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/store/admin"
)

// cluster has the storage of services, and nobody else that writes.
type cluster struct {
	*testing.T
	*builtintest.Etcd
	storages map[schema.GroupVersionResource]rest.Storage
}

func newCluster(t *testing.T) cluster {
	etcd := builtintest.NewEtcd(t)
	return cluster{t, etcd, map[schema.GroupVersionResource]rest.Storage{ServiceResource: builtintest.Storages(t, service.DeclareServices(service.Needs{}), etcd)[""]}}
}

// run runs the controller.
func (c cluster) run(patience time.Duration) {
	kit := &work.Kit{
		Storage: func(r schema.GroupVersionResource) rest.Storage { return c.storages[r] },
		Etcd:    admin.NewLive(c.Client, "the etcd of the test"), Decoder: &admin.Decoder{Prefix: c.Prefix},
		Metrics: work.NewMetrics(nil), Log: slog.New(slog.DiscardHandler),
	}
	ports := NewPorts(kit)
	ports.patience = patience
	from := feed.New(kit.Etcd, kit.Decoder, kit.Log)
	from.Follow(ports, ServiceResource.GroupResource(), AllocationResource.GroupResource())
	ctx, stop := context.WithCancel(c.Context())
	var running sync.WaitGroup
	running.Go(func() { ports.Run(ctx) })
	running.Go(func() { from.Run(ctx) })
	c.Cleanup(func() { stop(); running.Wait() })
}

func (c cluster) put(key, value string) {
	c.Helper()
	if _, err := c.Client.Put(c.Context(), c.Prefix+"/"+key, value); err != nil {
		c.Fatal(err)
	}
}

// mark has ports marked as taken, counted from 30000.
func (c cluster) mark(ports ...uint) {
	c.Helper()
	var bits uint64
	for _, port := range ports {
		bits |= 1 << port
	}
	data := make([]byte, 0, 8)
	for shift := 56; shift >= 0; shift -= 8 {
		data = append(data, byte(bits>>shift))
	}
	codec, err := scheme.StorageCodec(corev1.Resource("servicenodeportallocations"), runtime.ContentTypeProtobuf)
	if err != nil {
		c.Fatal(err)
	}
	value, err := runtime.Encode(codec, &corev1.RangeAllocation{Range: "30000-32767", Data: bytes.TrimLeft(data, "\x00")})
	if err != nil {
		c.Fatal(err)
	}
	c.put(portsKey, string(value))
}

func (c cluster) service(name string, port int32) {
	c.Helper()
	svc := builtintest.Defaulted(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: port}}},
	})
	_, err := c.storages[ServiceResource].(rest.Creater).Create(builtintest.Context(c.T, "default"), svc, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
}

// await waits until these ports are marked and no others.
func (c cluster) await(ports ...uint32) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 5*time.Minute)
	defer cancel()
	got := []uint32{}
	for changes := c.Client.Watch(ctx, c.Prefix+"/"+portsKey, clientv3.WithRev(1)); ; {
		response, open := <-changes
		if !open || response.Err() != nil {
			c.Fatalf("there are %v, and not %v: %v", got, ports, response.Err())
		}
		for _, event := range response.Events {
			obj, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), event.Kv.Value)
			if err != nil {
				c.Fatal(err)
			}
			is, err := service.AllocationOf(obj.(*corev1.RangeAllocation))
			if err != nil {
				c.Fatal(err)
			}
			got = got[:0]
			for port := range is.All() {
				got = append(got, port)
			}
			if slices.Equal(got, ports) {
				return
			}
		}
	}
}

// TestLeaks has ports that no service has: they are freed after some time, and the others stay.
func TestLeaks(t *testing.T) {
	c := newCluster(t)
	c.service("before", 30001)
	c.mark(1, 5, 40)
	c.run(100 * time.Millisecond)
	c.await(30001)
	c.service("after", 30002)
	c.mark(1, 2, 6)
	c.await(30001, 30002)
}

// TestLedger: a leak waits its time from when it was seen, and no port leaks while a service is unreadable.
func TestLedger(t *testing.T) {
	l, at := newLedger(), time.Unix(1000, 0)
	if err := l.allocate(&corev1.RangeAllocation{Data: []byte{0b110}}); err != nil {
		t.Fatal(err)
	}
	l.put("default/a", []uint32{30001})
	l.suspect(at)
	l.suspect(at.Add(time.Minute))
	leaked, next := l.leaked(at.Add(-time.Second))
	if len(leaked) != 0 || next != at {
		t.Errorf("before its time: %v, %v", leaked, next)
	}
	if leaked, next = l.leaked(at); !slices.Equal(leaked, []uint32{30002}) || !next.IsZero() {
		t.Errorf("at its time: %v, %v", leaked, next)
	}
	l.unreadable["default/b"] = true
	if leaked, _ = l.leaked(at); leaked != nil {
		t.Errorf("a service is unreadable: %v", leaked)
	}
	delete(l.unreadable, "default/b")
	l.put("default/a", nil)
	l.suspect(at.Add(time.Minute))
	if leaked, next = l.leaked(at); !slices.Equal(leaked, []uint32{30002}) || next != at.Add(time.Minute) {
		t.Errorf("the other one has become free: %v, %v", leaked, next)
	}
}

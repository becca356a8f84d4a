package factory_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/embedded"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/transform"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

var configmaps = schema.GroupResource{Resource: "configmaps"}

func codec(t testing.TB) runtime.Codec {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return serializer.NewCodecFactory(scheme).LegacyCodec(corev1.SchemeGroupVersion)
}

func config(t testing.TB, transport factory.TransportConfig) *factory.Config {
	t.Helper()
	c := factory.NewDefaultConfig(embedtest.Prefix(), codec(t))
	c.Transport = transport
	return c
}

func create(t testing.TB, c *factory.Config) (store.Interface, factory.DestroyFunc) {
	t.Helper()
	s, destroy, err := factory.Create(*c.ForResource(configmaps),
		func() runtime.Object { return &corev1.ConfigMap{} }, func() runtime.Object { return &corev1.ConfigMapList{} }, "/configmaps")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(destroy)
	return s, destroy
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string]string{"k": "v"}}
}

func TestStorageTypes(t *testing.T) {
	shared := factory.TransportConfig{InProcess: embedtest.Shared(t)}
	for storageType, want := range map[string]string{
		"": "", "etcd3": "",
		"etcd2": "etcd2 is no longer a supported storage backend",
		"mongo": "unknown storage type: mongo",
	} {
		c := config(t, shared)
		c.Type = storageType
		check := func(what string, err error) {
			t.Helper()
			if (err == nil) != (want == "") || err != nil && err.Error() != want {
				t.Errorf("%s of %q: %v, want %q", what, storageType, err, want)
			}
		}
		resource := c.ForResource(configmaps)
		resource.Notes = trace.NewNotes(trace.StepNote{}, 2)
		_, destroy, err := factory.Create(*resource, func() runtime.Object { return &corev1.ConfigMap{} }, nil, "/configmaps")
		check("Create", err)
		if err == nil {
			destroy()
		}
		w := &trace.Way{}
		if w.Add(resource.Notes); w.Steps[0].ID != steps.StorageFactory || w.Steps[0].Error != want || want == "" && w.Steps[0].Why == "" {
			t.Errorf("%q is noted as %+v", storageType, w.Steps)
		}
		_, err = factory.CreateHealthCheck(t.Context(), *c)
		check("CreateHealthCheck", err)
		_, err = factory.CreateReadyCheck(t.Context(), *c)
		check("CreateReadyCheck", err)
	}
}

// TestStorages writes and reads through each way of reaching an etcd.
func TestStorages(t *testing.T) {
	remote := embedtest.StartCluster(t)
	for name, transport := range map[string]factory.TransportConfig{
		"in process": {InProcess: embedtest.Shared(t)},
		"servers":    {ServerList: remote.Endpoints()},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t, transport)
			s, destroy := create(t, c)
			other, _ := create(t, c)

			watch, err := other.Watch(t.Context(), "/configmaps/default", store.ListOptions{Recursive: true, Predicate: store.Everything})
			if err != nil {
				t.Fatal(err)
			}
			out := &corev1.ConfigMap{}
			if err := s.Create(t.Context(), "/configmaps/default/a", configMap("a"), out, 0); err != nil {
				t.Fatal(err)
			}
			event := <-watch.ResultChan()
			if got, ok := event.Object.(*corev1.ConfigMap); !ok || got.ResourceVersion != out.ResourceVersion {
				t.Errorf("watched %v, want %v", event, out)
			}
			watch.Stop()

			// The end of one storage leaves the other its connection, and an end is one however often it is asked for.
			destroy()
			destroy()
			if err := other.Get(t.Context(), "/configmaps/default/a", store.GetOptions{}, out); err != nil || out.Data["k"] != "v" {
				t.Errorf("got %v, %v", out, err)
			}
		})
	}
}

func TestTransformerAndUnreadableObject(t *testing.T) {
	server := embedtest.Shared(t)
	c := config(t, factory.TransportConfig{InProcess: server})
	c.Transformer = transform.NewSecretbox([32]byte{1})
	s, _ := create(t, c)
	if err := s.Create(t.Context(), "/configmaps/default/a", configMap("a"), nil, 0); err != nil {
		t.Fatal(err)
	}
	client := server.Client()
	defer func() { _ = client.Close() }()
	raw, err := client.Get(t.Context(), c.Prefix+"/configmaps/default/a")
	if err != nil || len(raw.Kvs) != 1 || strings.Contains(string(raw.Kvs[0].Value), "default") {
		t.Errorf("stored %v, %v", raw, err)
	}
	// Without the key it is an unreadable object, which can be deleted.
	c.Transformer = nil
	plain, _ := create(t, c)
	err = plain.Get(t.Context(), "/configmaps/default/a", store.GetOptions{}, &corev1.ConfigMap{})
	if !store.IsCorruptObject(err) {
		t.Errorf("reading without the key: %v", err)
	}
	err = plain.Delete(t.Context(), "/configmaps/default/a", &corev1.ConfigMap{}, store.ValidateAllObjectFunc, store.DeleteOptions{ExpectTransformOrDecodeError: true})
	if err != nil {
		t.Errorf("deleting it: %v", err)
	}
}

func TestNothingGiven(t *testing.T) {
	_, _, err := factory.Create(*config(t, factory.TransportConfig{}).ForResource(configmaps), nil, nil, "/configmaps")
	if err == nil || !strings.Contains(err.Error(), "no etcd is given") || !strings.Contains(err.Error(), "configmaps") {
		t.Errorf("got %v", err)
	}
}

func TestBadTLSFiles(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		transport factory.TransportConfig
		want      string
	}{
		"missing CA":   {factory.TransportConfig{TrustedCAFile: "/none/ca.pem"}, "/none/ca.pem"},
		"missing pair": {factory.TransportConfig{CertFile: "/none/cert.pem", KeyFile: "/none/key.pem"}, "/none/cert.pem"},
		"key alone":    {factory.TransportConfig{KeyFile: "/none/key.pem"}, "must both be present"},
		"no PEM":       {factory.TransportConfig{TrustedCAFile: notPEM}, notPEM},
	} {
		t.Run(name, func(t *testing.T) {
			c.transport.ServerList = []string{"https://127.0.0.1:2379"}
			_, _, err := factory.Create(*config(t, c.transport).ForResource(configmaps), nil, nil, "/configmaps")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "https://127.0.0.1:2379") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// eventually waits for a check to be of one opinion. A check answers from memory for a while.
func eventually(t *testing.T, check func() error, want func(error) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if want(err) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the check still says %v", err)
		case <-tick.C:
		}
	}
}

func healthy(err error) bool { return err == nil }

func says(text string) func(error) bool {
	return func(err error) bool { return err != nil && strings.Contains(err.Error(), text) }
}

func TestHealthFollowsEtcd(t *testing.T) {
	cluster := embedtest.StartCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := config(t, factory.TransportConfig{ServerList: cluster.Endpoints()})
	c.HealthcheckTimeout, c.ReadycheckTimeout = time.Second, time.Second
	health, err := factory.CreateHealthCheck(ctx, *c)
	if err != nil {
		t.Fatal(err)
	}
	ready, err := factory.CreateReadyCheck(ctx, *c)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, health, healthy)
	eventually(t, ready, healthy)
	cluster.Stop(0)
	eventually(t, health, healthy)
	cluster.Stop(1)
	// One of three can't promise anything.
	eventually(t, health, says("error getting data from etcd"))
	if err := cluster.Restart(ctx, 0); err != nil {
		t.Fatal(err)
	}
	eventually(t, health, healthy)
	eventually(t, ready, healthy)
	cancel()
	eventually(t, health, says("shutting down"))
}

func TestHealthInProcess(t *testing.T) {
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	c := config(t, factory.TransportConfig{InProcess: server})
	c.HealthcheckTimeout = 100 * time.Millisecond
	check, err := factory.CreateHealthCheck(t.Context(), *c)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, check, healthy)
	server.Close()
	eventually(t, check, says("error getting data from etcd"))
}

// TestConnectionIsShared counts connections: all storages and checks of one configuration have one, and none is left.
func TestConnectionIsShared(t *testing.T) {
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), Ephemeral: true, Listen: []string{"http://127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	proxy := countConnections(t, server.Addrs()[0].String())
	transport := factory.TransportConfig{ServerList: []string{"http://" + proxy.address}}
	shared := factory.NewPool(nil, nil)
	var destroys []factory.DestroyFunc
	for range 5 {
		c := config(t, transport)
		c.Shared = shared
		// The monitor asks each member, through a connection to it that is closed again.
		c.DBMetricPollInterval = 0
		s, destroy := create(t, c)
		destroys = append(destroys, destroy)
		watch, err := s.Watch(t.Context(), "/configmaps", store.ListOptions{Recursive: true, Predicate: store.Everything})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Create(t.Context(), "/configmaps/default/a", configMap("a"), nil, 0); err != nil {
			t.Fatal(err)
		}
		<-watch.ResultChan()
		watch.Stop()
	}
	if n := len(proxy.opened); n != 1 {
		t.Errorf("5 storages opened %d connections", n)
	}
	for _, destroy := range destroys {
		destroy()
	}
	<-proxy.closed
}

func TestUnreachableIsTriedAgain(t *testing.T) {
	reserved, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := reserved.Addr().String()
	if err := reserved.Close(); err != nil {
		t.Fatal(err)
	}
	c := config(t, factory.TransportConfig{ServerList: []string{"http://" + address}})
	check, err := factory.CreateHealthCheck(t.Context(), *c)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(); err == nil || err.Error() != "etcd client connection not yet established" {
		t.Errorf("before a connection the check says %v", err)
	}
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), Ephemeral: true, Listen: []string{"http://" + address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	eventually(t, check, healthy)
}

func TestSizeIsMeasured(t *testing.T) {
	c := config(t, factory.TransportConfig{InProcess: embedtest.Shared(t)})
	registry := prometheus.NewPedanticRegistry()
	c.Shared = factory.NewPool(registry, nil)
	create(t, c)
	eventually(t, func() error {
		families, err := registry.Gather()
		if err != nil {
			return err
		}
		for _, family := range families {
			if family.GetName() == "apiserver_storage_size_bytes" && family.GetMetric()[0].GetGauge().GetValue() > 0 {
				return nil
			}
		}
		return errors.New("apiserver_storage_size_bytes is not there")
	}, healthy)
}

package factory_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/embedded"
)

func startRemote(t *testing.T, dir, address string) *embedded.Server {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Ephemeral: true, Listen: []string{"http://" + address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// TestRemoteTakesWhatEtcdTakes: it is etcd that refuses what is too large. Its client alone would refuse 2 MiB, less than
// a request may have.
func TestRemoteTakesWhatEtcdTakes(t *testing.T) {
	server := startRemote(t, t.TempDir(), "127.0.0.1:0")
	s, _ := create(t, config(t, factory.TransportConfig{ServerList: []string{"http://" + server.Addrs()[0].String()}}))
	sized := func(name string, size int) *corev1.ConfigMap {
		obj := configMap(name)
		obj.Data["k"] = strings.Repeat("x", size)
		return obj
	}
	out := &corev1.ConfigMap{}
	if err := s.Create(t.Context(), "/configmaps/default/a", sized("a", 4<<20), out, 0); err != nil || len(out.Data["k"]) != 4<<20 {
		t.Errorf("4 MiB: %.300v", err)
	}
	if err := s.Get(t.Context(), "/configmaps/default/a", store.GetOptions{}, out); err != nil || len(out.Data["k"]) != 4<<20 {
		t.Errorf("4 MiB: %.300v", err)
	}
	err := s.Create(t.Context(), "/configmaps/default/b", sized("b", embedded.MaxRequestBytes), nil, 0)
	if !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("more than etcd takes: %.300v", err)
	}
}

// TestNoSpace raises the alarm of a used up quota. The ready check names it through a connection as in the process, and both refuse
// writes with the next step.
func TestNoSpace(t *testing.T) {
	server := startRemote(t, t.TempDir(), "127.0.0.1:0")
	url := "http://" + server.Addrs()[0].String()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	alarm := func(action pb.AlarmRequest_AlarmAction) {
		t.Helper()
		r := &pb.AlarmRequest{Action: action, Alarm: pb.AlarmType_NOSPACE}
		if _, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]factory.TransportConfig{"remote": {ServerList: []string{url}}, "in process": {InProcess: server}} {
		t.Run(name, func(t *testing.T) {
			conf := config(t, c)
			conf.ReadycheckTimeout = time.Second
			ready, err := factory.CreateReadyCheck(t.Context(), *conf)
			if err != nil {
				t.Fatal(err)
			}
			is := func(want error) {
				t.Helper()
				eventually(t, ready, func(got error) bool { return got == nil && want == nil || want != nil && errors.Is(got, want) })
			}
			s, _ := create(t, conf)
			is(nil)
			alarm(pb.AlarmRequest_ACTIVATE)
			is(factory.ErrNoSpace)
			err = s.Create(t.Context(), "/configmaps/default/"+strings.ReplaceAll(name, " ", "-"), configMap("a"), nil, 0)
			if err == nil || !strings.Contains(err.Error(), "`kx etcd doctor`") {
				t.Errorf("a write: %v", err)
			}
			alarm(pb.AlarmRequest_DEACTIVATE)
			is(nil)
		})
	}
}

// TestWatchOutlivesEtcd stops the one member of an etcd and starts it again: a watch goes on where it was.
func TestWatchOutlivesEtcd(t *testing.T) {
	dir := t.TempDir()
	server := startRemote(t, dir, "127.0.0.1:0")
	address := server.Addrs()[0].String()
	s, _ := create(t, config(t, factory.TransportConfig{ServerList: []string{"http://" + address}}))
	w, err := s.Watch(t.Context(), "/configmaps", store.ListOptions{Recursive: true, Predicate: store.Everything})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	added := func(name string) {
		t.Helper()
		select {
		case e := <-w.ResultChan():
			if e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != name {
				t.Fatalf("event %s of %v, want ADDED %s", e.Type, e.Object, name)
			}
		case <-time.After(3 * time.Minute):
			t.Fatalf("no event of %s", name)
		}
	}
	if err := s.Create(t.Context(), "/configmaps/default/a", configMap("a"), nil, 0); err != nil {
		t.Fatal(err)
	}
	added("a")
	server.Close()
	startRemote(t, dir, address)
	// The connection comes back by itself; until then writes fail.
	eventually(t, func() error {
		err := s.Create(t.Context(), "/configmaps/default/b", configMap("b"), nil, 0)
		if store.IsExist(err) {
			return nil // an attempt whose answer got lost
		}
		return err
	}, healthy)
	added("b")
}

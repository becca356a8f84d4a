package controller_test

import (
	"log/slog"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// emptyEtcd is a client of an etcd that ends with the test.
func emptyEtcd(t *testing.T) *clientv3.Client {
	t.Helper()
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// run starts controllers on an etcd, without any resource.
func run(t *testing.T, etcd *clientv3.Client, chosen ...string) *controller.Controllers {
	t.Helper()
	all := controller.Start(t.Context(), controller.Config{
		Kit: work.Kit{
			Storage:  func(schema.GroupVersionResource) rest.Storage { return nil },
			Storages: func() map[schema.GroupVersionResource]rest.Storage { return nil },
			Etcd:     admin.NewLive(etcd, "the etcd of the test"), Decoder: &admin.Decoder{Prefix: embedtest.Prefix()},
			Metrics: work.NewMetrics(nil), Log: slog.New(slog.DiscardHandler),
		},
		Controllers: chosen,
	})
	t.Cleanup(all.Stop)
	return all
}

// TestNotReadyBeforeTheyLooked has an etcd that does not answer.
func TestNotReadyBeforeTheyLooked(t *testing.T) {
	t.Parallel()
	silent, err := clientv3.New(clientv3.Config{Logger: zap.NewNop(), Endpoints: []string{"unix://" + t.TempDir() + "/nobody.sock"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for range 20 {
		all := run(t, silent, controller.Garbage)
		// From before their first goroutine begins until after it.
		for deadline := time.Now().Add(5 * time.Millisecond); time.Now().Before(deadline); {
			if all.Ready(t.Context()) == nil {
				t.Fatal("they are ready, and have not looked at any key")
			}
		}
	}
}

func awaitReady(t *testing.T, all *controller.Controllers) {
	t.Helper()
	eventually(t, "they are ready", func() bool { return all.Ready(t.Context()) == nil })
}

// TestReadyForGood has them ready when they have looked, and from then on, though they end.
func TestReadyForGood(t *testing.T) {
	t.Parallel()
	all := run(t, emptyEtcd(t), controller.Garbage)
	awaitReady(t, all)
	all.Stop()
	if err := all.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNobodyIsReady has no controller to wait for.
func TestNobodyIsReady(t *testing.T) {
	t.Parallel()
	awaitReady(t, run(t, emptyEtcd(t), "-*"))
}

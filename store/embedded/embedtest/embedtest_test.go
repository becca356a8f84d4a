package embedtest_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

func TestSharedIsOne(t *testing.T) {
	first, second := embedtest.Shared(t), embedtest.Shared(t)
	if first != second {
		t.Error("Shared made two etcds")
	}
	a, b := embedtest.Prefix(), embedtest.Prefix()
	if a == b {
		t.Errorf("two prefixes are %s", a)
	}
}

func TestClusterGoesOnWithoutItsLeader(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cluster := embedtest.StartCluster(t)
	client := cluster.Client(t)
	put := func(value string) {
		t.Helper()
		// A write that meets the election of a new leader is refused or times out.
		for {
			if _, err := client.Put(ctx, "a", value); err == nil {
				return
			} else if ctx.Err() != nil {
				t.Fatal(err)
			}
		}
	}
	put("1")
	leader := cluster.Leader()
	if leader < 0 {
		t.Fatal("the cluster took a write and has no leader")
	}
	cluster.Stop(leader)
	put("2")
	if err := cluster.Restart(ctx, leader); err != nil {
		t.Fatal(err)
	}
	one, err := clientv3.New(clientv3.Config{Endpoints: cluster.Endpoints()[leader : leader+1]})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = one.Close() }()
	got, err := one.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "2" {
		t.Errorf("the member that was away answers %v", got.Kvs)
	}
}

package admin

import (
	"context"
	"errors"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// racer is another client that writes a key before each transaction, as often as it is told to.
type racer struct {
	clientv3.KV
	key  string
	left int // below 0 is for ever
}

func (r *racer) Txn(ctx context.Context) clientv3.Txn {
	if r.left != 0 {
		r.left--
		_, _ = r.KV.Put(ctx, r.key, "raced") // without it, the transaction holds and the test fails
	}
	return r.KV.Txn(ctx)
}

// TestRewindRaced rewinds a key that somebody else writes: until they are done, or until it gives up and names the key.
func TestRewindRaced(t *testing.T) {
	e := newEtcd(t)
	revision := e.put(t, mapKey, "before")
	e.put(t, mapKey, "after")
	other := &racer{KV: e.live.Client.KV, key: mapKey, left: -1}
	e.live.Client.KV = other
	rewinder := &Rewinder{Live: e.live, Decoder: &Decoder{Prefix: defaultPrefix}, Revision: revision, Stays: func(string) bool { return false }}
	var moving *BusyError
	if _, err := rewinder.Run(t.Context()); !errors.As(err, &moving) || !slices.Equal(moving.Keys, []string{mapKey}) {
		t.Errorf("against a writer that never ends: %v", err)
	}
	other.left = 5
	out, err := rewinder.Run(t.Context())
	if err != nil || out.Written != 1 {
		t.Fatalf("against one that ends: %+v, %v", out, err)
	}
	kv, err := e.live.Get(t.Context(), mapKey, 0)
	if err != nil || string(kv.Value) != "before" {
		t.Errorf("the key has %q, %v", kv.Value, err)
	}
}

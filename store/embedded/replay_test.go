package embedded_test

import (
	"context"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/kx-apiserver/kx/store/embedded"
)

// TestReplayReplaced replays the log of a member whose first leader lost the majority: the entries of the next one
// replace those that were never committed.
func TestReplayReplaced(t *testing.T) {
	put := func(index uint64, key string) *raftpb.Entry {
		data, err := proto.Marshal(&pb.InternalRaftRequest{Header: &pb.RequestHeader{ID: index}, Put: &pb.PutRequest{Key: []byte(key)}})
		if err != nil {
			t.Fatal(err)
		}
		return &raftpb.Entry{Type: raftpb.EntryNormal.Enum(), Index: &index, Data: data}
	}
	begin := uint64(8)
	log := []*raftpb.Entry{
		put(7, "first"), put(8, "replaced"), put(9, "replaced too"),
		{Type: raftpb.EntryNormal.Enum(), Index: &begin}, put(9, "second"),
	}
	ctx, dir := context.Background(), t.TempDir()
	err := embedded.Replay(ctx, dir, func(visit func(*raftpb.Entry) error) error {
		for _, e := range log {
			if err := visit(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := embedded.Start(ctx, embedded.Config{Dir: dir, Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := s.Client()
	defer c.Close()
	resp, err := c.Get(ctx, "", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, kv := range resp.Kvs {
		keys = append(keys, string(kv.Key))
	}
	if len(keys) != 2 || keys[0] != "first" || keys[1] != "second" || resp.Header.Revision != 3 {
		t.Errorf("%q at revision %d", keys, resp.Header.Revision)
	}
}

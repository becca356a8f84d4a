package embedded

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
)

// newKV makes the key-value part of an in-process client. Its requests wait until etcd is elected.
//
// By itself etcd fails a read that comes before the election, with "leader changed", or lets it wait for half a second.
func newKV(s *Server, c *clientv3.Client) clientv3.KV {
	server := electedKV{KVServer: v3rpc.NewQuotaKVServer(s.etcd.Server), elected: s}
	return clientv3.NewKVFromKVClient(adapter.KvServerToKvClient(server), c)
}

// electedKV delays requests until etcd is elected.
type electedKV struct {
	pb.KVServer
	elected *Server
}

func (kv electedKV) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if err := kv.elected.ready(ctx); err != nil {
		return nil, err
	}
	return kv.KVServer.Range(ctx, r)
}

func (kv electedKV) Put(ctx context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	if err := kv.elected.ready(ctx); err != nil {
		return nil, err
	}
	return kv.KVServer.Put(ctx, r)
}

func (kv electedKV) DeleteRange(ctx context.Context, r *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	if err := kv.elected.ready(ctx); err != nil {
		return nil, err
	}
	return kv.KVServer.DeleteRange(ctx, r)
}

func (kv electedKV) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	if err := kv.elected.ready(ctx); err != nil {
		return nil, err
	}
	return kv.KVServer.Txn(ctx, r)
}

func (kv electedKV) Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	if err := kv.elected.ready(ctx); err != nil {
		return nil, err
	}
	return kv.KVServer.Compact(ctx, r)
}

// newMaintenance makes the maintenance part of an in-process client.
func newMaintenance(s *Server, c *clientv3.Client) clientv3.Maintenance {
	server := electedMaintenance{MaintenanceServer: v3rpc.NewMaintenanceServer(s.etcd.Server, nil), elected: s}
	return clientv3.NewMaintenanceFromMaintenanceClient(adapter.MaintenanceServerToMaintenanceClient(server), c)
}

// electedMaintenance waits with the question for etcd's status. Before a first start has applied who its only member
// is, etcd takes that question for a fault and ends.
type electedMaintenance struct {
	pb.MaintenanceServer
	elected *Server
}

func (m electedMaintenance) Status(ctx context.Context, r *pb.StatusRequest) (*pb.StatusResponse, error) {
	if err := m.elected.ready(ctx); err != nil {
		return nil, err
	}
	return m.MaintenanceServer.Status(ctx, r)
}

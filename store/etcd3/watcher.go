package etcd3

import (
	"context"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
)

// NewWatcher makes a watcher on the connection of client, which stays the caller's.
//
// etcd's own watcher goes on after a lost connection as if nothing had happened, whichever etcd it finds then. It
// would take an etcd that was restored from a backup, and has passed the revision of the watch in another way, for
// the one before. With this one Follow ends with its connection, and the next Follow first checks that the history is
// still the same.
func NewWatcher(client *clientv3.Client) clientv3.Watcher {
	return clientv3.NewWatchFromWatchClient(oneStreamClient{pb.NewWatchClient(client.ActiveConnection())}, client)
}

// OnConnection returns the context of a watch that ends with its connection, if the client has the watcher of
// [NewWatcher]. source names its stream: watches of one name share one, and end together when it is lost.
func OnConnection(ctx context.Context, source string) context.Context {
	return onStream(metadata.AppendToOutgoingContext(ctx, "source", source))
}

// onStream makes a context with which a stream is opened, but not opened again.
func onStream(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamOpened{}, new(atomic.Bool))
}

type streamOpened struct{}

// oneStreamClient opens one stream for each context of onStream, and any number for others.
type oneStreamClient struct{ pb.WatchClient }

func (c oneStreamClient) Watch(ctx context.Context, opts ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	opened, once := ctx.Value(streamOpened{}).(*atomic.Bool)
	if once && opened.Load() {
		return nil, grpcstatus.Error(grpccodes.Aborted, "the connection to etcd was lost")
	}
	stream, err := c.WatchClient.Watch(ctx, opts...)
	if err == nil && once {
		opened.Store(true)
	}
	return stream, err
}

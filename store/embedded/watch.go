package embedded

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"google.golang.org/grpc"
)

// newWatcher makes the watcher of an in-process client.
//
// All watches of a client share one stream. Over a socket the stream has buffers. In one process it is an unbuffered
// channel, on which client and server could wait for each other for ever: the client while it cancels a watch, the
// server while it sends events. One end must never wait: here it is the client when it sends.
func newWatcher(s *etcdserver.EtcdServer, c *clientv3.Client) clientv3.Watcher {
	return clientv3.NewWatchFromWatchClient(patientWatchClient{adapter.WatchServerToWatchClient(v3rpc.NewWatchServer(s))}, c)
}

// patientWatchClient opens streams whose Send does not wait.
type patientWatchClient struct{ pb.WatchClient }

func (c patientWatchClient) Watch(ctx context.Context, opts ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	stream, err := c.WatchClient.Watch(ctx, opts...)
	if err != nil {
		return nil, err
	}
	return &patientStream{Watch_WatchClient: stream}, nil
}

// patientStream queues requests that the server is not ready to receive. The queue stays short: a watch begins once
// and ends once, and progress is requested a few times a second. mu guards its own fields.
type patientStream struct {
	pb.Watch_WatchClient

	mu      sync.Mutex
	waiting []*pb.WatchRequest
	sending bool
	err     error
}

// Send queues the request. An error comes from an earlier request, and all later ones return it too.
func (s *patientStream) Send(r *pb.WatchRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.waiting = append(s.waiting, r)
	if !s.sending {
		s.sending = true
		go s.sendAll()
	}
	return nil
}

// sendAll ends when the queue is empty, or with the stream.
func (s *patientStream) sendAll() {
	for {
		s.mu.Lock()
		if len(s.waiting) == 0 || s.err != nil {
			s.sending, s.waiting = false, nil
			s.mu.Unlock()
			return
		}
		next := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.mu.Unlock()
		if err := s.Watch_WatchClient.Send(next); err != nil {
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
		}
	}
}

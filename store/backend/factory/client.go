package factory

import (
	"fmt"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Client connects to etcd for code outside the storage path. The client shares the storages' connection. The function
// that Client returns closes it.
func (s *Pool) Client(c TransportConfig) (*clientv3.Client, DestroyFunc, error) {
	t, err := s.acquire(c)
	if err != nil {
		return nil, nil, fmt.Errorf("a client of etcd: %w", err)
	}
	client := t.newClient()
	return client, sync.OnceFunc(func() {
		_ = client.Close() // one without a connection of its own answers that it is closed
		t.release()
	}), nil
}

// Describe names an etcd in messages.
func Describe(c TransportConfig) string {
	if c.InProcess != nil {
		return "the etcd in this process"
	}
	return describe(c)
}

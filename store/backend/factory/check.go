package factory

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"
)

// redialInterval is how long a check waits before it tries again to connect.
const redialInterval = time.Second

var errNotConnected = errors.New("etcd client connection not yet established")

// check asks etcd for a key, at most twice in its timeout. Calls in between get the last answer.
type check struct {
	key     string
	timeout time.Duration

	mu        sync.Mutex
	transport *transport
	last      time.Time
	err       error
}

func newETCD3Check(ctx context.Context, c Config, timeout time.Duration) func() error {
	ch := &check{key: path.Join("/", c.Prefix, "health"), timeout: timeout, err: errNotConnected}
	go ch.connect(ctx, c.orOwn(), c.Transport)
	return ch.probe
}

// connect dials until it succeeds, and closes the connection when ctx ends.
func (ch *check) connect(ctx context.Context, s *Shared, c TransportConfig) {
	for {
		t, err := s.acquire(c)
		ch.mu.Lock()
		ch.transport, ch.err = t, err
		ch.mu.Unlock()
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(redialInterval):
		}
	}
	<-ctx.Done()
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.transport.release()
	ch.transport, ch.err = nil, errors.New("server is shutting down")
}

// probe holds the lock while it asks, so that the connection is not closed meanwhile.
func (ch *check) probe() error {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.transport == nil || time.Since(ch.last) < ch.timeout/2 {
		return ch.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), ch.timeout)
	defer cancel()
	ch.last, ch.err = time.Now(), nil
	if _, err := ch.transport.client.Get(ctx, ch.key); err != nil {
		ch.err = fmt.Errorf("error getting data from etcd: %w", err)
	}
	return ch.err
}

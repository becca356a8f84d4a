package factory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store/etcd3"
)

// transport is shared by storages with the same TransportConfig: one connection, one compactor, one monitor.
//
// Invariants:
//
//  1. shared lists a transport exactly as long as it has references, or could not be dialled.
//  2. client and dialErr are set once, under dial, before their first use.
//  3. mu guards compactors and monitoring; the mutex of shared guards its list and refs. Neither is held while
//     dialling.
type transport struct {
	shared *Pool
	config TransportConfig
	key    transportKey
	refs   int

	dial    sync.Once
	client  *clientv3.Client
	dialErr error

	mu         sync.Mutex
	compactors map[time.Duration]*etcd3.PeriodicCompactor
	monitoring *sizeMonitor
}

// transportKey is the comparable form of a TransportConfig.
type transportKey struct {
	servers                          string
	keyFile, certFile, trustedCAFile string
	inProcess                        ClientSource
}

// acquire returns the transport of a configuration, connected. The caller releases it.
func (s *Pool) acquire(c TransportConfig) (*transport, error) {
	if c.InProcess == nil && len(c.ServerList) == 0 {
		return nil, errors.New("no etcd is given: neither servers (--etcd-servers) nor one in this process")
	}
	key := transportKey{strings.Join(c.ServerList, ","), c.KeyFile, c.CertFile, c.TrustedCAFile, c.InProcess}
	s.mu.Lock()
	t := s.transports[key]
	if t == nil {
		t = &transport{shared: s, config: c, key: key, compactors: map[time.Duration]*etcd3.PeriodicCompactor{}}
		t.config.ServerList = slices.Clone(c.ServerList)
		s.transports[key] = t
	}
	t.refs++
	s.mu.Unlock()

	t.dial.Do(func() {
		if c.InProcess != nil {
			t.client = c.InProcess.Client()
			return
		}
		t.client, t.dialErr = dial(t.config)
	})
	if t.dialErr != nil {
		t.release()
		return nil, t.dialErr
	}
	return t, nil
}

// Connect connects to etcd, so that a wrong configuration is noticed before anything is built on it. Later storages
// share the connection, which lives until the returned function is called.
func (s *Pool) Connect(c TransportConfig) (DestroyFunc, error) {
	t, err := s.acquire(c)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(t.release), nil
}

// release drops a reference. The last one ends the transport.
func (t *transport) release() {
	t.shared.mu.Lock()
	t.refs--
	last := t.refs == 0
	// A transport that could not be dialled is removed at once, so that the next attempt dials anew. Another one may
	// have replaced it by then.
	if (last || t.dialErr != nil) && t.shared.transports[t.key] == t {
		delete(t.shared.transports, t.key)
	}
	t.shared.mu.Unlock()
	if !last || t.client == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.compactors {
		c.Stop()
	}
	if t.monitoring != nil {
		t.monitoring.stop()
	}
	_ = t.client.Close()
}

// newClient makes a client with its own watch streams and leases. It uses the shared connection and does not close it.
func (t *transport) newClient() *clientv3.Client {
	if t.config.InProcess != nil {
		return t.config.InProcess.Client()
	}
	c := clientv3.NewCtxClient(t.client.Ctx())
	c.KV = clientv3.NewKV(t.client)
	c.Lease = clientv3.NewLease(t.client)
	c.Watcher = etcd3.NewWatcher(t.client)
	c.Maintenance, c.Cluster = t.client.Maintenance, t.client.Cluster
	return c
}

// compactor returns the compactor with this interval, which normally is the only one. With an interval of 0 it compacts
// nothing itself, but follows what others compact.
func (t *transport) compactor(interval time.Duration) *etcd3.PeriodicCompactor {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.compactors[interval]
	if !ok {
		c = etcd3.StartCompactor(t.client, interval, &t.shared.Pins, t.shared.log)
		t.compactors[interval] = c
	}
	return c
}

// monitor starts measuring etcd's size, unless that has begun.
func (t *transport) monitor(interval time.Duration) {
	if interval == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.monitoring == nil {
		t.monitoring = startSizeMonitor(t.client, t.config.ServerList, interval, t.shared.Metrics)
	}
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

func describe(c TransportConfig) string {
	return fmt.Sprintf("etcd at %s", strings.Join(c.ServerList, ", "))
}

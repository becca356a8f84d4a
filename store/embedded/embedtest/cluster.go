package embedtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/kx-apiserver/kx/store/embedded"
)

const clusterSize = 3

// Cluster is three etcd members in this process that talk to each other, and to clients, on loopback ports.
type Cluster struct {
	members []*member
}

type member struct {
	config *embed.Config
	etcd   *embed.Etcd
}

// StartCluster starts a cluster that ends with the test.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	var err error
	// The ports are free when they are picked and could be taken when they are used.
	for range 3 {
		var c *Cluster
		if c, err = startCluster(t.TempDir()); err == nil {
			t.Cleanup(c.stopAll)
			return c
		}
	}
	t.Fatal(err)
	return nil
}

func startCluster(dir string) (*Cluster, error) {
	ports, err := freePorts(2 * clusterSize)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range clusterSize {
		names = append(names, fmt.Sprintf("member%d=http://%s", i, ports[i]))
	}
	c := &Cluster{}
	for i := range clusterSize {
		config := embed.NewConfig()
		config.Name = fmt.Sprintf("member%d", i)
		config.Dir = filepath.Join(dir, config.Name)
		config.ListenPeerUrls = []url.URL{{Scheme: "http", Host: ports[i]}}
		config.ListenClientUrls = []url.URL{{Scheme: "http", Host: ports[clusterSize+i]}}
		config.AdvertisePeerUrls, config.AdvertiseClientUrls = config.ListenPeerUrls, config.ListenClientUrls
		config.InitialCluster = strings.Join(names, ",")
		config.TickMs, config.ElectionMs = 100, 1000
		config.MaxRequestBytes = embedded.MaxRequestBytes
		config.UnsafeNoFsync = true
		config.EnableGRPCGateway = false
		config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
		c.members = append(c.members, &member{config: config})
	}
	return c, c.startAll()
}

// startAll starts the members and then waits for them: none is ready before there is a majority.
func (c *Cluster) startAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for _, m := range c.members {
		if err := m.start(); err != nil {
			c.stopAll()
			return err
		}
	}
	for _, m := range c.members {
		if err := m.wait(ctx); err != nil {
			c.stopAll()
			return err
		}
	}
	return nil
}

// stopAll stops the leader last, when no member is left for a handover that it would wait for. The others stop at
// once, since each waits a second for its peers.
func (c *Cluster) stopAll() {
	leader := c.Leader()
	var stopping sync.WaitGroup
	for i := range c.members {
		if i != leader {
			stopping.Go(func() { c.Stop(i) })
		}
	}
	stopping.Wait()
	if leader >= 0 {
		c.Stop(leader)
	}
}

func (m *member) start() (err error) {
	m.etcd, err = embed.StartEtcd(m.config)
	return err
}

func (m *member) wait(ctx context.Context) error {
	select {
	case <-m.etcd.Server.ReadyNotify():
		return nil
	case err := <-m.etcd.Err():
		return err
	case <-ctx.Done():
		return fmt.Errorf("%s has found no leader: %w", m.config.Name, context.Cause(ctx))
	}
}

// Endpoints are the client URLs of all members, also of stopped ones.
func (c *Cluster) Endpoints() []string {
	endpoints := make([]string, 0, len(c.members))
	for _, m := range c.members {
		endpoints = append(endpoints, m.config.ListenClientUrls[0].String())
	}
	return endpoints
}

// Client connects to all members. It is closed with the test.
func (c *Cluster) Client(t testing.TB) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Leader returns the index of the leading member, or -1 while there is none.
func (c *Cluster) Leader() int {
	for i, m := range c.members {
		if m.etcd != nil && m.etcd.Server.Leader() == m.etcd.Server.MemberID() {
			return i
		}
	}
	return -1
}

// Stop ends member i. Stopping it again does nothing.
func (c *Cluster) Stop(i int) {
	if m := c.members[i]; m.etcd != nil {
		m.etcd.Close()
		m.etcd = nil
	}
}

// Restart brings member i back with its data and waits until it takes part.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	m := c.members[i]
	if m.etcd != nil {
		return fmt.Errorf("member %d runs", i)
	}
	if err := m.start(); err != nil {
		return err
	}
	return m.wait(ctx)
}

func freePorts(n int) (addrs []string, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		// Held until all are picked, so that they differ.
		defer func() { _ = listener.Close() }()
		addrs = append(addrs, listener.Addr().String())
	}
	return addrs, nil
}

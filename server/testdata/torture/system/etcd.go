//go:build linux

package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// memberEnv has a member in JSON, in the process that shall be it.
const memberEnv = "TORTURE_ETCD_MEMBER"

// patience is how long a process may take to start or to stop.
const patience = 60 * time.Second

// member is what an etcd is told.
type member struct {
	Name, Dir              string
	Client, Peer           string // URLs that it listens at
	AdvertisePeer          string
	Cluster                string
	SnapshotCount          uint64
	SnapshotCatchUpEntries uint64
}

// Main runs the process as a program with a slow disk, or as an etcd, if it was started to be one. Call it first in TestMain.
func Main() {
	if _, ok := os.LookupEnv(diskEnv); ok {
		fmt.Fprintln(os.Stderr, runSlowly(os.Args[1:]))
		os.Exit(1)
	}
	config, ok := os.LookupEnv(memberEnv)
	if !ok {
		return
	}
	if err := runMember(config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runMember(config string) error {
	var m member
	if err := json.Unmarshal([]byte(config), &m); err != nil {
		return err
	}
	e, err := m.config()
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	etcd, err := embed.StartEtcd(e)
	if err != nil {
		return err
	}
	// Not when it is ready: without a majority it can't be.
	fmt.Println(etcd.Server.MemberID())
	select {
	case <-signals:
		etcd.Close()
		return nil
	case err := <-etcd.Err():
		return err
	case <-etcd.Server.StopNotify():
		return errors.New("etcd stopped by itself")
	}
}

func (m *member) config() (*embed.Config, error) {
	e := embed.NewConfig()
	e.Name, e.Dir = m.Name, m.Dir
	for to, from := range map[*[]url.URL]string{
		&e.ListenClientUrls: m.Client, &e.AdvertiseClientUrls: m.Client,
		&e.ListenPeerUrls: m.Peer, &e.AdvertisePeerUrls: m.AdvertisePeer,
	} {
		u, err := url.Parse(from)
		if err != nil {
			return nil, err
		}
		*to = []url.URL{*u}
	}
	e.InitialCluster = m.Cluster
	e.TickMs, e.ElectionMs = 50, 500
	e.SnapshotCount, e.SnapshotCatchUpEntries = m.SnapshotCount, m.SnapshotCatchUpEntries
	e.MaxRequestBytes = 8 << 20
	e.WatchProgressNotifyInterval = 5 * time.Second
	e.LogLevel = "warn"
	return e, nil
}

// Etcd is one member of a cluster, over all its runs.
type Etcd struct {
	Name string
	// ID is what its cluster calls it, and how it introduces itself to other members.
	ID string
	// Down is set while somebody ends it on purpose.
	Down   atomic.Bool
	member member
	log    string
	// peers is what the others connect to; Client is what it listens at.
	peers   *Proxy
	Client  string
	Process *Process
}

// Start starts it again, on what it has.
func (e *Etcd) Start(ctx context.Context) error {
	config, err := json.Marshal(e.member)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	e.Process, err = startProcess(e.Name, e.log, []string{memberEnv + "=" + string(config)}, program)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	e.ID, err = e.Process.Ready(ctx)
	e.Down.Store(err != nil)
	return err
}

// Kill ends it at once.
func (e *Etcd) Kill() {
	e.Down.Store(true)
	e.Process.kill()
}

// Stop asks it to end.
func (e *Etcd) Stop() error {
	e.Down.Store(true)
	_, err := e.Process.stop(syscall.SIGTERM, patience)
	return err
}

// Isolate cuts or slows its links with the other members: what they send it, or what it sends them.
func (e *Etcd) Isolate(all []*Etcd, in, out Mode) {
	for _, other := range all {
		if other != e {
			e.peers.SetFrom(other.ID, in)
			other.peers.SetFrom(e.ID, out)
		}
	}
}

var peerHeader = regexp.MustCompile(`(?i)X-Server-From: ([0-9a-f]+)`)

// peer is the member that sent the header of a request.
func peer(header []byte) string {
	if found := peerHeader.FindSubmatch(header); found != nil {
		return string(found[1])
	}
	return ""
}

// StartCluster starts n members, with data and logs below dir.
func StartCluster(ctx context.Context, dir string, n int) ([]*Etcd, error) {
	var members []*Etcd
	var cluster string
	for i := range n {
		peers, err := NewProxy(peer)
		if err != nil {
			return nil, err
		}
		e := &Etcd{Name: fmt.Sprintf("etcd-%d", i), log: filepath.Join(dir, fmt.Sprintf("etcd-%d.log", i)), peers: peers}
		members = append(members, e)
		cluster += fmt.Sprintf(",%s=http://%s", e.Name, peers.Addr())
	}
	for _, e := range members {
		ports, err := freePorts(2)
		if err != nil {
			return nil, err
		}
		e.Client = ports[0]
		e.peers.Target(ports[1])
		e.member = member{
			Name: e.Name, Dir: filepath.Join(dir, e.Name), Client: "http://" + ports[0], Peer: "http://" + ports[1],
			AdvertisePeer: "http://" + e.peers.Addr(), Cluster: cluster[1:],
			// Few, so that members who were away need a snapshot of the others.
			SnapshotCount: 500, SnapshotCatchUpEntries: 100,
		}
		if err := e.Start(ctx); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// Connect makes a client that is quick to find an etcd that comes back.
func Connect(endpoints ...string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: endpoints, Logger: zap.NewNop(), MaxCallRecvMsgSize: 64 << 20,
		DialKeepAliveTime: 2 * time.Second, DialKeepAliveTimeout: 4 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 500 * time.Millisecond},
			MinConnectTimeout: time.Second,
		})},
	})
}

// Close ends the proxy.
func (e *Etcd) Close() { e.peers.Close() }

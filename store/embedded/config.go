package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// SocketName is the usual name of the unix socket in a data directory.
const SocketName = "etcd.sock"

// MaxRequestBytes bounds one write. A request body of 3 MiB can be stored as more than twice of that: an object of many
// small fields gets an equally long list of who owns them. etcd's log holds no entries above 10 MiB.
const MaxRequestBytes = 8 << 20

const (
	// Each tick wakes the idle process. One member needs none to be elected ([Server.elect]), and its shortest lease is
	// of one second with these: it is one and a half of the election's time, rounded up to seconds.
	tickMs     = 100
	electionMs = 500

	// quotaBytes is the most that etcd recommends.
	quotaBytes = 8 << 30

	// etcd writes a snapshot after this many entries. A start replays those after the newest one.
	snapshotEntries = 500
	// firstSnapshotEntries is the same number for a directory without a snapshot: after that many entries etcd
	// compacts its memory.
	firstSnapshotEntries = 100
	// etcd keeps at least this many entries in memory, values included, for slow followers. One member has none.
	catchUpEntries = 100

	// progressInterval is the interval of progress notifications on an idle watch that requested them.
	progressInterval = 5 * time.Second

	// The name and peer URL of a single member are placeholders: nothing connects to them.
	memberName = "kx"
	peerURL    = "http://localhost:2380"

	// Several members hear from each other by etcd's own clock, and keep for a slow one what etcd keeps by default.
	memberTickMs     = 100
	memberElectionMs = 1000
)

// Config configures an etcd: where its data is and which clients may connect.
type Config struct {
	// Dir is etcd's directory. It is made, readable by its owner alone, if it does not exist.
	Dir string
	// Ephemeral leaves out fsync: a crash of the machine may lose writes, a crash of the process does not.
	Ephemeral bool
	// Socket is the path of a unix socket, 0600, that other programs of this user may connect to. Empty makes none.
	Socket string
	// Listen are further URLs: https, or http on a loopback address.
	Listen []string
	// TLS is the identity of the https listeners. All three files are required: a client must show a certificate of
	// TrustedCAFile, since any client of an etcd may read and write everything.
	TLS TLSFiles
	// Cluster makes this etcd one member of several. Nil is a cluster of one.
	Cluster *Cluster
	// Logger receives etcd's log, from warnings on. Nil drops it.
	Logger *slog.Logger
}

// Cluster lists the members of a cluster. All members are on this machine: they talk to each other in plain http,
// which must not leave it. If the data directory belongs to a cluster already, that one goes on.
type Cluster struct {
	// Member is the name of the member that this etcd is.
	Member string
	// PeerURLs are where members hear each other, by name: http on loopback addresses.
	PeerURLs map[string]string
}

// TLSFiles are PEM files.
type TLSFiles struct {
	CertFile, KeyFile, TrustedCAFile string
}

func (c *Config) etcdConfig(faults *faults, closing *atomic.Bool) (*embed.Config, error) {
	if c.Dir == "" {
		return nil, errors.New("embedded etcd: no data directory given")
	}
	clientURLs, err := c.clientURLs()
	if err != nil {
		return nil, err
	}
	e := embed.NewConfig()
	e.Dir = c.Dir
	if err := c.joinCluster(e); err != nil {
		return nil, err
	}
	e.ListenClientUrls, e.AdvertiseClientUrls = clientURLs, clientURLs
	e.ClientTLSInfo = transport.TLSInfo{
		CertFile:       c.TLS.CertFile,
		KeyFile:        c.TLS.KeyFile,
		TrustedCAFile:  c.TLS.TrustedCAFile,
		ClientCertAuth: c.TLS.TrustedCAFile != "",
	}
	e.UnsafeNoFsync = c.Ephemeral
	e.MaxRequestBytes = MaxRequestBytes
	e.QuotaBackendBytes = quotaBytes
	e.WatchProgressNotifyInterval = progressInterval
	e.EnableGRPCGateway = false
	e.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newLogger(c.Logger, faults, closing, c.keepToOwner))
	return e, nil
}

// joinCluster sets who this member is, who the others are, and how long it waits to hear from them.
func (c *Config) joinCluster(e *embed.Config) error {
	if c.Cluster == nil {
		peer, err := url.Parse(peerURL)
		if err != nil {
			return err
		}
		e.Name = memberName
		e.ListenPeerUrls, e.AdvertisePeerUrls = nil, []url.URL{*peer}
		e.InitialCluster = e.InitialClusterFromName(memberName)
		e.TickMs, e.ElectionMs = tickMs, electionMs
		return nil
	}
	e.Name = c.Cluster.Member
	var members []string
	for _, name := range slices.Sorted(maps.Keys(c.Cluster.PeerURLs)) {
		peer, err := c.listenURL(c.Cluster.PeerURLs[name])
		if err == nil && peer.Scheme != "http" {
			err = errors.New("members of a cluster on this machine speak http on loopback addresses")
		}
		if err != nil {
			return fmt.Errorf("embedded etcd: member %s cannot listen on %q: %w", name, c.Cluster.PeerURLs[name], err)
		}
		if name == e.Name {
			e.ListenPeerUrls, e.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
		}
		members = append(members, name+"="+peer.String())
	}
	if c.Cluster.PeerURLs[e.Name] == "" {
		return fmt.Errorf("embedded etcd: member %q has no peer URL", e.Name)
	}
	e.InitialCluster = strings.Join(members, ",")
	e.TickMs, e.ElectionMs = memberTickMs, memberElectionMs
	return nil
}

func (c *Config) log() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}

func (c *Config) clientURLs() ([]url.URL, error) {
	var urls []url.URL
	if c.Socket != "" {
		path, err := filepath.Abs(c.Socket)
		if err != nil {
			return nil, fmt.Errorf("embedded etcd: socket %q: %w", c.Socket, err)
		}
		if limit := socketPathLimit(runtime.GOOS); len(path) > limit {
			return nil, fmt.Errorf("embedded etcd: the path of the unix socket %s has %d bytes and the system allows %d: "+
				"use a shorter data directory",
				path, len(path), limit)
		}
		urls = append(urls, url.URL{Scheme: "unix", Path: path})
	}
	for _, listen := range c.Listen {
		u, err := c.listenURL(listen)
		if err != nil {
			return nil, fmt.Errorf("embedded etcd: cannot listen on %q: %w", listen, err)
		}
		urls = append(urls, *u)
	}
	return urls, nil
}

// socketPathLimit is the room in the system's sockaddr_un less the byte that ends the path.
func socketPathLimit(goos string) int {
	if goos == "linux" || goos == "windows" {
		return 107
	}
	return 103
}

func (c *Config) listenURL(listen string) (*url.URL, error) {
	u, err := url.Parse(listen)
	if err != nil {
		return nil, err
	}
	if u.Path != "" || u.RawQuery != "" || u.User != nil {
		return nil, errors.New("want a scheme, an address and a port, and nothing after it")
	}
	host, _, err := net.SplitHostPort(u.Host)
	if err != nil {
		return nil, fmt.Errorf("want an address and a port: %w", err)
	}
	ip := net.ParseIP(host)
	if ip == nil && host != "localhost" {
		return nil, errors.New("want an IP address to bind to, not a name")
	}
	switch u.Scheme {
	case "http":
		if host != "localhost" && !ip.IsLoopback() {
			return nil, errors.New("http is allowed on a loopback address only, " +
				"since anyone who connects may read and write everything: use https")
		}
	case "https":
		if c.TLS.CertFile == "" || c.TLS.KeyFile == "" || c.TLS.TrustedCAFile == "" {
			return nil, errors.New("https needs a certificate, its key, and the CA of the clients that may connect")
		}
	default:
		return nil, fmt.Errorf("scheme %q is not https or http", u.Scheme)
	}
	return u, nil
}

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/raft/v3/raftpb"
)

const (
	// closeWait bounds Close after a fault, when it may wait for parts of etcd that are gone.
	closeWait = 5 * time.Second
	// undoWait bounds the undoing of a start that was given up: the process is about to end, whatever that start hangs
	// on.
	undoWait = 2 * time.Second
)

// electInterval is the interval of the attempts of [Server.elect]. The first may come before raft knows that the log is
// applied.
const electInterval = 2 * time.Millisecond

// electLimit bounds one attempt.
const electLimit = time.Second

// startQuietly is the time after which the log calls a start slow.
const startQuietly = time.Second

// Server is a running etcd.
type Server struct {
	etcd   *embed.Etcd
	faults *faults
	// slow logs that a start is slow, unless it is stopped before.
	slow *time.Timer

	errors chan error
	// failed is closed when etcd fails for good; err says why.
	failed chan struct{}
	err    error
	// Close begins by setting quiet and closing closing.
	quiet     *atomic.Bool
	closing   chan struct{}
	closeOnce sync.Once
	watching  sync.WaitGroup
}

// Start runs an etcd and returns when it serves requests. If ctx ends before, Start undoes the start completely and
// then returns. After an error about damaged data, or a start that hangs, the directory stays locked until this process
// ends.
func Start(ctx context.Context, config Config) (*Server, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("embedded etcd: not started: %w", context.Cause(ctx))
	}
	s, err := Begin(ctx, config)
	if err == nil {
		err = s.Ready(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Begin runs an etcd and does not wait for its election. Requests of its clients wait for that; [Server.Ready] returns
// its result. ctx bounds only Begin itself.
func Begin(ctx context.Context, config Config) (*Server, error) {
	faults, quiet := newFaults(), &atomic.Bool{}
	etcdConfig, err := config.etcdConfig(faults, quiet)
	if err != nil {
		return nil, err
	}
	waitsFor := "it reads its log"
	if config.Cluster != nil {
		waitsFor = "it waits for a majority of the members"
	}
	slow := time.AfterFunc(startQuietly, func() { config.log().Info("etcd is starting: "+waitsFor, "dir", config.Dir) })
	etcd, err := startEtcd(ctx, etcdConfig, faults)
	if err != nil {
		slow.Stop()
		return nil, fmt.Errorf("embedded etcd: %w", err)
	}
	if config.Socket != "" {
		if err := os.Chmod(config.Socket, 0o600); err != nil {
			slow.Stop()
			closeEtcd(etcd, faults)
			return nil, fmt.Errorf("embedded etcd: keep the unix socket to its owner: %w", err)
		}
	}
	config.keepToOwner()
	s := &Server{
		etcd:    etcd,
		faults:  faults,
		slow:    slow,
		errors:  make(chan error, 1),
		failed:  make(chan struct{}),
		quiet:   quiet,
		closing: make(chan struct{}),
	}
	s.watching.Go(s.watch)
	if config.Cluster == nil && !dropsFirst(etcdConfig) {
		s.watching.Go(s.elect)
	}
	return s, nil
}

// start is the result of starting etcd.
type start struct {
	etcd *embed.Etcd
	err  error
}

// startEtcd runs etcd's start on its own goroutine: a fault ends the goroutine on which it happens, and a read that
// hangs can't be ended at all.
func startEtcd(ctx context.Context, config *embed.Config, faults *faults) (*embed.Etcd, error) {
	started := make(chan start, 1)
	go func() {
		// Some damage of the directory makes etcd panic.
		defer func() {
			if r := recover(); r != nil {
				err := fmt.Errorf("the data directory is damaged, restore it from a backup or use another one: etcd failed: %v", r)
				started <- start{nil, damageError(config.Dir, err)}
			}
		}()
		if err := prepareDir(config.Dir); err != nil {
			started <- start{nil, err}
			return
		}
		if len(config.ListenPeerUrls) == 0 {
			keepForElection(config)
		}
		if ctx.Err() != nil {
			started <- start{nil, context.Cause(ctx)}
			return
		}
		etcd, err := embed.StartEtcd(config)
		if err != nil {
			err = fmt.Errorf("start in %s: %w", config.Dir, explain(config.Dir, err))
		}
		started <- start{etcd, err}
	}()
	select {
	case s := <-started:
		return s.etcd, s.err
	case <-faults.seen:
		return nil, damageError(config.Dir, faults.err)
	case <-ctx.Done():
		undo(started, faults)
		return nil, fmt.Errorf("start in %s: %w", config.Dir, context.Cause(ctx))
	}
}

// undo closes the etcd of an abandoned start. It waits for that start, unless it hangs.
func undo(started <-chan start, faults *faults) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s := <-started; s.etcd != nil {
			closeEtcd(s.etcd, faults)
		}
	}()
	select {
	case <-done:
	case <-faults.seen:
	case <-time.After(undoWait):
	}
}

// closeEtcd closes an etcd. It waits until all of it has ended, unless etcd had failed before.
func closeEtcd(etcd *embed.Etcd, faults *faults) {
	wait, elected := undoWait, false
	select {
	case <-etcd.Server.ReadyNotify():
		wait, elected = closeWait, true
	default:
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !elected {
			// etcd's Close waits for its listeners, which wait for the election or for HardStop.
			etcd.Server.HardStop()
		}
		etcd.Close()
	}()
	if elected {
		select {
		case <-done:
			return
		case <-faults.seen:
		}
	}
	select {
	case <-done:
	case <-time.After(wait):
	}
}

// Ready waits until etcd is the leader and serves requests. After an error etcd is closed.
func (s *Server) Ready(ctx context.Context) error {
	err := s.ready(ctx)
	s.slow.Stop()
	if err != nil {
		s.Close()
		dir := s.etcd.Config().Dir
		if ctx.Err() == nil {
			err = explain(dir, err)
		}
		return fmt.Errorf("embedded etcd: start in %s: %w", dir, err)
	}
	return nil
}

func (s *Server) ready(ctx context.Context) error {
	elected := s.etcd.Server.ReadyNotify()
	select {
	case <-elected:
		return nil
	default:
	}
	select {
	case <-elected:
		return nil
	case <-s.failed:
		return s.err
	case <-s.closing:
		return errors.New("it was closed")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch sends the first failure of the running etcd to s.errors.
func (s *Server) watch() {
	defer close(s.errors)
	select {
	case <-s.closing:
		return
	case <-s.faults.seen:
		s.err = fmt.Errorf("embedded etcd stopped: %w", s.faults.err)
	case err := <-s.etcd.Err():
		s.err = fmt.Errorf("embedded etcd stopped serving: %w", err)
	case <-s.etcd.Server.StopNotify():
		s.err = errors.New("embedded etcd stopped by itself")
	}
	close(s.failed)
	s.errors <- s.err
}

// stand has a member stand for election, by the message with which a leader hands over to a follower. It has no effect
// on a member that leads.
func stand(ctx context.Context, etcd *etcdserver.EtcdServer) error {
	id := uint64(etcd.MemberID())
	return etcd.Process(ctx, &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), From: &id, To: &id})
}

// elect has the only member stand for election as soon as it has applied its log. By itself it waits some ticks for the
// sign of another leader first.
func (s *Server) elect() {
	etcd := s.etcd.Server
	try := time.NewTicker(electInterval)
	defer try.Stop()
	for {
		if committed := etcd.CommittedIndex(); committed > 0 && etcd.AppliedIndex() >= committed {
			// After a fault nothing reads the message. After an error etcd stands for election by itself, later.
			ctx, cancel := context.WithTimeout(context.Background(), electLimit)
			_ = stand(ctx, etcd)
			cancel()
		}
		select {
		case <-try.C:
		case <-etcd.ReadyNotify():
			return
		case <-s.failed:
			return
		case <-s.closing:
			return
		}
	}
}

// Client returns a new client that calls this etcd without a socket. Creating one takes a few microseconds. The caller
// closes it, and can ignore the error "context canceled" from that.
func (s *Server) Client() *clientv3.Client {
	c := v3client.New(s.etcd.Server)
	c.KV = newKV(s, c)
	c.Watcher = newWatcher(s.etcd.Server, c)
	c.Maintenance = newMaintenance(s, c)
	return c
}

// Errors returns a channel that receives at most one error, when etcd fails for good. It is closed with etcd.
func (s *Server) Errors() <-chan error { return s.errors }

// Addrs returns the addresses that other programs can connect to.
func (s *Server) Addrs() []net.Addr {
	addrs := make([]net.Addr, 0, len(s.etcd.Clients))
	for _, listener := range s.etcd.Clients {
		addrs = append(addrs, listener.Addr())
	}
	return addrs
}

// Close ends etcd after its current requests and frees the directory. It does not end watches of in-process clients:
// end them before. Further calls wait for the first.
func (s *Server) Close() {
	s.closeOnce.Do(func() {
		s.quiet.Store(true)
		close(s.closing)
		s.watching.Wait()
		closeEtcd(s.etcd, s.faults)
	})
}

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
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// closeWait bounds Close after a fault, when parts of etcd that it waits for may be gone.
const closeWait = 5 * time.Second

// Server is a running etcd.
type Server struct {
	etcd   *embed.Etcd
	faults *faults

	errors chan error
	// quiet is set, and closing closed, when Close begins.
	quiet     *atomic.Bool
	closing   chan struct{}
	closeOnce sync.Once
	watching  sync.WaitGroup
}

// Start runs an etcd and returns when it takes writes. If ctx ends before that, the start is undone, and nothing of it is
// left when Start returns. After an error about damaged data the directory stays locked until this process ends.
func Start(ctx context.Context, config Config) (*Server, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("embedded etcd: not started: %w", context.Cause(ctx))
	}
	faults, quiet := newFaults(), &atomic.Bool{}
	etcdConfig, err := config.etcdConfig(faults, quiet)
	if err != nil {
		return nil, err
	}
	if err := prepareDir(config.Dir); err != nil {
		return nil, err
	}
	etcd, err := startEtcd(ctx, etcdConfig, faults)
	if err != nil {
		return nil, fmt.Errorf("embedded etcd: start in %s: %w", config.Dir, err)
	}
	if config.Socket != "" {
		if err := os.Chmod(config.Socket, 0o600); err != nil {
			etcd.Close()
			return nil, fmt.Errorf("embedded etcd: keep the unix socket to its owner: %w", err)
		}
	}
	s := &Server{
		etcd:    etcd,
		faults:  faults,
		errors:  make(chan error, 1),
		quiet:   quiet,
		closing: make(chan struct{}),
	}
	s.watching.Go(s.watch)
	return s, nil
}

// startEtcd runs etcd's start on a goroutine of its own, since a fault ends the goroutine it happens on.
func startEtcd(ctx context.Context, config *embed.Config, faults *faults) (*embed.Etcd, error) {
	type result struct {
		etcd *embed.Etcd
		err  error
	}
	started := make(chan result, 1)
	go func() {
		// Some damage of the directory makes etcd trip over itself.
		defer func() {
			if r := recover(); r != nil {
				started <- result{nil, fmt.Errorf("the data directory is damaged, restore it from a backup or use another one: etcd failed: %v", r)}
			}
		}()
		etcd, err := embed.StartEtcd(config)
		started <- result{etcd, err}
	}()
	var etcd *embed.Etcd
	select {
	case r := <-started:
		if r.err != nil {
			return nil, r.err
		}
		etcd = r.etcd
	case <-faults.seen:
		return nil, faults.err
	}
	electing, stop := context.WithCancel(ctx)
	var election sync.WaitGroup
	election.Go(func() { elect(electing, etcd.Server) })
	defer election.Wait()
	defer stop()
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case <-faults.seen:
		return nil, faults.err
	case err := <-etcd.Err():
		etcd.Close()
		return nil, err
	case <-ctx.Done():
		etcd.Close()
		return nil, context.Cause(ctx)
	}
}

// watch turns the first thing that goes wrong while etcd runs into the one error of s.errors.
func (s *Server) watch() {
	defer close(s.errors)
	select {
	case <-s.closing:
	case <-s.faults.seen:
		s.errors <- fmt.Errorf("embedded etcd stopped: %w", s.faults.err)
	case err := <-s.etcd.Err():
		s.errors <- fmt.Errorf("embedded etcd stopped serving: %w", err)
	case <-s.etcd.Server.StopNotify():
		s.errors <- errors.New("embedded etcd stopped by itself")
	}
}

// Client returns a new client that calls this etcd without a socket. It costs a few microseconds. The caller closes it;
// that it then says "context canceled" means nothing.
func (s *Server) Client() *clientv3.Client {
	c := v3client.New(s.etcd.Server)
	c.Watcher = newWatcher(s.etcd.Server, c)
	return c
}

// Errors receives at most one error, when etcd can't go on, and is closed when etcd was closed.
func (s *Server) Errors() <-chan error { return s.errors }

// Addrs are the addresses that other programs can connect to.
func (s *Server) Addrs() []net.Addr {
	addrs := make([]net.Addr, 0, len(s.etcd.Clients))
	for _, listener := range s.etcd.Clients {
		addrs = append(addrs, listener.Addr())
	}
	return addrs
}

// Close ends etcd, after the requests that it is working on, and frees the directory. Watches of in-process clients are
// not told: end them before. Further calls wait for the first.
func (s *Server) Close() {
	s.closeOnce.Do(func() {
		s.quiet.Store(true)
		close(s.closing)
		s.watching.Wait()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.etcd.Close()
		}()
		select {
		case <-done:
			return
		case <-s.faults.seen:
		}
		select {
		case <-done:
		case <-time.After(closeWait):
		}
	})
}

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authn"
	"github.com/kx-apiserver/kx/server/backup"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/filter"
	"github.com/kx-apiserver/kx/server/flow"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/metrics"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/serviceaccount"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/embedded"
)

// Server is a running server.
type Server struct {
	URL        string
	Kubeconfig string
	Journeys   *trace.Recorder

	log      *slog.Logger
	http     *http.Server
	drain    *filter.Drain
	stopping atomic.Bool
	failed   chan error
	// undo lists the functions that close everything, in the order of opening.
	undo []func() error
	stop sync.Once
}

const (
	// headersMost bounds the headers of a request.
	headersMost = 1 << 20
	// headersWait limits the time for a client to send the headers.
	headersWait = 32 * time.Second
	// idleWait is the time after which an idle connection is closed, the same as the default of Go's clients.
	idleWait = 90 * time.Second
	// streamsMost limits the concurrent requests of an HTTP/2 connection. Clients assume the same value at first. See
	// resetsAtOnce for clients that open and reset streams.
	streamsMost = 100
	// streamBuffer limits the part of a body that the server buffers before the handler reads it. Nearly all objects
	// fit.
	streamBuffer = 256 << 10
	// connectionBuffer limits the buffered bodies of all streams of a connection. A handler that does not read delays
	// only its own client.
	connectionBuffer = 16 * streamBuffer
	// writeWait is the time after which an HTTP/2 client that reads nothing is cut off, the same as for a watch.
	writeWait = 30 * time.Second
	// closeWait limits the time for connections to end after the last request. Go's HTTP/2 would wait a second for each
	// client with an open connection. All have their answers, so the server sends them GOAWAY and then closes their
	// connections.
	closeWait = 200 * time.Millisecond
)

// Start opens the data directory, starts or reaches etcd, listens, and returns when requests are served. The options
// must have been validated. ctx bounds only the start; Stop ends what was started. own are API groups to serve beside
// the built-in ones: see [endpoint.Group].
func Start(ctx context.Context, o *options.Options, log *slog.Logger, own ...endpoint.RESTStorageProvider) (s *Server, err error) {
	s = &Server{log: log, failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
			s = nil
		}
	}()
	dir, err := s.openDataDir(o)
	if err != nil {
		return s, err
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return s, fmt.Errorf("listen on %s: %w; choose another address with --listen", o.Listen, err)
	}
	s.onClose(func() error { return ignoreClosed(listener.Close()) })
	authority, err := identity.LoadAuthority(dir)
	if err != nil {
		return s, err
	}
	host, _, _ := net.SplitHostPort(o.Listen)
	tls, err := identity.NewTLS(authority, identity.Files{
		TLSCert: o.Serving.TLSCertFile, TLSKey: o.Serving.TLSPrivateKeyFile, ClientCA: o.Access.ClientCAFile,
		RequestHeaderCA: o.Access.RequestHeader.ClientCAFile,
		EtcdCert:        o.Etcd.CertFile, EtcdCA: o.Etcd.CAFile,
	}, []string{host}, log)
	if err != nil {
		return s, err
	}
	counts := metrics.New()
	tls.Metrics = counts
	reached, ready, err := s.etcd(ctx, o, dir, counts)
	if err != nil {
		return s, err
	}
	address := reachable(listener.Addr().(*net.TCPAddr))
	keys, err := tokenKeys(o, dir)
	if err != nil {
		return s, err
	}
	c, chain, err := s.chain(o, tls, identity.NewFrontProxy(dir), address, reached, counts, keys, own)
	if err != nil {
		return s, err
	}
	if err := ready(ctx); err != nil {
		return s, err
	}
	if err := c.backups(dir); err != nil {
		return s, err
	}
	handler, err := s.handler(ctx, c, chain)
	if err != nil {
		return s, err
	}
	if err := s.serve(&connections{Listener: listener, most: o.Limits.MaxConnections, log: s.log, metrics: counts}, tls,
		handler); err != nil {
		return s, err
	}
	s.URL = "https://" + address
	s.Kubeconfig = o.KubeconfigOut
	if s.Kubeconfig == "" {
		s.Kubeconfig = dir.File("kubeconfig")
	}
	if err := tls.WriteKubeconfig(s.Kubeconfig, s.URL); err != nil {
		return s, err
	}
	s.inBackground(tls.Keep)
	s.inBackground(c.Backups.Run)
	return s, dir.SetOwner(s.URL)
}

func (s *Server) onClose(f func() error) { s.undo = append(s.undo, f) }

func (s *Server) openDataDir(o *options.Options) (dir *identity.DataDir, err error) {
	path := o.EphemeralDir
	switch {
	case !o.Ephemeral:
		dir, err = identity.OpenDataDir(o.DataDir)
	case path == "":
		if path, err = identity.MakeEphemeral(); err != nil {
			return nil, err
		}
		fallthrough
	default:
		dir, err = identity.OpenEphemeral(path)
	}
	if err != nil {
		return nil, err
	}
	s.onClose(dir.Close)
	for _, warning := range slices.Concat(dir.Warnings, backup.Lost(dir.Path, o)) {
		s.log.Warn(warning)
	}
	return dir, nil
}

// etcd is the transport to an etcd, and the state that the storages on it share.
type etcd struct {
	transport backend.TransportConfig
	shared    *factory.Shared
}

// etcd starts an etcd in this process, unless the options name another one. ready waits for its election, which
// otherwise goes on in the background.
func (s *Server) etcd(ctx context.Context, o *options.Options, dir *identity.DataDir,
	counts *metrics.Metrics) (reached etcd, ready func(context.Context) error, err error) {
	reached.shared = factory.NewShared(counts.Registry, s.log)
	if len(o.Etcd.Servers) > 0 {
		reached.transport = backend.TransportConfig{
			ServerList: o.Etcd.Servers, CertFile: o.Etcd.CertFile, KeyFile: o.Etcd.KeyFile, TrustedCAFile: o.Etcd.CAFile,
		}
		return reached, func(context.Context) error { return nil }, s.connect(reached)
	}
	own, err := embedded.Begin(ctx, embedded.Config{
		Dir:       dir.File("etcd"),
		Ephemeral: o.Ephemeral,
		Socket:    dir.File(embedded.SocketName),
		Listen:    o.Etcd.EmbeddedListen,
		TLS:       embedded.TLSFiles{CertFile: o.Etcd.CertFile, KeyFile: o.Etcd.KeyFile, TrustedCAFile: o.Etcd.CAFile},
		Logger:    s.log,
	})
	if err != nil {
		return reached, nil, err
	}
	s.onClose(func() error { own.Close(); return nil })
	ready = func(ctx context.Context) error {
		if err := own.Ready(ctx); err != nil {
			return err
		}
		go func() {
			if err, ok := <-own.Errors(); ok {
				s.fail(fmt.Errorf("the etcd in this process failed: %w", err))
			}
		}()
		return nil
	}
	reached.transport.InProcess = own
	return reached, ready, nil
}

// connect connects to the etcd cluster. After a second it logs that it waits, because a user would wonder.
func (s *Server) connect(to etcd) error {
	slow := time.AfterFunc(time.Second, func() { s.log.Info("waiting for etcd", "servers", to.transport.ServerList) })
	defer slow.Stop()
	disconnect, err := to.shared.Connect(to.transport)
	if err == nil {
		s.onClose(func() error { disconnect(); return nil })
	}
	return err
}

// chain makes the chain of servers. Its storages may query etcd in the background and wait for it.
func (s *Server) chain(o *options.Options, tls *identity.TLS, proxy *identity.FrontProxy, address string, reached etcd,
	counts *metrics.Metrics, keys *serviceaccount.Keys, own []endpoint.RESTStorageProvider) (*Config, *Chain, error) {
	life, end := context.WithCancel(context.Background())
	s.onClose(func() error { end(); return nil })
	c, err := newConfig(life, o, s.log, address, tls, keys, reached, counts)
	if err != nil {
		return nil, nil, err
	}
	c.Own = own
	c.proxy = proxy
	if err := c.makeTokens(); err != nil {
		return nil, nil, err
	}
	s.onClose(c.AuditLog.Close)
	s.onClose(c.Tracing.Close)
	s.onClose(c.Etcd.Decoder.Encryption.Close)
	s.onClose(func() error { c.Kubelets.Close(); return nil })
	s.Journeys, s.drain = c.Journeys, c.Drain
	chain, err := CreateServerChain(c)
	if err != nil {
		return nil, nil, err
	}
	s.onClose(func() error { chain.Destroy(); return nil })
	return c, chain, nil
}

// handler starts the chain's controllers and wraps the chain in the filters.
func (s *Server) handler(ctx context.Context, c *Config, chain *Chain) (http.Handler, error) {
	stopCustomResources, err := chain.CustomResources.Start(ctx)
	if err != nil {
		return nil, err
	}
	s.onClose(func() error { stopCustomResources(); return nil })
	hooks := newHooks(c.Options.InitialObjects)
	hooks.finish(definitions, definitionControllers, definitionsKnown)
	fill := s.fill(c, chain)
	if c.Tracing != nil {
		s.inBackground(c.Tracing.Run)
	}
	s.inBackground(c.Moments.Run)
	s.inBackground(c.RoleKeeper.Run)
	s.inBackground(c.AdmissionKeeper.Run)
	s.inBackground(c.Admission.Run)
	s.inBackground(c.Authenticator.Run)
	s.inBackground(c.Authorizer.Run)
	if c.Options.Etcd.EncryptionReload {
		s.inBackground(c.Encryption.Run)
	}
	s.inBackground(chain.Aggregator.Run)
	kit := work.Kit{
		Storages: chain.Storages, Scope: chain.Scope, Etcd: c.Etcd.Live, Decoder: c.Etcd.Decoder, Journeys: c.Journeys,
		Metrics: c.Writes, Log: s.log, SignClient: c.signClient, SigningDuration: c.Options.ClusterSigningDuration,
		SecretTokens: c.secretTokens, ServerCA: c.serverCA, Mapper: chain.mapper, Schema: c.OpenAPI.Schema,
		Shared: len(c.Options.Etcd.Servers)+len(c.Options.Etcd.EmbeddedListen) > 0,
	}
	if err := s.flow(c, &kit); err != nil {
		return nil, err
	}
	controllers := controller.Start(ctx, controller.Config{
		Kit:      kit,
		Complete: chain.Complete, Elsewhere: chain.Aggregator.Collections, Controllers: c.Options.Controllers,
		InitialObjects: c.Options.InitialObjects, Process: processName(c.Journeys.Process()),
	})
	c.Controllers.Store(controllers)
	s.onClose(func() error { controllers.Stop(); return nil })
	hooks.finish(systemNamespaces)
	if err := s.bootstrap(c, chain, hooks); err != nil {
		return nil, err
	}
	filters, err := c.filters(chain)
	if err != nil {
		return nil, err
	}
	return filter.BuildHandlerChain(withPaths(c, chain, s.checks(c, chain, fill, hooks), chain.Aggregator), filters), nil
}

// flow sets up priority and fairness, unless the options turn it off.
func (s *Server) flow(c *Config, kit *work.Kit) (err error) {
	limits := &c.Options.Limits
	if !limits.PriorityAndFairness {
		return nil
	}
	c.Flow, err = flow.New(flow.Config{
		Seats: limits.MaxRequestsInFlight + limits.MaxMutatingRequestsInFlight,
		Wait:  limits.RequestTimeout / 4,
		Kit:   kit, Sizes: c.Caches.Sizes, Log: s.log,
	})
	if err == nil {
		s.inBackground(c.Flow.Run)
	}
	return err
}

// fill starts to fill the caches if the options ask for that, and returns at once.
func (s *Server) fill(c *Config, chain *Chain) *filling {
	f := &filling{caches: &c.Caches}
	if !c.Options.WatchCache.Prefill {
		f.over.Store(true)
		return f
	}
	s.inBackground(func(ctx context.Context) { f.run(ctx, chain.CustomResources.Warm) })
	return f
}

// inBackground runs do until the server closes. Closing waits until do returns.
func (s *Server) inBackground(do func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { do(ctx) })
	s.onClose(func() error {
		cancel()
		running.Wait()
		return nil
	})
}

func (s *Server) serve(listener net.Listener, tls *identity.TLS, handler http.Handler) error {
	s.http = &http.Server{
		Handler:   filter.WithOnFirstRequest(handler),
		TLSConfig: tls.Config,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return authn.ConnContext(withConnection(ctx, conn), conn)
		},
		ReadHeaderTimeout: headersWait,
		IdleTimeout:       idleWait,
		MaxHeaderBytes:    headersMost,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          streamsMost,
			MaxReadFrameSize:              streamBuffer,
			MaxReceiveBufferPerStream:     streamBuffer,
			MaxReceiveBufferPerConnection: connectionBuffer,
			WriteByteTimeout:              writeWait,
		},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	if err := boundResets(s.http); err != nil {
		return err
	}
	go func() {
		if err := s.http.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("serve on %s: %w", listener.Addr(), err))
		}
	}()
	s.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		if err := s.http.Shutdown(ctx); err != nil {
			return s.http.Close() // some client keeps its connection open, but has its answers
		}
		return nil
	})
	return nil
}

// Failed returns a channel that receives one error when the server fails for good.
func (s *Server) Failed() <-chan error { return s.failed }

func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// Stop stops the server in order. Requests in flight may finish until ctx ends. It may be called more than once.
func (s *Server) Stop(ctx context.Context) (err error) {
	s.stop.Do(func() {
		s.stopping.Store(true)
		s.Journeys.Control().Close() // requests that are held at a step go on
		s.drain.Close()
		if waitErr := s.drain.Wait(ctx); waitErr != nil {
			s.log.Warn("stopped before all requests were done", "reason", waitErr)
		}
		err = s.close()
	})
	return err
}

// close closes everything in the reverse order of opening.
func (s *Server) close() error {
	var errs []error
	for i := len(s.undo) - 1; i >= 0; i-- {
		errs = append(errs, s.undo[i]())
	}
	s.undo = nil
	return errors.Join(errs...)
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// reachable returns an address for clients on this machine: a server on all interfaces is also on loopback.
func reachable(a *net.TCPAddr) string {
	if a.IP.IsUnspecified() {
		a = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: a.Port}
	}
	return a.String()
}

package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/backup"
	"github.com/kx-apiserver/kx/server/bootstrap"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/filter"
	"github.com/kx-apiserver/kx/server/flow"
	"github.com/kx-apiserver/kx/server/metrics"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/admin"
)

// Server is a running server.
type Server struct {
	URL        string
	Kubeconfig string
	Journeys   *trace.Recorder

	*base
	drain    *filter.Drain
	stopping atomic.Bool
	stop     sync.Once

	// The parts, in the order in which they start.
	home           home
	etcd           etcd
	records        records
	storage        storage
	authentication authentication
	authorization  authorization
	plugins        plugins
	chain          chain
	backups        *backup.Keeper // nil for none
	filling        prefill
	flow           *flow.Control    // nil without priority and fairness
	tasks          *bootstrap.Tasks // nil without initial objects
}

// base is shared by all parts.
type base struct {
	options  *options.Options
	log      *slog.Logger
	logs     *logWatch
	metrics  *metrics.Metrics
	journeys *trace.Recorder
	// writes counts the writes of controllers.
	writes *work.Metrics
	// life is for what works in the background without a stop of its own. It ends just before etcd.
	life context.Context
	// failed receives the error that ends the server.
	failed chan error
	// undo lists the functions that close everything, in the order of opening.
	undo []func() error
}

// Start opens the data directory, starts or reaches etcd, listens, and returns when requests are served. The options
// must have been validated. ctx bounds only the start; Stop ends what was started. own are API groups to serve beside
// the built-in ones: see [endpoint.Group].
func Start(ctx context.Context, o *options.Options, log *slog.Logger, own ...endpoint.RESTStorageProvider) (*Server, error) {
	return start(ctx, o, log, nil, own)
}

// StartWithin starts a server for clients within this process. It serves the connections of listener, which it closes,
// instead of listening on o.Listen. Its embedded etcd has no socket.
func StartWithin(ctx context.Context, o *options.Options, log *slog.Logger, listener net.Listener) (*Server, error) {
	return start(ctx, o, log, listener, nil)
}

// start starts a server. It listens on o.Listen if within is nil.
func start(ctx context.Context, o *options.Options, log *slog.Logger, within net.Listener,
	own []endpoint.RESTStorageProvider) (*Server, error) {
	logs := watchLog(log)
	counts, journeys := metrics.New(), trace.NewRecorder(processID(), trace.LimitsOf(o.Limits.MaxJourneys))
	if o.Allow.Objects {
		journeys.SetLevel(trace.Objects)
	}
	b := &base{
		options: o, log: logs.logger, logs: logs, metrics: counts, journeys: journeys, writes: work.NewMetrics(counts.Registry),
		failed: make(chan error, 1),
	}
	s := &Server{Journeys: journeys, base: b, drain: filter.NewDrain()}
	s.home = home{base: b, listener: within, within: within != nil}
	s.etcd = etcd{base: b, home: &s.home}
	s.records = records{base: b}
	s.storage = storage{base: b, etcd: &s.etcd}
	s.authentication = authentication{base: b, home: &s.home}
	s.authorization = authorization{base: b, storage: &s.storage}
	s.plugins = plugins{base: b, home: &s.home, storage: &s.storage, authorization: &s.authorization}
	s.chain = chain{
		base: b, own: own, home: &s.home, storage: &s.storage, authentication: &s.authentication,
		authorization: &s.authorization, plugins: &s.plugins,
	}
	for _, start := range s.parts() {
		if err := start(ctx); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// parts lists how the parts start, from the first to the last. Each uses those above it. They stop in the reverse
// order.
func (s *Server) parts() []func(context.Context) error {
	return []func(context.Context) error{
		s.home.start, // the data directory's lock, the listener, certificates
		s.etcd.start,
		s.records.start, // the audit log, and the export of journeys
		s.storage.start,
		s.authentication.start,
		s.authorization.start,
		s.plugins.start, // admission
		s.chain.CreateServerChain,
		s.etcd.await,
		s.openBackups,
		s.chain.startCustomResources,
		s.fill,
		s.follow,
		s.startFlow,
		s.startControllers,
		s.startTasks,
		s.serve,
		s.announce,
	}
}

// follow starts what keeps the parts above up to date with etcd, with files, and with other servers.
func (s *Server) follow(context.Context) error {
	if s.records.tracing != nil {
		s.run(s.records.tracing.Run)
	}
	s.run(s.storage.moments.Run, s.authorization.roles.Run, s.plugins.objects.Run, s.plugins.Run, s.authentication.Run,
		s.authorization.Run)
	if s.options.Etcd.EncryptionReload {
		s.run(s.storage.encryption.Run)
	}
	s.run(s.chain.aggregator.Run)
	return nil
}

// onClose has the closing server call f, before what was opened earlier is closed.
func (b *base) onClose(f func() error) { b.undo = append(b.undo, f) }

// run runs functions in the background until the server closes. Closing waits until they return, the last one first.
func (b *base) run(functions ...func(context.Context)) {
	for _, do := range functions {
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { do(ctx) })
		b.onClose(func() error {
			cancel()
			running.Wait()
			return nil
		})
	}
}

// close closes everything in the reverse order of opening.
func (b *base) close() error {
	var errs []error
	for i := len(b.undo) - 1; i >= 0; i-- {
		errs = append(errs, b.undo[i]())
	}
	b.undo = nil
	return errors.Join(errs...)
}

// Failed returns a channel that receives one error when the server fails for good.
func (s *Server) Failed() <-chan error { return s.failed }

func (b *base) fail(err error) {
	select {
	case b.failed <- err:
	default:
	}
}

// Stop stops the server in order. Requests in flight may finish until ctx ends. It may be called more than once.
func (s *Server) Stop(ctx context.Context) (err error) {
	s.stop.Do(func() {
		s.stopping.Store(true)
		s.journeys.Control().Close() // requests that are held at a step go on
		s.drain.Close()
		if waitErr := s.drain.Wait(ctx); waitErr != nil {
			s.log.Warn("stopped before all requests were done", "reason", waitErr)
		}
		err = s.close()
	})
	return err
}

// Editor returns the means to write below the API of the server.
func (s *Server) Editor() *admin.Editor {
	return &admin.Editor{Live: s.storage.below.Live, Decoder: s.storage.below.Decoder}
}

// RolesKnown waits until requests are authorized by all roles and bindings that were stored before the call.
func (s *Server) RolesKnown(ctx context.Context) error { return s.authorization.roles.Await(ctx) }

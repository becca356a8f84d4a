package crd

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	controllers "github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/coverage"
	"github.com/kx-apiserver/kx/server/crd/controller"
	"github.com/kx-apiserver/kx/server/crd/conversion"
	"github.com/kx-apiserver/kx/server/crd/definition"
	"github.com/kx-apiserver/kx/server/crd/lister"
	crdopenapi "github.com/kx-apiserver/kx/server/crd/openapi"
	crdschema "github.com/kx-apiserver/kx/server/crd/schema"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
	"github.com/kx-apiserver/kx/server/metrics"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// Config holds what a Server needs.
type Config struct {
	RESTOptions backend.RESTOptionsGetter
	Authorizer  authorizer.UnconditionalAuthorizer
	// Admit may be nil.
	Admit     admission.Interface
	Discovery *discovery.Manager
	OpenAPI   *openapi.Service
	Log       *slog.Logger

	// Journeys (optional) records controllers' writes, and Writes (optional) counts them.
	Journeys *trace.Recorder
	Writes   *controllers.Metrics
	// Gate (optional) is passed by each write of the storages.
	Gate *etcd3.Gate
	// Metrics (optional) count watches.
	Metrics *metrics.Metrics
	// Pieces (optional) keep compressed parts of lists.
	Pieces              *responsewriters.Pieces
	MinRequestTimeout   time.Duration
	MaxRequestBodyBytes int64
	MaxObjectFields     int
	// Services (optional) finds the services of conversion webhooks.
	Services webhook.ServiceResolver
	// Limits bounds the cost of one custom resource.
	Limits crdschema.Limits
	// Observe (optional) is called after each evaluation of a rule.
	Observe coverage.Observer

	// Delegate answers all requests that are not for custom resources.
	Delegate http.Handler

	conversion *conversion.Factory
}

// Server serves custom resources.
type Server struct {
	*crdHandler
	group       endpoint.APIGroupInfo
	controllers *controller.Controllers
}

// New creates a Server. It has no definitions until it is started.
func New(c Config) (*Server, error) {
	crds, status, err := definition.NewREST(c.RESTOptions)
	if err != nil {
		return nil, fmt.Errorf("make the storage of CustomResourceDefinitions: %w", err)
	}
	if c.conversion, err = conversion.NewFactory(c.Services, nil); err != nil {
		crds.Destroy()
		return nil, err
	}
	l := lister.New(crds)
	l.Log = c.Log
	handler := newCRDHandler(c, l)
	l.Subscribe(handler.changed)
	crdopenapi.Publish(l, c.OpenAPI)
	return &Server{
		crdHandler: handler,
		group:      definition.NewAPIGroupInfo(crds, status),
		controllers: controller.New(controller.Config{
			Lister: l, Status: status, Objects: collections{handler}, Discovery: c.Discovery, Log: c.Log,
			Journeys: c.Journeys, Metrics: c.Writes, Gate: c.Gate,
		}),
	}, nil
}

// Delegate returns the handler of all requests that are not for custom resources.
func (s *Server) Delegate() http.Handler { return s.config.Delegate }

// WithDiscovery updates discovery documents with custom resources before next serves one.
func (s *Server) WithDiscovery(next http.Handler) http.Handler {
	return s.controllers.WithDiscovery(next)
}

// UpdateDiscovery updates discovery documents for a caller without a request.
func (s *Server) UpdateDiscovery(ctx context.Context) { s.controllers.UpdateDiscovery(ctx) }

// longestWait limits how long a document waits for definitions that are about to be established.
const longestWait = time.Second

// WithOpenAPI delays the OpenAPI documents of next until definitions that are about to be established are:
// their objects may already have been served.
func (s *Server) WithOpenAPI(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), longestWait)
		defer cancel()
		s.settle(ctx)
		next.ServeHTTP(w, req)
	})
}

// settle waits until no definition is about to be established, and all established ones are published, or until
// ctx ends.
func (s *Server) settle(ctx context.Context) {
	for {
		told := s.lister.NextDelivery()
		if s.lister.WaitDelivered(ctx) != nil || !slices.ContainsFunc(s.lister.List(), controller.IsEstablishingDue) {
			return
		}
		select {
		case <-told:
		case <-ctx.Done():
			return
		}
	}
}

// Learn returns when the definitions that etcd had at a revision, at which one was written, are known. It waits for no
// write.
func (s *Server) Learn(ctx context.Context, revision uint64) error {
	for {
		told := s.lister.NextDelivery()
		if s.lister.Revision() >= revision {
			return nil
		}
		select {
		case <-told:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// CatchUp returns when the definitions that are known are served.
func (s *Server) CatchUp(ctx context.Context) error {
	s.settle(ctx)
	s.UpdateDiscovery(ctx)
	return ctx.Err()
}

// Install installs the definitions themselves in a server, which owns their storage from then on.
func (s *Server) Install(server *endpoint.GenericAPIServer) error {
	return server.InstallAPIGroup(&s.group)
}

// Start starts to follow the definitions, and returns when the existing, readable ones are known and published.
// ctx limits only that. stop ends everything that Start started, and waits for its end.
func (s *Server) Start(ctx context.Context) (stop func(), err error) {
	life, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.lister.Run(life) })
	running.Go(func() { s.controllers.Run(life) })
	stop = func() {
		cancel()
		running.Wait()
	}
	if err := s.lister.WaitSynced(ctx); err != nil {
		stop()
		return nil, fmt.Errorf("list the CustomResourceDefinitions: %w", err)
	}
	return stop, nil
}

// Serves reports whether a request is for a custom resource that is being served.
func (s *Server) Serves(info *request.RequestInfo) bool {
	if !info.IsResourceRequest {
		return false
	}
	crd := s.lister.Get(info.Resource + "." + info.APIGroup)
	if served, _ := serves(crd, info); !served {
		return false
	}
	subresources, err := apihelpers.GetSubresourcesForVersion(crd, info.APIVersion)
	switch info.Subresource {
	case "":
		return true
	case "status":
		return err == nil && subresources != nil && subresources.Status != nil
	case "scale":
		return err == nil && subresources != nil && subresources.Scale != nil
	}
	return false
}

// Storages returns the storages of the current custom resources, each in its storage version. They stay valid:
// each use finds the storage of that moment.
func (s *Server) Storages() map[schema.GroupVersionResource]rest.Storage {
	storages := map[schema.GroupVersionResource]rest.Storage{}
	for _, crd := range s.lister.List() {
		if c, err := newCollection(s.crdHandler, crd); err == nil {
			storages[c.resource] = c
		}
	}
	return storages
}

// Unreadable returns the error of each definition that can't be read. Its resource is not served, or in an
// earlier state.
func (s *Server) Unreadable() []error { return s.lister.AllUnreadable() }

// Complete returns an error if custom resources exist, or may exist, that Storages lacks.
func (s *Server) Complete(ctx context.Context) error { return s.lister.Complete(ctx) }

// Destroy ends what serves custom resources.
func (s *Server) Destroy() { s.destroy() }

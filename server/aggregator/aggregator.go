package aggregator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/proxy"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/server/service"
	"github.com/kx-apiserver/kx/server/webhook"
)

// Config configures a Server.
type Config struct {
	// Delegate serves all other requests.
	Delegate http.Handler
	Kit      *work.Kit
	// Services finds the servers.
	Services *service.Finder
	// Certificate returns the client certificate of a front proxy. It is called when the first APIService names a
	// service.
	Certificate func() (*tls.Certificate, error)
	Discovery   *discovery.Manager
	OpenAPI     *openapi.Service
}

// Server passes requests for some versions to other servers, and all others to its delegate.
type Server struct {
	config     Config
	registered *work.Objects[*apiregistrationv1.APIService]

	// remotes holds the current servers. The map is replaced, never changed.
	remotes atomic.Pointer[map[schema.GroupVersion]*remote]
	// seats limits the concurrent checks.
	seats chan struct{}
	// adopted is true once the servers of all APIServices are in remotes. From then on they have checks.
	adopted atomic.Bool
}

// New returns a server that passes no request to other servers until Run.
func New(c Config) *Server {
	s := &Server{config: c, seats: make(chan struct{}, checksMost),
		registered: work.ObjectsOf[*apiregistrationv1.APIService](c.Kit, c.Kit.ServerWriter(controllerName), resource)}
	s.remotes.Store(&map[schema.GroupVersion]*remote{})
	return s
}

// Delegate returns the server that gets all other requests.
func (s *Server) Delegate() http.Handler { return s.config.Delegate }

// ServeHTTP needs a RequestInfo in the request's context.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if remotes := *s.remotes.Load(); len(remotes) > 0 {
		if r := remotes[versionOf(req)]; r != nil {
			s.pass(w, req, r)
			return
		}
	}
	s.config.Delegate.ServeHTTP(w, req)
}

// versionOf returns the version of a request's resource, or of the page that lists the resources of a version.
func versionOf(req *http.Request) schema.GroupVersion {
	if info, ok := request.RequestInfoFrom(req.Context()); ok && info.IsResourceRequest {
		return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	}
	if version, ok := strings.CutPrefix(req.URL.Path, "/api/"); ok {
		return schema.GroupVersion{Version: strings.TrimSuffix(version, "/")}
	}
	rest, _ := strings.CutPrefix(req.URL.Path, "/apis/")
	group, version, _ := strings.Cut(rest, "/")
	return schema.GroupVersion{Group: group, Version: strings.TrimSuffix(version, "/")}
}

// unavailable is upstream's message to the client of an unreachable server. The step says more.
const unavailable = "service unavailable"

var servedElsewhere = trace.Because("served-elsewhere",
	"an APIService says that the service {name:quote} has this version",
	"APIService 指明由服务 {name:quote} 提供此版本")

// pass passes the request to another server.
func (s *Server) pass(w http.ResponseWriter, req *http.Request, r *remote) {
	var err error
	ctx, step := trace.Start(req.Context(), steps.HandlerAggregate, r.name)
	defer step.End(&err)
	step.Text("service", r.service())
	who, ok := request.UserFrom(ctx)
	if !ok {
		err = errors.New("missing user")
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if away := r.away.Load(); away != nil {
		err = fmt.Errorf("the service %s is not available: %s", r.service(), *away)
		http.Error(w, unavailable, http.StatusServiceUnavailable)
		return
	}
	host, err := s.locate(ctx, r.ref)
	if err != nil {
		http.Error(w, unavailable, http.StatusServiceUnavailable)
		return
	}
	step.Text("address", host)
	step.WhyText(servedElsewhere, r.service())
	if info, ok := request.RequestInfoFrom(ctx); ok && info.Verb == "watch" {
		rest.NotifyInitialized(ctx) // its seat is for requests that work in this process
	}
	if isPage(req) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerWait) // clients ask for it before they do anything
		defer cancel()
	}
	ctx, out, end := handler.NewPatientWriter(ctx, w)
	defer end()
	err = r.answer(out, req.WithContext(ctx), host, who)
}

// isPage reports whether a request is for the page of a version, which lists its resources.
func isPage(req *http.Request) bool {
	info, ok := request.RequestInfoFrom(req.Context())
	return ok && !info.IsResourceRequest && strings.Count(strings.Trim(req.URL.Path, "/"), "/") == 2
}

// answer sends the request to the other server, and its response to the client. If there is none, it returns the
// client's error.
func (r *remote) answer(w http.ResponseWriter, req *http.Request, host string, who user.Info) (failed error) {
	to := &url.URL{Scheme: "https", Host: host, Path: req.URL.Path, RawQuery: req.URL.Query().Encode()}
	out := req.Clone(req.Context())
	out.URL, out.Host = to, host
	trace.Propagate(req.Context(), func(name, value string) {
		if name == trace.ParentHeader {
			out.Header.Del(trace.StateHeader) // it belongs to the client's trace, which may not be continued
		}
		out.Header.Set(name, value)
	})
	if id, ok := audit.AuditIDFrom(req.Context()); ok {
		out.Header.Set(auditinternal.HeaderAuditID, string(id)) // both servers log the request by one ID
	}
	upgrade, client, through := httpstream.IsUpgradeRequest(req), w, webhook.Pages(r.transport)
	if upgrade {
		client, through = webhook.Upgrade(w, r.transport)
	}
	over := transport.NewAuthProxyRoundTripper(who.GetName(), who.GetUID(), who.GetGroups(), who.GetExtra(), through)
	if upgrade {
		// An upgraded connection is dialled: no RoundTripper sees its request.
		transport.SetAuthProxyHeaders(out, who.GetName(), who.GetUID(), who.GetGroups(), who.GetExtra())
	}
	passing := proxy.NewUpgradeAwareHandler(to, over, true, upgrade, responder(func(err error) {
		failed = err
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}))
	passing.RejectForwardingRedirects = true
	passing.ServeHTTP(client, out)
	return failed
}

// responder reports the error of a request that could not be passed on.
type responder func(error)

func (r responder) Error(_ http.ResponseWriter, _ *http.Request, err error) { r(err) }

// Ready returns an error until the APIServices have been read, and each with a server of its own is checked.
func (s *Server) Ready(context.Context) error {
	if !s.adopted.Load() {
		return errors.New("the API services have not been read yet")
	}
	return nil
}

// Run follows APIServices until ctx ends.
func (s *Server) Run(ctx context.Context) {
	changes := make(chan struct{}, 1)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		work.Changes(ctx, s.config.Kit.Storages, resource, work.All, changes)
	}()
	defer func() { <-followed }()
	s.follow(ctx, changes)
}

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/authn"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/filter"
)

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

// serve begins to serve requests.
func (s *Server) serve(context.Context) error {
	filters, err := s.filters()
	if err != nil {
		return err
	}
	handler := filter.ByResource(s.chain.aggregator, s.paths())
	server := &http.Server{
		Handler:   filter.WithOnFirstRequest(filter.BuildHandlerChain(handler, filters)),
		TLSConfig: s.home.tls.Config,
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
	if err := boundResets(server); err != nil {
		return err
	}
	listener := &connections{Listener: s.home.listener, most: s.options.Limits.MaxConnections, log: s.log, metrics: s.metrics}
	go func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("serve on %s: %w", listener.Addr(), err))
		}
	}()
	s.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			return server.Close() // some client keeps its connection open, but has its answers
		}
		return nil
	})
	s.URL = "https://" + s.home.address
	return nil
}

// filters returns the configuration of the filter chain.
func (s *Server) filters() (*filter.Config, error) {
	f := &filter.Config{
		RequestInfo: &request.RequestInfoFactory{
			APIPrefixes:          sets.NewString("api", "apis"),
			GrouplessAPIPrefixes: sets.NewString("api"),
		},
		LongRunning:                 longRunning,
		Counted:                     s.chain.serves,
		Authenticator:               s.authentication.Authenticator,
		Authorizer:                  s.authorization.Authorizer,
		Serializer:                  scheme.Codecs,
		Journeys:                    s.journeys,
		Tracing:                     s.records.tracing,
		Metrics:                     s.metrics,
		Drain:                       s.drain,
		Logger:                      s.log,
		RequestTimeout:              s.options.Limits.RequestTimeout,
		Flow:                        s.flow,
		MaxRequestsInFlight:         s.options.Limits.MaxRequestsInFlight,
		MaxMutatingRequestsInFlight: s.options.Limits.MaxMutatingRequestsInFlight,
	}
	if s.records.audit != nil {
		f.AuditSink, f.AuditPolicy = s.records.audit, s.records.audit.Policy
	}
	for _, pattern := range s.options.Access.CORSAllowedOrigins {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("--cors-allowed-origins: %w", err)
		}
		f.CORSAllowedOrigins = append(f.CORSAllowedOrigins, re)
	}
	return f, nil
}

// longRunning reports whether a request has no time limit: a watch, or a connection to a node, pod or service.
func longRunning(_ *http.Request, info *request.RequestInfo) bool {
	if !info.IsResourceRequest {
		return false
	}
	switch info.Subresource {
	case "attach", "exec", "proxy", "log", "portforward":
		return true
	}
	return info.Verb == "watch" || info.Verb == "proxy"
}

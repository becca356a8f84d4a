package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/health"
	"github.com/kx-apiserver/kx/server/version"
)

// path is a path beside the APIs. One that ends in a slash stands for all paths that begin with it.
type path struct {
	pattern string
	handler http.Handler
}

// withPaths serves the paths beside the resources: health, metrics, the version, OpenAPI and discovery. It passes requests for
// resources to apis at once, since none of these paths looks like one.
func withPaths(c *Config, chain *Chain, fill *filling, stopping *atomic.Bool, apis http.Handler) http.Handler {
	paths := nonAPIPaths(c, chain, fill, stopping)
	discovery := chain.CustomResources.WithDiscovery(c.Discovery.WithDelegate(apis))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, ok := request.RequestInfoFrom(r.Context()); ok && info.IsResourceRequest {
			apis.ServeHTTP(w, r)
			return
		}
		for _, p := range paths {
			if r.URL.Path == p.pattern || strings.HasSuffix(p.pattern, "/") && len(p.pattern) > 1 && strings.HasPrefix(r.URL.Path, p.pattern) {
				p.handler.ServeHTTP(w, r)
				return
			}
		}
		discovery.ServeHTTP(w, r)
	})
}

func nonAPIPaths(c *Config, chain *Chain, fill *filling, stopping *atomic.Bool) []path {
	etcd := health.Check{Name: "etcd", Run: func(context.Context) error { return c.EtcdHealth() }}
	etcdReady := health.Check{Name: "etcd-readiness", Run: func(context.Context) error { return c.EtcdReady() }}
	storages := health.Check{Name: "storage-readiness", Run: func(context.Context) error { return fill.check(chain.ReadinessCheck) }}
	shutdown := health.Check{Name: "shutdown", Run: func(context.Context) error {
		if stopping.Load() {
			return errors.New("process is shutting down")
		}
		return nil
	}}
	healthz := health.NewEndpoint("/healthz", c.Logger, health.Ping, etcd)
	livez := health.NewEndpoint("/livez", c.Logger, health.Ping, etcd)
	readyz := health.NewEndpoint("/readyz", c.Logger, health.Ping, etcd, etcdReady, storages, shutdown)
	openAPI := chain.CustomResources.WithOpenAPI(c.OpenAPI)
	paths := []path{
		{"/healthz", healthz}, {"/healthz/", healthz},
		{"/livez", livez}, {"/livez/", livez},
		{"/readyz", readyz}, {"/readyz/", readyz},
		{"/version", http.HandlerFunc(serveVersion)}, {"/version/", http.HandlerFunc(serveVersion)},
		{"/metrics", c.Metrics.Handler()},
		{"/openapi/v2", openAPI}, {"/openapi/v3", openAPI}, {"/openapi/v3/", openAPI},
	}
	return append(paths, path{"/", serveIndex(paths)})
}

// serveVersion answers with the version of the server. A path below /version is not found.
func serveVersion(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/version" && r.URL.Path != "/version/":
		endpoint.Fail(http.StatusNotFound, scheme.Codecs, w, r)
	case r.Method != http.MethodGet:
		endpoint.Fail(http.StatusMethodNotAllowed, scheme.Codecs, w, r)
	default:
		writeJSON(w, version.Info())
	}
}

// serveIndex lists the paths.
func serveIndex(paths []path) http.Handler {
	index := struct {
		Paths []string `json:"paths"`
	}{Paths: []string{"/api", "/apis"}}
	for _, p := range paths {
		if !strings.HasSuffix(p.pattern, "/") {
			index.Paths = append(index.Paths, p.pattern)
		}
	}
	slices.Sort(index.Paths)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, index) })
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client went away
}

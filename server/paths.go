package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/health"
	"github.com/kx-apiserver/kx/server/version"
	"github.com/kx-apiserver/kx/server/zpages"
)

// path is a path beside the APIs. A pattern that ends in a slash matches all paths below it.
type path struct {
	pattern string
	handler http.Handler
}

// paths serves the paths beside the resources: health, metrics, the version, OpenAPI and discovery.
func (s *Server) paths() http.Handler {
	paths := s.nonAPIPaths()
	discovery := s.chain.customResources.WithDiscovery(s.chain.discovery.WithDelegate(s.chain.aggregator))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, p := range paths {
			if r.URL.Path == p.pattern || strings.HasSuffix(p.pattern, "/") && len(p.pattern) > 1 &&
				strings.HasPrefix(r.URL.Path, p.pattern) {
				p.handler.ServeHTTP(w, r)
				return
			}
		}
		discovery.ServeHTTP(w, r)
	})
}

// checks gives the checks the names and the order of a kube-apiserver. It leaves out names of that server for which kx
// has nothing to check.
func (s *Server) checks() (healthz, livez, readyz []health.Check) {
	etcd := health.Check{Name: "etcd", Run: func(context.Context) error { return s.storage.health() }}
	shutdown := health.Check{Name: "shutdown", Run: func(context.Context) error {
		if s.stopping.Load() {
			return errors.New("process is shutting down")
		}
		return nil
	}}
	access := []health.Check{{Name: "authorization", Run: s.authorization.Ready}, shutdown}
	if s.options.Issuers.ConfigFile != "" {
		access = slices.Insert(access, 0, health.Check{Name: "authentication", Run: s.authentication.Ready})
	}
	var controllers []health.Check
	for _, name := range controller.Names() {
		if s.options.Controllers.Has(name) {
			controllers = append(controllers, health.Check{Name: "controller/" + name, Run: s.chain.controllers.Load().Ready})
		}
	}
	var providers []health.Check
	if encryption := s.storage.below.Decoder.Encryption; encryption.Plugins() || s.options.Etcd.EncryptionReload {
		providers = append(providers, health.Check{Name: "kms-providers", Run: encryption.Check})
	}
	if s.plugins.Static() {
		access = append(access, health.Check{Name: "admission", Run: s.plugins.Ready})
	}
	if s.options.Etcd.EncryptionReload {
		access = append(access, health.Check{Name: "encryption", Run: s.storage.encryption.Ready})
	}
	if s.backups != nil {
		access = append(access, health.Check{Name: "backup", Run: s.backups.Ready})
	}
	logs := health.Check{Name: "log", Run: s.logs.ready}
	synced := health.Check{Name: "informer-sync", Run: func(ctx context.Context) error {
		return errors.Join(s.authorization.roles.Ready(ctx), s.plugins.objects.Ready(ctx))
	}}
	ping, hooks := []health.Check{health.Ping, logs, etcd}, s.hooks()
	// Another start of the server does not help a plugin that is away.
	return slices.Concat(ping, providers, hooks), slices.Concat(ping, hooks),
		slices.Concat(ping, []health.Check{s.storage.readiness(), synced}, providers, hooks, controllers, access)
}

func (s *Server) nonAPIPaths() []path {
	slis := health.NewSLIs()
	openAPI := s.chain.customResources.WithOpenAPI(s.chain.openAPI)
	paths := []path{
		{"/version", http.HandlerFunc(serveVersion)}, {"/version/", http.HandlerFunc(serveVersion)},
		{"/metrics", s.metrics.Handler()}, {"/metrics/slis", slis.Handler()},
		{"/openapi/v2", openAPI}, {"/openapi/v3", openAPI}, {"/openapi/v3/", openAPI},
	}
	paths = append(paths, s.issuer()...)
	listed := []string{"/api", "/apis", "/flagz", "/statusz"}
	healthz, livez, readyz := s.checks()
	for _, e := range []*health.Endpoint{
		health.NewEndpoint("/healthz", s.log, slis, healthz...),
		health.NewEndpoint("/livez", s.log, slis, livez...),
		health.NewEndpoint("/readyz", s.log, slis, readyz...),
	} {
		listed = append(listed, e.Paths()...)
		paths = append(paths, path{e.Paths()[0], e}, path{e.Paths()[0] + "/", e})
	}
	for _, p := range paths {
		if !strings.HasSuffix(p.pattern, "/") {
			listed = append(listed, p.pattern)
		}
	}
	slices.Sort(listed)
	listed = slices.Compact(listed)
	paths = append(paths,
		path{"/statusz", zpages.NewStatusz(statusOf(listed), scheme.Codecs)},
		path{"/flagz", zpages.NewFlagz(s.options.Flags(), scheme.Codecs)})
	if s.flow != nil {
		for pattern, dump := range s.flow.Dumps() {
			paths = append(paths, path{pattern, dump})
		}
	}
	if s.options.Profiling {
		paths = append(paths, profiling()...)
	}
	return append(paths, path{"/", serveIndex(listed)})
}

// statusOf returns the content of /statusz for a server that starts now.
func statusOf(paths []string) zpages.Status {
	info := version.Info()
	binary, _, _ := strings.Cut(strings.TrimPrefix(info.GitVersion, "v"), "+")
	return zpages.Status{
		Start: time.Now(), Go: info.GoVersion, Binary: binary,
		Emulation: version.KubernetesMajor + "." + version.KubernetesMinor, Paths: paths,
	}
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
func serveIndex(paths []string) http.Handler {
	index := struct {
		Paths []string `json:"paths"`
	}{paths}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, index) })
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client went away
}

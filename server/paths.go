package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/health"
	"github.com/kx-apiserver/kx/server/version"
	"github.com/kx-apiserver/kx/server/zpages"
	"github.com/kx-apiserver/kx/store/backend/factory"
)

// path is a path beside the APIs. A pattern that ends in a slash matches all paths below it.
type path struct {
	pattern string
	handler http.Handler
}

// withPaths serves the paths beside the resources: health, metrics, the version, OpenAPI and discovery. Requests for
// resources go to apis at once, since none of these paths looks like one.
func withPaths(c *Config, chain *Chain, checks checks, apis http.Handler) http.Handler {
	paths := nonAPIPaths(c, chain, checks)
	discovery := chain.CustomResources.WithDiscovery(c.Discovery.WithDelegate(apis))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, ok := request.RequestInfoFrom(r.Context()); ok && info.IsResourceRequest {
			apis.ServeHTTP(w, r)
			return
		}
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

// checks holds the health checks of /healthz, /livez and /readyz.
type checks struct{ healthz, livez, readyz []health.Check }

// etcdReadiness only warns when etcd's quota is used up: reads still work, and deletions free space.
func etcdReadiness(c *Config) health.Check {
	var full atomic.Bool
	return health.Check{Name: "etcd-readiness", Run: func(context.Context) error {
		err := c.EtcdReady()
		now := errors.Is(err, factory.ErrNoSpace)
		switch was := full.Swap(now); {
		case now && !was:
			c.Logger.Error("writes are refused", "error", err)
		case was && !now:
			c.Logger.Info("etcd's alarm NOSPACE has ended")
		}
		if now {
			return health.Warning(err.Error())
		}
		return err
	}}
}

// checks gives the checks the names and the order of a kube-apiserver. It leaves out names of that server for which kx
// has nothing to check.
func (s *Server) checks(c *Config, chain *Chain, fill *filling, hooks *hooks) checks {
	etcd := health.Check{Name: "etcd", Run: func(context.Context) error { return c.EtcdHealth() }}
	etcdReady := etcdReadiness(c)
	shutdown := health.Check{Name: "shutdown", Run: func(context.Context) error {
		if s.stopping.Load() {
			return errors.New("process is shutting down")
		}
		return nil
	}}
	access := []health.Check{{Name: "authorization", Run: c.Authorizer.Ready}, shutdown}
	if c.Options.Issuers.ConfigFile != "" {
		access = slices.Insert(access, 0, health.Check{Name: "authentication", Run: c.Authenticator.Ready})
	}
	started := hooks.checks(func(context.Context) error { return fill.check(chain.ReadinessCheck) }, chain.CustomResources.Unreadable)
	var controllers []health.Check
	for _, name := range controller.Known() {
		if c.Options.Controllers.Has(name) {
			controllers = append(controllers, health.Check{Name: "controller/" + name, Run: c.Controllers.Load().Ready})
		}
	}
	var plugins []health.Check
	if encryption := c.Etcd.Decoder.Encryption; encryption.Plugins() || c.Options.Etcd.EncryptionReload {
		plugins = append(plugins, health.Check{Name: "kms-providers", Run: encryption.Check})
	}
	if c.Admission.Static() {
		access = append(access, health.Check{Name: "admission", Run: c.Admission.Ready})
	}
	if c.Options.Etcd.EncryptionReload {
		access = append(access, health.Check{Name: "encryption", Run: c.Encryption.Ready})
	}
	if c.Backups != nil {
		access = append(access, health.Check{Name: "backup", Run: c.Backups.Ready})
	}
	ping, etcds := []health.Check{health.Ping, etcd}, []health.Check{health.Ping, etcd, etcdReady}
	return checks{
		// Another start of the server does not help a plugin that is away.
		healthz: slices.Concat(ping, plugins, started), livez: slices.Concat(ping, started),
		readyz: slices.Concat(etcds, plugins, started, controllers, access),
	}
}

func nonAPIPaths(c *Config, chain *Chain, checks checks) []path {
	slis := health.NewSLIs()
	openAPI := chain.CustomResources.WithOpenAPI(c.OpenAPI)
	paths := []path{
		{"/version", http.HandlerFunc(serveVersion)}, {"/version/", http.HandlerFunc(serveVersion)},
		{"/metrics", c.Metrics.Handler()}, {"/metrics/slis", slis.Handler()},
		{"/openapi/v2", openAPI}, {"/openapi/v3", openAPI}, {"/openapi/v3/", openAPI},
	}
	paths = append(paths, c.discovery()...)
	listed := []string{"/api", "/apis", "/flagz", "/statusz"}
	for _, e := range []*health.Endpoint{
		health.NewEndpoint("/healthz", c.Logger, slis, checks.healthz...),
		health.NewEndpoint("/livez", c.Logger, slis, checks.livez...),
		health.NewEndpoint("/readyz", c.Logger, slis, checks.readyz...),
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
		path{"/flagz", zpages.NewFlagz(c.Options.Flags(), scheme.Codecs)})
	if c.Flow != nil {
		for pattern, dump := range c.Flow.Dumps() {
			paths = append(paths, path{pattern, dump})
		}
	}
	if c.Options.Profiling {
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

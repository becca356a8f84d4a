package endpoint_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/builtin/core/pod"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// testServer serves built-in resources from an etcd prefix of its own.
type testServer struct {
	*httptest.Server
	api      *endpoint.GenericAPIServer
	journeys *trace.Recorder
	// within, if set, is what each request's context is made of.
	within func(context.Context) context.Context
	// after, if set, runs with that context before the response ends.
	after func(context.Context)
}

type option func(*endpoint.GenericAPIServer)

func withAdmission(a admission.Interface) option {
	return func(s *endpoint.GenericAPIServer) { s.Admit = a }
}

func withAuthorizer(a authorizer.UnconditionalAuthorizer) option {
	return func(s *endpoint.GenericAPIServer) { s.Authorizer = a }
}

const maxBodyBytes = 3 << 20

func newServer(t testing.TB, options ...option) *testServer {
	t.Helper()
	s := &testServer{journeys: trace.NewRecorder("test", trace.DefaultLimits)}
	s.api = &endpoint.GenericAPIServer{
		Router:                     endpoint.NewRouter("test", scheme.Codecs, endpoint.NotFoundHandler),
		Discovery:                  discovery.NewManager("localhost:7443"),
		OpenAPI:                    openapi.NewService("v1.37.0"),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
		MinRequestTimeout:          time.Minute,
		MaxRequestBodyBytes:        maxBodyBytes,
	}
	for _, o := range options {
		o(s.api)
	}
	getter := optionsGetter{t, embedtest.Prefix()}
	must(t, s.api.InstallLegacyAPIGroup("/api", coreGroup(t, getter)))
	must(t, s.api.InstallAPIGroups(appsGroup(t, getter)))
	s.Server = httptest.NewServer(s.filters(s.api.Discovery.WithDelegate(s.api.Router)))
	t.Cleanup(func() {
		s.Close()
		s.api.Destroy()
	})
	return s
}

// filters give requests what the server's chain gives them, as far as handlers need it.
func (s *testServer) filters(next http.Handler) http.Handler {
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, err := resolver.NewRequestInfo(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, journey := s.journeys.Begin(req.Context(), trace.Request{Method: req.Method, URI: req.RequestURI})
		if journey != nil {
			defer journey.Finish(trace.Response{})
		}
		ctx = request.WithRequestInfo(ctx, info)
		ctx = request.WithUser(ctx, &user.DefaultInfo{Name: "ann"})
		ctx = warning.WithWarningRecorder(ctx, warnings{w.Header()})
		if s.within != nil {
			ctx = s.within(ctx)
		}
		if s.after != nil {
			defer s.after(ctx)
		}
		next.ServeHTTP(w, req.WithContext(ctx))
	})
}

type warnings struct{ header http.Header }

func (w warnings) AddWarning(agent, text string) {
	if agent == "" {
		agent = "-"
	}
	if value, err := net.NewWarningHeader(299, agent, text); err == nil {
		w.header.Add("Warning", value)
	}
}

// optionsGetter keeps a group's resources below one prefix.
type optionsGetter struct {
	t      testing.TB
	prefix string
}

func (o optionsGetter) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (backend.RESTOptions, error) {
	codec, err := scheme.StorageCodec(resource, runtime.ContentTypeProtobuf)
	if err != nil {
		return backend.RESTOptions{}, err
	}
	config := factory.NewDefaultConfig(o.prefix, codec)
	config.Transport.InProcess = embedtest.Shared(o.t)
	config.CompactionInterval = 0
	config.EncodeVersioner = scheme.Scheme.PrioritizedVersionsForGroup(resource.Group)[0]
	return backend.RESTOptions{
		StorageConfig:           config.ForResource(resource),
		Decorator:               backend.UndecoratedStorage,
		EnableGarbageCollection: true,
		DeleteCollectionWorkers: 2,
		ResourcePrefix:          resource.Resource,
	}, nil
}

func coreGroup(t testing.TB, getter backend.RESTOptionsGetter) *endpoint.APIGroupInfo {
	t.Helper()
	group := endpoint.NewDefaultAPIGroupInfo("", scheme.Scheme)
	for _, r := range []builtin.Declaration{
		builtin.Declare(core.ConfigMap), builtin.Declare(core.Secret), builtin.Declare(core.Event(time.Hour)),
		builtin.Declare(pod.Resource), builtin.Declare(core.Namespace),
	} {
		install(t, &group, r, getter)
	}
	return &group
}

// appsGroup serves deployments as apps/v1, which is what is stored, and in the older versions.
func appsGroup(t testing.TB, getter backend.RESTOptionsGetter) *endpoint.APIGroupInfo {
	t.Helper()
	group := endpoint.NewDefaultAPIGroupInfo("apps", scheme.Scheme)
	install(t, &group, builtin.Declare(apps.Deployment), getter)
	return &group
}

// install enters a resource and its subresources into all their versions.
func install(t testing.TB, group *endpoint.APIGroupInfo, r builtin.Declaration, getter backend.RESTOptionsGetter) {
	t.Helper()
	storages, err := r.NewStorages(getter)
	must(t, err)
	for version, subresources := range r.Versions() {
		if group.VersionedResourcesStorageMap[version.Version] == nil {
			group.VersionedResourcesStorageMap[version.Version] = map[string]rest.Storage{}
		}
		group.VersionedResourcesStorageMap[version.Version][r.Name()] = storages[""]
		for _, sub := range subresources {
			group.VersionedResourcesStorageMap[version.Version][r.Name()+"/"+sub] = storages[sub]
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package endpoint_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// bare can do what every storage can.
type bare struct {
	destroyed *int
	notReady  error
}

func (bare) New() runtime.Object { return &corev1.ConfigMap{} }
func (b bare) Destroy() {
	if b.destroyed != nil {
		*b.destroyed++
	}
}
func (b bare) ReadinessCheck() error { return b.notReady }

type scoped struct{ bare }

func (scoped) NamespaceScoped() bool { return true }

type named struct{ scoped }

func (named) GetSingularName() string { return "thing" }

// getter is named and can get.
type getter struct{ named }

func (getter) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "got"}}, nil
}

// stranger's objects are of no kind of the group.
type stranger struct{ named }

func (stranger) New() runtime.Object { return &autoscalingv1.Scale{} }

func newAPI(delegate http.Handler) *endpoint.GenericAPIServer {
	return &endpoint.GenericAPIServer{
		Router:                     endpoint.NewRouter("test", scheme.Codecs, delegate),
		Discovery:                  discovery.NewManager("localhost:7443"),
		OpenAPI:                    openapi.NewService("v1.37.0"),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
	}
}

func coreWith(storages map[string]rest.Storage) *endpoint.APIGroupInfo {
	group := endpoint.NewDefaultAPIGroupInfo("", scheme.Scheme)
	group.VersionedResourcesStorageMap["v1"] = storages
	return &group
}

func TestWhatCantBeInstalled(t *testing.T) {
	for _, tc := range []struct {
		storages map[string]rest.Storage
		want     string
	}{
		{map[string]rest.Storage{"things": bare{}}, `error in registering resource: things, "things" must implement Scoper`},
		{map[string]rest.Storage{"things": scoped{}}, "resource things must implement SingularNameProvider"},
		{map[string]rest.Storage{"things/part": scoped{}}, `missing parent storage: "things"`},
		{map[string]rest.Storage{"things": named{}, "things/a/b": bare{}}, `"things/a/b" is not a resource or a resource/subresource`},
		{map[string]rest.Storage{"things": stranger{}}, "unable to locate fully qualified kind for *v1.Scale"},
	} {
		api := newAPI(endpoint.NotFoundHandler)
		err := api.InstallLegacyAPIGroup("/api", coreWith(tc.storages))
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "unable to setup API v1") {
			t.Errorf("want %q, got %v", tc.want, err)
		}
		if api.Router.Serves(&request.RequestInfo{IsResourceRequest: true, APIVersion: "v1", Resource: "things"}) {
			t.Errorf("%v is served although it could not be installed", tc.storages)
		}
	}
	api := newAPI(endpoint.NotFoundHandler)
	if err := api.InstallLegacyAPIGroup("/apis", coreWith(nil)); err == nil || err.Error() != `"/apis" is not in the allowed legacy API prefixes: [/api]` {
		t.Errorf("got %v", err)
	}
	if err := api.InstallAPIGroups(coreWith(nil)); err == nil || !strings.Contains(err.Error(), "it needs a group and a version") {
		t.Errorf("got %v", err)
	}
	if err := api.InstallAPIGroup(&endpoint.APIGroupInfo{}); err == nil || !strings.Contains(err.Error(), "no version priority set") {
		t.Errorf("got %v", err)
	}
}

// provider makes the core group with one resource.
type provider struct {
	group string
	err   error
}

func (p provider) GroupName() string { return p.group }
func (p provider) NewRESTStorage(endpoint.APIResourceConfigSource, backend.RESTOptionsGetter) (endpoint.APIGroupInfo, error) {
	group := endpoint.NewDefaultAPIGroupInfo(p.group, scheme.Scheme)
	if p.group == "" {
		group.VersionedResourcesStorageMap["v1"] = map[string]rest.Storage{"things": getter{}}
	}
	return group, p.err
}

// only enables one group.
type only string

func (o only) ResourceEnabled(r schema.GroupVersionResource) bool { return r.Group == string(o) }
func (o only) AnyResourceForGroupEnabled(group string) bool       { return group == string(o) }

func TestInstallAPIs(t *testing.T) {
	broken := provider{"apps", errors.New("broken")}
	api := newAPI(endpoint.NotFoundHandler)
	// A group that nothing is enabled of is not made.
	must(t, api.InstallAPIs(only(""), optionsGetter{t, embedtest.Prefix()}, broken, provider{group: ""}))
	things := &request.RequestInfo{IsResourceRequest: true, APIVersion: "v1", Resource: "things"}
	if !api.Router.Serves(things) || api.Router.Serves(&request.RequestInfo{IsResourceRequest: true, APIVersion: "v1", Resource: "pods"}) {
		t.Error("things should be served, and nothing else")
	}
	if api.Router.Serves(&request.RequestInfo{APIVersion: "v1", Resource: "things"}) {
		t.Error("a request that is not for a resource is served")
	}
	if err := api.InstallAPIs(only("apps"), nil, broken); err == nil || err.Error() != `problem initializing API group "apps": broken` {
		t.Errorf("got %v", err)
	}
	// A group without storages claims nothing.
	must(t, api.InstallAPIs(only("policy"), nil, provider{group: "policy"}))
	if api.Router.Serves(&request.RequestInfo{IsResourceRequest: true, APIGroup: "policy", APIVersion: "v1", Resource: "things"}) {
		t.Error("a group without storages is served")
	}
}

func TestStoragesAreOwned(t *testing.T) {
	destroyed := 0
	api := newAPI(endpoint.NotFoundHandler)
	must(t, api.InstallLegacyAPIGroup("/api", coreWith(map[string]rest.Storage{
		"things": getter{named{scoped{bare{&destroyed, nil}}}},
		"others": getter{named{scoped{bare{&destroyed, errors.New("still filling")}}}},
	})))
	if err := api.ReadinessCheck(); err == nil || err.Error() != "storage of others is not ready: still filling" {
		t.Errorf("got %v", err)
	}
	api.Destroy()
	api.Destroy()
	if destroyed != 2 {
		t.Errorf("two storages were destroyed %d times", destroyed)
	}
}

func TestDelegate(t *testing.T) {
	api := newAPI(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, "delegate")
	}))
	must(t, api.InstallLegacyAPIGroup("/api", coreWith(map[string]rest.Storage{"things": getter{}})))
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	for path, want := range map[string]string{
		"/api/v1/namespaces/n/things/a":         `"name":"got"`,
		"/api/v1/namespaces/n/unknown/a":        "the server could not find the requested resource",
		"/apis/example.com/v1/things":           "delegate",
		"/apis/example.com/v1/namespaces/n/a/b": "delegate",
		"/healthz":                              "delegate",
		"/":                                     "delegate",
	} {
		req := httptest.NewRequest(http.MethodGet, path, nil)
		info, err := resolver.NewRequestInfo(req)
		must(t, err)
		w := httptest.NewRecorder()
		api.Router.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), info)))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: want %q, got %s", path, want, w.Body)
		}
	}
	// Without a RequestInfo nothing is known of a request.
	w := httptest.NewRecorder()
	api.Router.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/n/things/a", nil))
	if w.Body.String() != "delegate" {
		t.Errorf("got %s", w.Body)
	}
}

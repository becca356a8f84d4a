package definition_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/crd/definition"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/server/internal/crdtest"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// server serves definitions from a part of etcd of its own. Nobody looks after them: there are no controllers.
type server struct {
	*crdtest.Client
	etcd   *builtintest.Etcd
	crds   *definition.REST
	status *definition.StatusREST
	api    *endpoint.GenericAPIServer
}

func start(t testing.TB) *server {
	t.Helper()
	s := &server{etcd: builtintest.NewEtcd(t), api: &endpoint.GenericAPIServer{
		Router:                     endpoint.NewRouter("test", scheme.Codecs, endpoint.NotFoundHandler),
		Discovery:                  discovery.NewManager("localhost:7443"),
		OpenAPI:                    openapi.NewService("v1.37.0"),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
		MinRequestTimeout:          time.Minute,
		MaxRequestBodyBytes:        3 << 20,
	}}
	var err error
	s.crds, s.status, err = definition.NewREST(s.etcd)
	must(t, err)
	group := definition.NewAPIGroupInfo(s.crds, s.status)
	must(t, s.api.InstallAPIGroup(&group))
	h := httptest.NewServer(filters(s.api.Discovery.WithDelegate(s.api.Router)))
	t.Cleanup(func() {
		h.Close()
		s.api.Destroy()
	})
	s.Client = &crdtest.Client{URL: h.URL, HTTP: h.Client()}
	return s
}

// filters give requests what the server's chain gives them, as far as handlers need it.
func filters(next http.Handler) http.Handler {
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, err := resolver.NewRequestInfo(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx := request.WithUser(request.WithRequestInfo(req.Context(), info), &user.DefaultInfo{Name: "ann"})
		next.ServeHTTP(w, req.WithContext(warning.WithWarningRecorder(ctx, warnings{w.Header()})))
	})
}

type warnings struct{ header http.Header }

func (w warnings) AddWarning(_, text string) {
	if value, err := net.NewWarningHeader(299, "-", text); err == nil {
		w.header.Add("Warning", value)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	corerest "github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/all"
	"github.com/kx-apiserver/kx/server/builtin/rest"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
	"github.com/kx-apiserver/kx/server/openapi"
)

// TestPermissions asks what TestPermissions of server/testdata/upstream asked a kube-apiserver, as users who may do some things
// and not others. What resources themselves ask the authorizer about is all that is looked at: a request as such is let through.
func TestPermissions(t *testing.T) {
	datadriven.Walk(t, filepath.Join("..", "..", "testdata", "permissions"), func(t *testing.T, path string) {
		server := servePermissions(t)
		c := &wiretest.Client{URL: server.URL, Admin: server.Client(), Anyone: server.Client()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return c.Ask(t, d.Input) })
	})
}

// TestGrants asks what TestGrants of server/testdata/upstream asked a kube-apiserver, as users who would give others or themselves
// more than they have. Who has the verbs escalate and bind is said by the same grants as above.
func TestGrants(t *testing.T) {
	datadriven.Walk(t, filepath.Join("..", "..", "testdata", "grants"), func(t *testing.T, path string) {
		server := servePermissions(t)
		c := &wiretest.Client{URL: server.URL, Admin: server.Client(), Anyone: server.Client()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "await" { // the roles are read as they are
				return "allowed"
			}
			return c.Ask(t, d.Input)
		})
	})
}

// grants lets administrators do everything and others what they have a grant for.
func grants(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who, resource := a.GetUser(), a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	asked := wiretest.Grant{User: who.GetName(), Verb: a.GetVerb(), Group: a.GetAPIGroup(), Resource: resource, Name: a.GetName()}
	if sets.New(who.GetGroups()...).Has(user.SystemPrivilegedGroup) || wiretest.Granted(asked) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// asker is the user whose name the token is, or whom the administrator acts as, or else the administrator.
func asker(req *http.Request) user.Info {
	if name := req.Header.Get("Impersonate-User"); name != "" {
		who := &user.DefaultInfo{Name: name, Groups: []string{user.AllAuthenticated}}
		if node := req.Header.Get("Impersonate-Extra-Authentication.kubernetes.io%2fnode-Name"); node != "" {
			who.Extra = map[string][]string{serviceaccount.NodeNameKey: {node}}
		}
		return who
	}
	if name, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok {
		return &user.DefaultInfo{Name: name, Groups: append(slices.Clone(wiretest.Groups[name]), user.AllAuthenticated)}
	}
	return &user.DefaultInfo{Name: "kx-admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
}

func servePermissions(t *testing.T) *httptest.Server {
	t.Helper()
	source, err := rest.ParseRuntimeConfig(map[string]string{"api/beta": "true"})
	if err != nil {
		t.Fatal(err)
	}
	api := &endpoint.GenericAPIServer{
		Router:                     endpoint.NewRouter("test", scheme.Codecs, endpoint.NotFoundHandler),
		Discovery:                  discovery.NewManager("localhost"),
		OpenAPI:                    openapi.NewService("v1.37.0"),
		Authorizer:                 authorizer.AuthorizerFunc(grants),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
		MinRequestTimeout:          time.Minute,
		MaxRequestBodyBytes:        3 << 20,
	}
	needs := all.Needs{Authorizer: api.Authorizer, Storage: api.Storage, Namespace: func(ctx context.Context, name string) (*corev1.Namespace, error) {
		namespaces := api.Storage(corev1.SchemeGroupVersion.WithResource("namespaces")).(corerest.Getter)
		object, err := namespaces.Get(request.WithNamespace(ctx, ""), name, &metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return object.(*corev1.Namespace), nil
	}}
	var providers []endpoint.RESTStorageProvider
	for _, group := range []string{"", "certificates.k8s.io", "resource.k8s.io", "rbac.authorization.k8s.io"} {
		providers = append(providers, provider(group, needs))
	}
	if err := api.InstallAPIs(source, builtintest.NewEtcd(t), providers...); err != nil {
		t.Fatal(err)
	}
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, err := resolver.NewRequestInfo(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Cache-Control", "no-cache, private") // as the filters before the router do
		api.Router.ServeHTTP(w, req.WithContext(request.WithUser(request.WithRequestInfo(req.Context(), info), asker(req))))
	}))
	t.Cleanup(func() {
		server.Close()
		api.Destroy()
	})
	return server
}

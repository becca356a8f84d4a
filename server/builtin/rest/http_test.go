package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/builtin/rest"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/server/openapi"
)

// serve installs both groups as a server does, and answers over HTTP.
func serve(t *testing.T, config map[string]string) *httptest.Server {
	t.Helper()
	source, err := rest.ParseRuntimeConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	api := &endpoint.GenericAPIServer{
		Router:                     endpoint.NewRouter("test", scheme.Codecs, endpoint.NotFoundHandler),
		Discovery:                  discovery.NewManager("localhost"),
		OpenAPI:                    openapi.NewService("v1.37.0"),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
		MinRequestTimeout:          time.Minute,
		MaxRequestBodyBytes:        3 << 20,
	}
	err = api.InstallAPIs(source, builtintest.NewEtcd(t), core(time.Hour), apps())
	if err != nil {
		t.Fatal(err)
	}
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasPrefix(req.URL.Path, "/openapi/") {
			api.OpenAPI.ServeHTTP(w, req)
			return
		}
		info, err := resolver.NewRequestInfo(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx := request.WithUser(request.WithRequestInfo(req.Context(), info), &user.DefaultInfo{Name: "ann"})
		api.Router.ServeHTTP(w, req.WithContext(ctx))
	}))
	t.Cleanup(func() {
		server.Close()
		api.Destroy()
	})
	return server
}

// ask sends a request and returns the status code and the answer.
func ask(t *testing.T, server *httptest.Server, method, path, accept, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	res, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]any{}
	if res.Header.Get("Content-Type") != "application/json" {
		return res.StatusCode, answer
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatalf("%s %s: %d %q: %v", method, path, res.StatusCode, data, err)
	}
	return res.StatusCode, answer
}

// at is the value at a path of keys in an answer, as text.
func at(answer map[string]any, path string) string {
	var v any = answer
	for key := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return "<nothing>"
		}
		v = m[key]
	}
	return fmt.Sprint(v)
}

const (
	asJSON  = "application/json"
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
)

func TestOverHTTP(t *testing.T) {
	server := serve(t, map[string]string{"apps/v1beta1": "true"})
	const ns = "/api/v1/namespaces/default"
	deployment := `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
	for _, step := range []struct {
		method, path, accept, body string
		code                       int
		want                       map[string]string
	}{
		{"POST", "/api/v1/namespaces", asJSON, `{"metadata":{"name":"n"}}`, 201, map[string]string{
			"kind": "Namespace", "apiVersion": "v1", "status.phase": "Active", "spec.finalizers": "[kubernetes]"}},
		{"DELETE", "/api/v1/namespaces/n", asJSON, "", 200, map[string]string{"kind": "Namespace", "status.phase": "Terminating"}},
		{"PUT", "/api/v1/namespaces/n/finalize", asJSON, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"n"}}`, 200, nil},
		{"GET", "/api/v1/namespaces/n", asJSON, "", 404, map[string]string{"reason": "NotFound", "message": `namespaces "n" not found`}},

		{"POST", ns + "/secrets", asJSON, `{"metadata":{"name":"s"},"stringData":{"k":"v"}}`, 201, map[string]string{
			"type": "Opaque", "data.k": "dg==", "stringData": "<nil>"}},
		{"PUT", ns + "/secrets/s", asJSON, `{"metadata":{"name":"s"},"type":"x"}`, 422, map[string]string{
			"reason": "Invalid", "message": `Secret "s" is invalid: type: Invalid value: "x": field is immutable`}},
		{"GET", ns + "/secrets?fieldSelector=type%3DOpaque", asTable, "", 200, map[string]string{"kind": "Table"}},
		{"GET", ns + "/secrets?fieldSelector=data%3Dx", asJSON, "", 400, map[string]string{
			"message": "field label not supported: data"}},
		{"DELETE", ns + "/secrets/s", asJSON, "", 200, map[string]string{"kind": "Status", "status": "Success"}},

		{"POST", ns + "/configmaps", asJSON, `{"metadata":{"name":"c"},"data":{"a b":""}}`, 422, map[string]string{
			"reason": "Invalid", "details.kind": "ConfigMap"}},
		{"POST", ns + "/services", asJSON, `{"metadata":{"name":"w"},"spec":{"ports":[{"port":80}],"type":"NodePort"}}`, 201, map[string]string{
			"spec.clusterIP": "10.96.1.1", "spec.ipFamilyPolicy": "SingleStack", "spec.externalTrafficPolicy": "Cluster"}},
		{"DELETE", ns + "/services/w", asJSON, "", 200, map[string]string{"kind": "Service", "spec.clusterIP": "10.96.1.1"}},
		{"POST", ns + "/events", asJSON, `{"metadata":{"name":"e"},"involvedObject":{"namespace":"other"}}`, 422, map[string]string{
			"message": `Event "e" is invalid: involvedObject.namespace: Invalid value: "other": does not match event.namespace`}},
		{"POST", ns + "/serviceaccounts", asJSON, `{"metadata":{"name":"sa"},"secrets":[{"name":"t","kind":"Secret"}]}`, 201, map[string]string{
			"secrets": "[map[name:t]]"}},

		{"POST", "/apis/apps/v1beta1/namespaces/default/deployments", asJSON, deployment, 201, map[string]string{"apiVersion": "apps/v1beta1"}},
		{"GET", "/apis/apps/v1/namespaces/default/deployments/d", asJSON, "", 200, map[string]string{"apiVersion": "apps/v1", "spec.replicas": "1"}},
		{"GET", "/apis/apps/v1beta1/namespaces/default/deployments/d/scale", asJSON, "", 200, map[string]string{"kind": "Scale", "apiVersion": "apps/v1beta1"}},
		// The code of the answer is that of every create, whatever its Status says.
		{"POST", "/apis/apps/v1beta1/namespaces/default/deployments/d/rollback", asJSON, `{"kind":"DeploymentRollback","apiVersion":"apps/v1beta1","name":"d","rollbackTo":{"revision":1}}`,
			201, map[string]string{"kind": "Status", "code": "200"}},
		{"GET", "/openapi/v3/apis/apps/v1beta1", asJSON, "", 200, map[string]string{
			"paths./apis/apps/v1beta1/namespaces/{namespace}/deployments/{name}/rollback.post.responses.201.content.application/json.schema.$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Status"}},
		{"GET", "/apis/apps/v1beta2/namespaces/default/deployments/d", asJSON, "", 404, nil},
		{"GET", "/apis/apps/v1beta1/namespaces/default/replicasets", asJSON, "", 404, nil},
	} {
		code, answer := ask(t, server, step.method, step.path, step.accept, step.body)
		if code != step.code {
			t.Errorf("%s %s: %d, want %d: %v", step.method, step.path, code, step.code, answer)
		}
		for path, want := range step.want {
			if got := at(answer, path); got != want {
				t.Errorf("%s %s: %s is %q, want %q", step.method, step.path, path, got, want)
			}
		}
	}
}

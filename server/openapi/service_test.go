package openapi_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/openapi"
)

var (
	all     = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	partial = metav1.Verbs{"get", "patch", "update"}

	coreV1      = schema.GroupVersion{Version: "v1"}
	appsV1      = schema.GroupVersion{Group: "apps", Version: "v1"}
	appsV1beta1 = schema.GroupVersion{Group: "apps", Version: "v1beta1"}
	appsV1beta2 = schema.GroupVersion{Group: "apps", Version: "v1beta2"}

	apiextensionsV1 = schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}
)

func resource(name, kind string, namespaced bool, verbs metav1.Verbs) openapi.Resource {
	return openapi.Resource{APIResource: metav1.APIResource{Name: name, Kind: kind, Namespaced: namespaced, Verbs: verbs}}
}

func scale(group, version string) openapi.Resource {
	r := resource("deployments/scale", "Scale", true, partial)
	r.Group, r.Version = group, version
	return r
}

// builtins are what kx serves.
func builtins() map[schema.GroupVersion][]openapi.Resource {
	pods := resource("pods", "Pod", true, all)
	pods.DeleteReturnsObject = true
	rollback := resource("deployments/rollback", "DeploymentRollback", true, metav1.Verbs{"create"})
	rollback.CreateReturnsStatus = true
	return map[schema.GroupVersion][]openapi.Resource{
		coreV1: {
			resource("namespaces", "Namespace", false, slices.DeleteFunc(slices.Clone(all), func(v string) bool { return v == "deletecollection" })),
			resource("namespaces/finalize", "Namespace", false, metav1.Verbs{"update"}),
			resource("namespaces/status", "Namespace", false, partial),
			resource("configmaps", "ConfigMap", true, all), resource("secrets", "Secret", true, all),
			resource("serviceaccounts", "ServiceAccount", true, all), resource("events", "Event", true, all),
			pods, resource("pods/status", "Pod", true, partial), resource("services", "Service", true, all),
		},
		appsV1: {
			resource("deployments", "Deployment", true, all), resource("deployments/status", "Deployment", true, partial),
			scale("autoscaling", "v1"), resource("replicasets", "ReplicaSet", true, all),
		},
		appsV1beta1: {resource("deployments", "Deployment", true, all), scale("apps", "v1beta1"), rollback},
		appsV1beta2: {resource("deployments", "Deployment", true, all), scale("apps", "v1beta2")},
		apiextensionsV1: {
			resource("customresourcedefinitions", "CustomResourceDefinition", false, all),
			resource("customresourcedefinitions/status", "CustomResourceDefinition", false, partial),
		},
	}
}

// service is shared by the tests that change nothing: describing everything takes a while.
var service = sync.OnceValue(newService)

func newService() *openapi.Service {
	s := openapi.NewService("v1.37.2+kx")
	for gv, resources := range builtins() {
		s.InstallGroupVersion(gv, resources)
	}
	return s
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// noRedirect shows redirections rather than follow them.
var noRedirect = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func get(t *testing.T, url string, header ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := noRedirect.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

func decode[T any](t *testing.T, data []byte) *T {
	t.Helper()
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("decode %.200q: %v", data, err)
	}
	return v
}

type index struct {
	Paths map[string]struct{ ServerRelativeURL string }
}

func TestIndex(t *testing.T) {
	url := serve(t, service())
	resp, body := get(t, url+"/openapi/v3")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s, %v", resp.Status, resp.Header)
	}
	var paths []string
	for path, entry := range decode[index](t, body).Paths {
		paths = append(paths, path)
		if !strings.HasPrefix(entry.ServerRelativeURL, "/openapi/v3/"+path+"?hash=") {
			t.Errorf("%s is at %s", path, entry.ServerRelativeURL)
		}
	}
	slices.Sort(paths)
	want := []string{"api", "api/v1", "apis", "apis/apiextensions.k8s.io", "apis/apiextensions.k8s.io/v1",
		"apis/apps", "apis/apps/v1", "apis/apps/v1beta1", "apis/apps/v1beta2", "version"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	if resp, body := get(t, url+"/openapi/v3", "If-None-Match", resp.Header.Get("ETag")); resp.StatusCode != http.StatusNotModified || len(body) > 0 {
		t.Errorf("the same tag: %s", resp.Status)
	}
}

// A document below its hash may be kept for ever, and one below another hash is elsewhere.
func TestHashAndETag(t *testing.T) {
	url := serve(t, service())
	_, body := get(t, url+"/openapi/v3")
	at := decode[index](t, body).Paths["apis/apps/v1"].ServerRelativeURL
	resp, _ := get(t, url+at)
	tag := resp.Header.Get("ETag")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Cache-Control") != "public, immutable" || resp.Header.Get("Expires") == "" ||
		!slices.Equal(resp.Header.Values("Vary"), []string{"Accept-Encoding", "Accept"}) || tag != `"`+at[strings.Index(at, "=")+1:]+`"` {
		t.Errorf("GET with its hash: %s, %v", resp.Status, resp.Header)
	}
	resp, _ = get(t, url+"/openapi/v3/apis/apps/v1?hash=OLD")
	if resp.StatusCode != http.StatusMovedPermanently || resp.Header.Get("Location") != at {
		t.Errorf("GET with an old hash: %s to %q", resp.Status, resp.Header.Get("Location"))
	}
	resp, _ = get(t, url+"/openapi/v3/apis/apps/v1")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Cache-Control") != "" {
		t.Errorf("GET without hash: %s, %v", resp.Status, resp.Header)
	}
	for _, path := range []string{"/openapi/v3/apis/apps/v1", "/openapi/v2"} {
		resp, _ := get(t, url+path)
		resp, body := get(t, url+path, "If-None-Match", resp.Header.Get("ETag"))
		if resp.StatusCode != http.StatusNotModified || len(body) > 0 {
			t.Errorf("GET %s with its tag: %s", path, resp.Status)
		}
	}
}

func TestRefusals(t *testing.T) {
	url := serve(t, service())
	for _, tt := range []struct {
		path, accept string
		want         int
	}{
		{"/openapi/v3/apis/none/v1", "", 404},
		{"/openapi/v3/", "", 404},
		{"/openapi/v3/apis/apps/v1/", "", 404},
		{"/openapi/v4", "", 404},
		{"/openapi/v3/apis/apps/v1", "text/html", 406},
		{"/openapi/v2", "text/html", 406},
	} {
		if resp, _ := get(t, url+tt.path, "Accept", tt.accept); resp.StatusCode != tt.want {
			t.Errorf("GET %s as %q: %s", tt.path, tt.accept, resp.Status)
		}
	}
	resp, err := http.Post(url+"/openapi/v2", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %s, Allow %q", resp.Status, resp.Header.Get("Allow"))
	}
}

func TestProtobuf(t *testing.T) {
	url := serve(t, service())
	for _, accept := range []string{"application/com.github.proto-openapi.spec.v3@v1.0+protobuf", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"} {
		resp, body := get(t, url+"/openapi/v3/apis/apps/v1", "Accept", accept)
		document := &openapi_v3.Document{}
		if err := proto.Unmarshal(body, document); err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Content-Type"); got != "application/com.github.proto-openapi.spec.v3.v1.0+protobuf" {
			t.Errorf("v3 as %s: Content-Type %s", accept, got)
		}
		if _, asJSON := get(t, url+"/openapi/v3/apis/apps/v1"); len(document.Paths.Path) != len(decode[spec3.OpenAPI](t, asJSON).Paths.Paths) {
			t.Errorf("v3 as %s: %d paths", accept, len(document.Paths.Path))
		}
	}
	for _, accept := range []string{"application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"} {
		resp, body := get(t, url+"/openapi/v2", "Accept", accept)
		document := &openapi_v2.Document{}
		if err := proto.Unmarshal(body, document); err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Content-Type"); got != "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" {
			t.Errorf("v2 as %s: Content-Type %s", accept, got)
		}
		if _, asJSON := get(t, url+"/openapi/v2"); len(document.Paths.Path) != len(decode[spec.Swagger](t, asJSON).Paths.Paths) {
			t.Errorf("v2 as %s: %d paths", accept, len(document.Paths.Path))
		}
	}
}

// TestPartThatIsNoProtobuf adds the description of another server, with what a message has no field for.
func TestPartThatIsNoProtobuf(t *testing.T) {
	s := service()
	s.UpdatePart(schema.GroupVersion{Group: "example.com", Version: "v1"}, openapi.Part{
		V3: func() (*spec3.OpenAPI, error) { return &spec3.OpenAPI{}, nil },
		V2: func() (*spec.Swagger, error) {
			return &spec.Swagger{SwaggerProps: spec.SwaggerProps{Definitions: spec.Definitions{
				"com.example.v1.T": {ExtraProps: map[string]any{"unheard-of": true}}}}}, nil
		},
	})
	_, body := get(t, serve(t, s)+"/openapi/v2", "Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	document := &openapi_v2.Document{}
	if err := proto.Unmarshal(body, document); err != nil {
		t.Fatal(err)
	}
	if len(document.GetPaths().GetPath()) == 0 {
		t.Error("one that protobuf can't express hid the others")
	}
}

func TestHead(t *testing.T) {
	url := serve(t, service())
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1"} {
		want, _ := get(t, url+path)
		resp, err := http.Head(url + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get("ETag") != want.Header.Get("ETag") || resp.Header.Get("Content-Type") != want.Header.Get("Content-Type") {
			t.Errorf("HEAD %s: %s, %v", path, resp.Status, resp.Header)
		}
	}
}

func TestV2IsCompressed(t *testing.T) {
	url := serve(t, service())
	resp, body := get(t, url+"/openapi/v2", "Accept-Encoding", "gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" || len(body) < 2 || body[0] != 0x1f || body[1] != 0x8b {
		t.Errorf("%s, %v", resp.Status, resp.Header)
	}
}

// client-go's own way to the documents.
func TestClient(t *testing.T) {
	client, err := clientdiscovery.NewDiscoveryClientForConfig(&rest.Config{Host: serve(t, service())})
	if err != nil {
		t.Fatal(err)
	}
	root := openapi3.NewRoot(client.OpenAPIV3())
	document, err := root.GVSpec(appsV1)
	if err != nil {
		t.Fatal(err)
	}
	if document.Components.Schemas["io.k8s.api.apps.v1.Deployment"] == nil {
		t.Error("no Deployment in the OpenAPI v3 of apps/v1")
	}
	v2, err := client.OpenAPISchema()
	if err != nil {
		t.Fatal(err)
	}
	if v2.Info.Version != "v1.37.2+kx" || v2.Info.Title != "Kubernetes" {
		t.Errorf("info %v", v2.Info)
	}
}

// What comes, changes and goes shows in both versions, and one that fails does not take the others with it.
func TestChanges(t *testing.T) {
	s := openapi.NewService("v1")
	s.InstallGroupVersion(appsV1, builtins()[appsV1])
	url := serve(t, s)
	if resp, _ := get(t, url+"/openapi/v3/apis/example.com/v1"); resp.StatusCode != http.StatusNotFound {
		t.Fatalf("before: %s", resp.Status)
	}
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	for _, description := range []string{"first", "second"} {
		builtV3, builtV2 := 0, 0
		s.UpdatePart(gv, openapi.Part{V3: func() (*spec3.OpenAPI, error) {
			builtV3++
			return &spec3.OpenAPI{Version: "3.0.0", Info: &spec.Info{InfoProps: spec.InfoProps{Title: description}}}, nil
		}, V2: func() (*spec.Swagger, error) {
			builtV2++
			return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
				Definitions: spec.Definitions{"com.example.v1.T": {SchemaProps: spec.SchemaProps{Description: description}}}}}, nil
		}})
		if builtV3+builtV2 > 0 {
			t.Error("described before anybody asked")
		}
		for range 2 {
			_, v3 := get(t, url+"/openapi/v3/apis/example.com/v1")
			_, v2 := get(t, url+"/openapi/v2")
			if got := decode[spec3.OpenAPI](t, v3).Info.Title; got != description {
				t.Errorf("v3: %q, want %q", got, description)
			}
			definitions := decode[spec.Swagger](t, v2).Definitions
			if got := definitions["com.example.v1.T"].Description; got != description {
				t.Errorf("v2: %q, want %q", got, description)
			}
			if _, ok := definitions["io.k8s.api.apps.v1.Deployment"]; !ok {
				t.Error("v2 lost Deployment")
			}
		}
		if builtV3 != 1 || builtV2 != 1 {
			t.Errorf("described %d and %d times", builtV3, builtV2)
		}
	}
	s.RemovePart(gv, "")
	if resp, _ := get(t, url+"/openapi/v3/apis/example.com/v1"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("after: %s", resp.Status)
	}

	s.UpdatePart(gv, openapi.Part{
		V3: func() (*spec3.OpenAPI, error) { return nil, errors.New("no") },
		V2: func() (*spec.Swagger, error) { return nil, errors.New("no") },
	})
	broken := schema.GroupVersion{Group: "broken.example.com", Version: "v1"}
	s.UpdatePart(broken, openapi.Part{
		Hash: "of a document of another server",
		V3: func() (*spec3.OpenAPI, error) {
			return openapiconv.ConvertV2ToV3(&spec.Swagger{SwaggerProps: spec.SwaggerProps{Paths: &spec.Paths{
				Paths: map[string]spec.PathItem{"/x": {PathItemProps: spec.PathItemProps{Get: &spec.Operation{}}}}}}}), nil
		},
		V2: func() (*spec.Swagger, error) { return &spec.Swagger{}, nil },
	})
	if resp, body := get(t, url+"/openapi/v3/apis/broken.example.com/v1"); resp.StatusCode != http.StatusOK ||
		decode[spec3.OpenAPI](t, body).Version != "3.0.0" {
		t.Errorf("one that panics: %s, %.200s", resp.Status, body)
	}
	_, body := get(t, url+"/openapi/v3")
	if _, ok := decode[index](t, body).Paths["apis/apps/v1"]; !ok {
		t.Errorf("one that fails hid the others: %.200s", body)
	}
	if resp, body := get(t, url+"/openapi/v3/apis/example.com/v1"); resp.StatusCode != http.StatusOK || decode[spec3.OpenAPI](t, body).Version != "3.0.0" {
		t.Errorf("one that fails: %s, %.200s", resp.Status, body)
	}
	_, body = get(t, url+"/openapi/v2")
	if definitions := decode[spec.Swagger](t, body).Definitions; len(definitions) == 0 || definitions["com.example.v1.T"].Description != "" {
		t.Errorf("v2 has %d definitions", len(definitions))
	}
}

func TestConcurrentReaders(t *testing.T) {
	s := newService()
	url := serve(t, s)
	var readers sync.WaitGroup
	for _, path := range []string{"/openapi/v3", "/openapi/v2", "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1", "/openapi/v3/apis/apps/v1beta1"} {
		readers.Go(func() {
			if resp, body := get(t, url+path); resp.StatusCode != http.StatusOK || len(body) == 0 {
				t.Errorf("GET %s: %s, %d bytes", path, resp.Status, len(body))
			}
		})
	}
	readers.Go(func() {
		if definition("io.k8s.api.core.v1.Pod") == nil {
			t.Error("no definition of Pod")
		}
	})
	s.InstallGroupVersion(appsV1, builtins()[appsV1])
	other := schema.GroupVersion{Group: "example.com", Version: "v1"}
	s.UpdatePart(other, openapi.Part{
		V3: func() (*spec3.OpenAPI, error) { return &spec3.OpenAPI{}, nil },
		V2: func() (*spec.Swagger, error) { return &spec.Swagger{}, nil },
	})
	s.RemovePart(other, "")
	readers.Wait()
}

package crd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/crd"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/server/internal/crdtest"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in three minutes it was not so that %s", what)
		}
	}
}

// server serves definitions and custom resources on a part of etcd.
type server struct {
	*crdtest.Client
	*crd.Server
	api      *endpoint.GenericAPIServer
	journeys *trace.Recorder
	end      func()
}

var infos = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// start starts a server that ends with the test, or before; then nothing of it is left.
func start(t testing.TB, etcd *builtintest.Etcd) *server {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	s := &server{journeys: trace.NewRecorder("test", trace.DefaultLimits)}
	pages, documents := discovery.NewManager("localhost:7443"), openapi.NewService("v1.37.0")
	var err error
	s.Server, err = crd.New(crd.Config{
		RESTOptions: etcd, Discovery: pages, OpenAPI: documents, Log: slog.New(slog.DiscardHandler),
		MinRequestTimeout: time.Minute, MaxRequestBodyBytes: 3 << 20, Delegate: endpoint.NotFoundHandler,
	})
	must(t, err)
	s.api = &endpoint.GenericAPIServer{
		Router: endpoint.NewRouter("test", scheme.Codecs, s.Server), Discovery: pages, OpenAPI: documents,
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(), MinRequestTimeout: time.Minute, MaxRequestBodyBytes: 3 << 20,
	}
	must(t, s.Install(s.api))
	stop, err := s.Start(t.Context())
	must(t, err)
	h := httptest.NewServer(s.filters(s.WithDiscovery(pages.WithDelegate(s.api.Router))))
	s.Client = &crdtest.Client{URL: h.URL, HTTP: h.Client()}
	s.end = sync.OnceFunc(func() {
		h.CloseClientConnections()
		h.Close()
		stop()
		s.Destroy()
		s.api.Destroy()
		h.Client().CloseIdleConnections()
		goleak.VerifyNone(t, ignore)
	})
	t.Cleanup(s.end)
	return s
}

// filters give requests what the server's chain gives them, as far as it matters here.
func (s *server) filters(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, err := infos.NewRequestInfo(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, journey := s.journeys.Begin(req.Context(), trace.Request{Method: req.Method, URI: req.URL.RequestURI()})
		defer journey.Finish(trace.Response{})
		ctx = request.WithUser(request.WithRequestInfo(ctx, info), &user.DefaultInfo{Name: "ann"})
		next.ServeHTTP(w, req.WithContext(ctx))
	})
}

const tabs = "/apis/stable.example.com/v1/namespaces/default/crontabs"

// define makes a definition, and waits until its objects are served and it is established.
func (s *server) define(t testing.TB, definition string) {
	t.Helper()
	if code, answer := s.Send(t, http.MethodPost, crdtest.Collection, []byte(definition)); code != http.StatusCreated {
		t.Fatalf("%d %s", code, answer)
	}
	eventually(t, "it is established", func() bool {
		_, answer := s.Send(t, http.MethodGet, crdtest.Collection+"/"+crdtest.Name, nil)
		return established(answer)
	})
}

func established(definition []byte) bool {
	var d unstructured.Unstructured
	if json.Unmarshal(definition, &d.Object) != nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}

func tab(name string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":%q},"spec":{"image":"i"}}`, name)
}

// built counts the journeys in which what serves the definition was made.
func (s *server) built() (n int) {
	changes, _ := s.journeys.List()
	for _, c := range changes {
		for _, step := range c.Journey.Record().Steps {
			if step.ID == steps.CRDInfo && step.Reason.String() == "serving-info-built" {
				n++
			}
		}
	}
	return n
}

// TestBuiltOnce: however many requests come first, one of them makes what serves the definition; and one after each change
// that matters to requests.
func TestBuiltOnce(t *testing.T) {
	s := start(t, builtintest.NewEtcd(t))
	s.define(t, crdtest.Definition)
	storm := func() {
		var requests sync.WaitGroup
		for range 20 {
			requests.Go(func() {
				if code, answer := s.Send(t, http.MethodGet, tabs, nil); code != http.StatusOK {
					t.Errorf("%d %s", code, answer)
				}
			})
		}
		requests.Wait()
	}
	storm()
	if n := s.built(); n != 1 {
		t.Errorf("made %d times", n)
	}
	s.patchDefinition(t, `{"metadata":{"labels":{"a":"b"}}}`)
	s.patchDefinition(t, `{"spec":{"names":{"shortNames":["ct","cts"]}}}`)
	eventually(t, "it is made again", func() bool { storm(); return s.built() >= 2 })
}

func (s *server) patchDefinition(t testing.TB, patch string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPatch, s.URL+crdtest.Collection+"/"+crdtest.Name, strings.NewReader(patch))
	must(t, err)
	req.Header.Set("Content-Type", "application/merge-patch+json")
	res, err := s.HTTP.Do(req)
	must(t, err)
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", res.StatusCode, body, err)
	}
}

// TestRequestsOutliveChanges: a request that has begun is answered by what it began with, though its definition has changed
// since and others are served otherwise.
func TestRequestsOutliveChanges(t *testing.T) {
	s := start(t, builtintest.NewEtcd(t))
	s.define(t, crdtest.Definition)
	body, sending := io.Pipe()
	answered := make(chan string, 1)
	go func() {
		res, err := s.HTTP.Post(s.URL+tabs, "application/json", body)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer func() { _ = res.Body.Close() }()
		text, _ := io.ReadAll(res.Body)
		answered <- fmt.Sprint(res.StatusCode, string(text))
	}()
	object := []byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"slow"},"spec":{"image":"i","cronSpec":"x"}}`)
	_, err := sending.Write(object[:10])
	must(t, err)
	eventually(t, "the request has begun", func() bool { return s.built() == 1 })
	// cronSpec goes from the schema.
	s.patchDefinition(t, `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"image":{"type":"string"}}}}}}}]}}`)
	eventually(t, "others are served otherwise", func() bool {
		_, answer := s.Send(t, http.MethodPost, tabs+"?dryRun=All", bytes.Replace(object, []byte("slow"), []byte("next"), 1))
		return !strings.Contains(string(answer), "cronSpec")
	})
	_, err = sending.Write(object[10:])
	must(t, err)
	must(t, sending.Close())
	if answer := <-answered; !strings.HasPrefix(answer, "201") || !strings.Contains(answer, `"cronSpec":"x"`) {
		t.Errorf("answered: %s", answer)
	}
}

// TestServes says what is counted and what is not, and that controllers see what is served and nothing else.
func TestServes(t *testing.T) {
	s := start(t, builtintest.NewEtcd(t))
	s.define(t, crdtest.Definition)
	eventually(t, "it is known", func() bool { return len(s.Storages()) == 1 })
	for path, want := range map[string]bool{
		tabs: true, tabs + "/a": true, tabs + "/a/status": false, tabs + "/a/scale": false, tabs + "/a/other": false,
		"/apis/stable.example.com/v1/crontabs": true, "/apis/stable.example.com/v1/crontabs/a": false, "/apis/stable.example.com/v2/crontabs": false,
		"/apis/stable.example.com/v1/others": false, "/apis/stable.example.com/v1": false,
	} {
		req, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
		must(t, err)
		info, err := infos.NewRequestInfo(req)
		must(t, err)
		if s.Serves(info) != want {
			t.Errorf("%s is served: %v", path, !want)
		}
	}
	if code, answer := s.Send(t, http.MethodPost, tabs, tab("one")); code != http.StatusCreated {
		t.Fatalf("%d %s", code, answer)
	}
	storage := s.Storages()[schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}]
	ctx := request.WithNamespace(context.Background(), "default")
	list, err := storage.(rest.Lister).List(ctx, &metainternalversion.ListOptions{})
	must(t, err)
	if n := len(list.(*unstructured.UnstructuredList).Items); n != 1 || !storage.(rest.Scoper).NamespaceScoped() {
		t.Errorf("%d objects", n)
	}
	gone, err := storage.(rest.CollectionDeleter).DeleteCollection(ctx, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}, &metainternalversion.ListOptions{})
	must(t, err)
	gone, err = object.Own(ctx, gone)
	must(t, err)
	if n := len(gone.(*unstructured.UnstructuredList).Items); n != 1 {
		t.Errorf("%d objects were deleted", n)
	}
	s.Remove(t, crdtest.Name)
	eventually(t, "it is gone", func() bool { return len(s.Storages()) == 0 })
	if list, err := storage.(rest.Lister).List(ctx, &metainternalversion.ListOptions{}); err != nil || len(list.(*unstructured.UnstructuredList).Items) != 0 {
		t.Errorf("what is gone has objects: %v %v", list, err)
	}
}

// TestWatchesEnd: with the definition, and with the server.
func TestWatchesEnd(t *testing.T) {
	s := start(t, builtintest.NewEtcd(t))
	s.define(t, crdtest.Definition)
	for _, end := range []func(){
		func() { s.patchDefinition(t, `{"spec":{"names":{"shortNames":["cts"]}}}`) },
		func() { s.Remove(t, crdtest.Name) },
	} {
		res, err := s.HTTP.Get(s.URL + tabs + "?watch=true")
		must(t, err)
		if res.StatusCode != http.StatusOK {
			t.Fatal(res.Status)
		}
		end()
		_, err = io.Copy(io.Discard, res.Body)
		must(t, err)
		must(t, res.Body.Close())
	}
}

// TestBadBodies: nothing that a client sends is a 500.
func TestBadBodies(t *testing.T) {
	s := start(t, builtintest.NewEtcd(t))
	s.define(t, crdtest.Definition)
	for contentType, code := range map[string]int{
		"application/vnd.kubernetes.protobuf": http.StatusBadRequest, // upstream panics
		"application/cbor":                    http.StatusUnsupportedMediaType,
		"application/yaml":                    http.StatusBadRequest,
		"application/json":                    http.StatusBadRequest,
	} {
		res, err := s.HTTP.Post(s.URL+tabs, contentType, strings.NewReader("k8s\x00"))
		must(t, err)
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != code {
			t.Errorf("%s: %d %s", contentType, res.StatusCode, body)
		}
	}
}

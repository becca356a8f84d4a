package handler_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// real serves config maps and deployments from etcd, by the paths that the installer gives them.
type real struct {
	*httptest.Server
	journeys *trace.Recorder
}

func newReal(t *testing.T) *real {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	api := &endpoint.GenericAPIServer{
		Router:                     endpoint.NewRouter("test", scheme.Codecs, endpoint.NotFoundHandler),
		Discovery:                  discovery.NewManager("localhost:7443"),
		OpenAPI:                    openapi.NewService("v1.37.0"),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
		MinRequestTimeout:          time.Minute,
		MaxRequestBodyBytes:        3 << 20,
	}
	getter := optionsGetter{t, embedtest.Prefix()}
	configMaps, err := builtin.Declare(core.ConfigMap).NewREST(getter)
	check(err)
	deployments, err := builtin.Declare(apps.Deployment).NewREST(getter)
	check(err)
	core := endpoint.NewDefaultAPIGroupInfo("", scheme.Scheme)
	core.VersionedResourcesStorageMap["v1"] = map[string]rest.Storage{"configmaps": configMaps}
	check(api.InstallLegacyAPIGroup("/api", &core))
	apps := endpoint.NewDefaultAPIGroupInfo("apps", scheme.Scheme)
	for _, version := range []string{"v1", "v1beta1"} {
		apps.VersionedResourcesStorageMap[version] = map[string]rest.Storage{"deployments": deployments}
	}
	check(api.InstallAPIGroups(&apps))

	r := &real{journeys: trace.NewRecorder("test", trace.DefaultLimits)}
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, journey := r.journeys.Begin(req.Context(), trace.Request{Method: req.Method, URI: req.RequestURI})
		defer journey.Finish(trace.Response{})
		info, err := resolver.NewRequestInfo(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		api.Router.ServeHTTP(w, req.WithContext(request.WithRequestInfo(ctx, info)))
	}))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
		api.Destroy()
	})
	return r
}

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
	return backend.RESTOptions{
		StorageConfig: config.ForResource(resource), Decorator: backend.UndecoratedStorage,
		DeleteCollectionWorkers: 1, ResourcePrefix: resource.Resource,
	}, nil
}

func (r *real) client(t *testing.T, contentType string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(&clientrest.Config{
		Host: r.URL, QPS: -1, ContentConfig: clientrest.ContentConfig{ContentType: contentType, AcceptContentTypes: contentType},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// events reads a watch, one event a call.
func (r *real) events(t *testing.T, path string) func() (eventType string, object *metav1.PartialObjectMetadata, raw string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	body := bufio.NewReader(res.Body)
	return func() (string, *metav1.PartialObjectMetadata, string) {
		t.Helper()
		line, err := body.ReadString('\n')
		if err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		var event struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return event.Type, &event.Object, line
	}
}

// TestEtcdInformer: a shared informer of a real clientset, in both encodings.
func TestEtcdInformer(t *testing.T) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			r := newReal(t)
			client := r.client(t, contentType)
			configMaps := client.CoreV1().ConfigMaps("default")
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			for i := range 3 {
				if _, err := configMaps.Create(ctx, configMap(fmt.Sprint("old-", i)), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			factory := informers.NewSharedInformerFactory(client, 0)
			informer := factory.Core().V1().ConfigMaps()
			seen := make(chan string, 10)
			if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
				UpdateFunc: func(_, obj any) { seen <- "update " + obj.(*corev1.ConfigMap).Data["k"] },
				DeleteFunc: func(obj any) { seen <- "delete " + obj.(*corev1.ConfigMap).Data["k"] },
			}); err != nil {
				t.Fatal(err)
			}
			factory.StartWithContext(ctx)
			defer factory.Shutdown()
			defer cancel()
			for _, ok := range factory.WaitForCacheSync(ctx.Done()) {
				if !ok {
					t.Fatal("the informer did not sync")
				}
			}
			if _, err := configMaps.Patch(ctx, "old-1", types.StrategicMergePatchType, []byte(`{"data":{"k":"v"}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := <-seen; got != "update v" {
				t.Errorf("got %q", got)
			}
			if err := configMaps.Delete(ctx, "old-1", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := <-seen; got != "delete v" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestEtcdWatch: revisions, bookmarks and the end of history.
func TestEtcdWatch(t *testing.T) {
	r := newReal(t)
	configMaps := r.client(t, runtime.ContentTypeJSON).CoreV1().ConfigMaps("default")
	created, err := configMaps.Create(t.Context(), configMap("a"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const path = "/api/v1/namespaces/default/configmaps"
	from := r.events(t, path+"?watch=true&resourceVersion="+created.ResourceVersion)
	initial := r.events(t, path+"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	old := r.events(t, "/api/v1/watch/namespaces/default/configmaps/a")

	for _, want := range []string{"ADDED", "BOOKMARK"} {
		eventType, object, _ := initial()
		if eventType != want || (object.Annotations[metav1.InitialEventsAnnotationKey] == "true") != (want == "BOOKMARK") {
			t.Errorf("%s %v; want %s", eventType, object, want)
		}
		if want == "ADDED" && object.ResourceVersion != created.ResourceVersion {
			t.Errorf("the object is at %s; want %s", object.ResourceVersion, created.ResourceVersion)
		}
	}
	if eventType, object, _ := old(); eventType != "ADDED" || object.Name != "a" {
		t.Errorf("at the old path: %s %v", eventType, object)
	}

	patched, err := configMaps.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data":{"k":"v"}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := configMaps.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if eventType, object, _ := from(); eventType != "MODIFIED" || object.ResourceVersion != patched.ResourceVersion {
		t.Errorf("%s at %s; want MODIFIED at %s", eventType, object.ResourceVersion, patched.ResourceVersion)
	}
	eventType, object, raw := from()
	if eventType != "DELETED" || object.ResourceVersion <= patched.ResourceVersion || !strings.Contains(raw, `"data":{"k":"v"}`) {
		t.Errorf("%s; want DELETED, later than %s, with the last state", raw, patched.ResourceVersion)
	}

	client := embedtest.Shared(t).Client()
	defer client.Close()
	now, err := client.Get(t.Context(), "none")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), now.Header.Revision); err != nil {
		t.Fatal(err)
	}
	eventType, _, raw = r.events(t, path+"?watch=true&resourceVersion="+created.ResourceVersion)()
	want := `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"The resourceVersion for the provided watch is too old.","reason":"Expired","code":410}}` + "\n"
	if raw != want {
		t.Errorf("%s\ngot  %s\nwant %s", eventType, raw, want)
	}
}

// TestEtcdVersions: a watch and a patch speak the version of their request, whatever is stored.
func TestEtcdVersions(t *testing.T) {
	r := newReal(t)
	next := r.events(t, "/apis/apps/v1beta1/namespaces/default/deployments?watch=true")
	body := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"one","image":"one"}]}}}}`
	res, err := r.Client().Post(r.URL+"/apis/apps/v1/namespaces/default/deployments", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	f := &front{Server: r.Server}
	for _, patchType := range []string{mergePatch, strategicPatch} {
		code, _, answer := patch(t, f, "/apis/apps/v1beta1/namespaces/default/deployments/web", patchType, `{"spec":{"rollbackTo":{"revision":3}}}`)
		if code != 200 || !strings.Contains(answer, `"apiVersion":"apps/v1beta1"`) || !strings.Contains(answer, `"rollbackTo":{"revision":3}`) {
			t.Errorf("%s: %d %s", patchType, code, answer)
		}
		code, header, answer := patch(t, f, "/apis/apps/v1/namespaces/default/deployments/web?fieldValidation=Strict", patchType, `{"spec":{"rollbackTo":{"revision":3}}}`)
		if code != 422 || !strings.Contains(answer, `strict decoding error: unknown field \"spec.rollbackTo\"`) {
			t.Errorf("%s: %d %v %s", patchType, code, header, answer)
		}
	}
	if eventType, object, _ := next(); eventType != "ADDED" || object.APIVersion != "apps/v1beta1" || object.Kind != "Deployment" {
		t.Errorf("%s %+v", eventType, object)
	}
	if eventType, _, raw := next(); eventType != "MODIFIED" || !strings.Contains(raw, `"rollbackTo":{"revision":3}`) {
		t.Error(raw)
	}
}

// TestEtcdConcurrentPatches: none is lost, for each is applied again until it meets the state that it is stored on.
func TestEtcdConcurrentPatches(t *testing.T) {
	r := newReal(t)
	configMaps := r.client(t, runtime.ContentTypeJSON).CoreV1().ConfigMaps("default")
	if _, err := configMaps.Create(t.Context(), configMap("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const n = 20
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			body := fmt.Appendf(nil, `{"data":{"k%d":"v"}}`, i)
			if _, err := configMaps.Patch(t.Context(), "a", types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := configMaps.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || len(got.Data) != n {
		t.Errorf("%d of %d patches are stored, %v", len(got.Data), n, err)
	}
}

// TestEtcdDelivered: the journey of a write knows which watches got its event.
func TestEtcdDelivered(t *testing.T) {
	r := newReal(t)
	configMaps := r.client(t, runtime.ContentTypeJSON).CoreV1().ConfigMaps("default")
	next := r.events(t, "/api/v1/namespaces/default/configmaps?watch=true")
	created, err := configMaps.Create(t.Context(), configMap("a"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next()
	// The client may have the event before the watch goes on to say so: a second event makes sure.
	if _, err := configMaps.Create(t.Context(), configMap("b"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	next()
	journeys, _ := r.journeys.List()
	for _, j := range journeys {
		record := j.Journey.Record()
		for _, s := range record.Steps {
			if s.ID != steps.RESTCreate || s.Subject != "a" {
				continue
			}
			if len(record.Deliveries) != 1 || record.Deliveries[0].Type != "ADDED" || fmt.Sprint(record.Deliveries[0].Revision) != created.ResourceVersion {
				t.Errorf("deliveries %+v; want ADDED at %s", record.Deliveries, created.ResourceVersion)
			}
			return
		}
	}
	t.Error("the create was not recorded")
}

// nosy is an admission that changes the old object of a delete.
type nosy struct{ *admission.Handler }

func (nosy) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	a.GetOldObject().(*corev1.ConfigMap).Data["k"] = "changed"
	return nil
}

// honest is one that says whether it does.
type honest struct {
	nosy
	changes bool
}

func (h honest) Changes(admission.Attributes) bool { return h.changes }

// The storage checks a delete on the object that it removes and may answer with. Admission gets a copy, unless it says
// that it changes nothing.
func TestAdmissionOfADelete(t *testing.T) {
	handles := nosy{admission.NewHandler(admission.Delete)}
	for _, test := range []struct {
		name      string
		admission admission.Interface
		copied    bool
	}{{"unknown", handles, true}, {"changes", honest{handles, true}, true}, {"changes nothing", honest{handles, false}, false}} {
		gv := corev1.SchemeGroupVersion
		scope := &handler.RequestScope{
			Admit: test.admission, Resource: gv.WithResource("configmaps"), Kind: gv.WithKind("ConfigMap"),
		}
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}
		if err := scope.AdmitDelete(t.Context(), "default", "a", &metav1.DeleteOptions{})(t.Context(), obj); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if copied := obj.Data["k"] == "v"; copied != test.copied {
			t.Errorf("%s: copied %t", test.name, copied)
		}
	}
}

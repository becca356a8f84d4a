package customresource_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"net/http"
	"net/http/httptest"
	stdpath "path"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/yaml"

	autoscalingv1 "k8s.io/api/autoscaling/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/crd/conversion"
	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// crontabs is the definition that tests begin with: it is stored in v1, and also served as v1beta1.
const crontabs = `
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, listKind: CronTabList, shortNames: [ct], categories: [all]}
  conversion: {strategy: None}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.labelSelector}
    selectableFields: [{jsonPath: .spec.image}, {jsonPath: .spec.replicas}]
    additionalPrinterColumns:
    - {name: Spec, type: string, jsonPath: .spec.cronSpec, description: The schedule}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas, priority: 1}
    - {name: Suspended, type: boolean, jsonPath: .spec.suspend}
    - {name: Last, type: date, jsonPath: .status.lastRun}
    - {name: Tags, type: string, jsonPath: .spec.tags}
    schema:
      openAPIV3Schema: &schema
        type: object
        properties:
          spec:
            type: object
            required: [cronSpec]
            properties:
              cronSpec: {type: string, pattern: '^\S+$'}
              image: {type: string, default: busybox}
              replicas: {type: integer, minimum: 0, maximum: 10}
              suspend: {type: boolean}
              tags: {type: array, items: {type: string}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              replicas: {type: integer}
              labelSelector: {type: string}
              lastRun: {type: string, format: date-time}
  - name: v1beta1
    served: true
    deprecated: true
    schema:
      openAPIV3Schema: *schema
status:
  storedVersions: [v1]
`

func definition(t testing.TB, text string, changes ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	must(t, yaml.UnmarshalStrict([]byte(text), crd))
	crd.Status.AcceptedNames = crd.Spec.Names
	for _, change := range changes {
		change(crd)
	}
	return crd
}

// testServer serves one definition, with its own keys in the etcd of the package.
type testServer struct {
	*httptest.Server
	crd      *apiextensionsv1.CustomResourceDefinition
	resource *customresource.Resource
	prefix   string
	// within, if set, is what each request's context is made of.
	within func(context.Context) context.Context
}

func serve(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition) *testServer {
	t.Helper()
	return serveAt(t, crd, embedtest.Prefix())
}

// serveAt serves what is stored below prefix.
func serveAt(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition, prefix string) *testServer {
	t.Helper()
	converters, err := conversion.NewFactory(nil, nil)
	must(t, err)
	resource, err := customresource.New(customresource.Config{Definition: crd, Options: options{t, prefix}, Conversion: converters})
	must(t, err)
	s := &testServer{crd: crd, resource: resource, prefix: prefix}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		resource.Destroy()
	})
	return s
}

// storages are what objects may lie in. Tests use etcd3 alone unless they run for each.
var storages = map[string]backend.StorageDecorator{"etcd3": backend.UndecoratedStorage, "cacher": backend.StorageWithCacher(nil, false, nil, nil)}

// eachStorage runs a test on each storage.
func eachStorage(t *testing.T, test func(t *testing.T)) {
	for name := range storages {
		t.Run(name, test)
	}
}

// options keep objects where a server would, below a prefix.
type options struct {
	t      testing.TB
	prefix string
}

func (o options) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (backend.RESTOptions, error) {
	config := factory.NewDefaultConfig(o.prefix, nil)
	config.Transport.InProcess = embedtest.Shared(o.t)
	config.CompactionInterval = 0
	decorator := backend.UndecoratedStorage
	if d, ok := storages[stdpath.Base(o.t.Name())]; ok {
		decorator = d
	}
	return backend.RESTOptions{
		StorageConfig:           config.ForResource(resource),
		Decorator:               decorator,
		EnableGarbageCollection: true,
		DeleteCollectionWorkers: 2,
		ResourcePrefix:          backend.ResourcePrefix(resource),
	}, nil
}

var (
	requestInfos = &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis"), GrouplessAPIPrefixes: sets.NewString()}
	scaleScheme  = func() *runtime.Scheme {
		s := runtime.NewScheme()
		if err := autoscalingv1.AddToScheme(s); err != nil {
			panic(err)
		}
		metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
		return s
	}()
)

// serve does for a request what the server's filters and its router do.
func (s *testServer) serve(w http.ResponseWriter, req *http.Request) {
	info, err := requestInfos.NewRequestInfo(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx := request.WithRequestInfo(req.Context(), info)
	ctx = warning.WithWarningRecorder(ctx, warnings{w.Header()})
	if s.within != nil {
		ctx = s.within(ctx)
	}
	version := s.resource.Versions[info.APIVersion]
	if version == nil {
		http.NotFound(w, req)
		return
	}
	s.handler(version, info)(w, req.WithContext(ctx))
}

func (s *testServer) handler(v *customresource.Version, info *request.RequestInfo) http.HandlerFunc {
	scope := &handler.RequestScope{
		Namer: handler.ContextBasedNaming{}, Serializer: v.Serializer, StandardSerializers: v.Serializer.SupportedMediaTypes()[:2], // JSON and YAML
		Creater: v.Creater, Convertor: v.Convertor, UnsafeConvertor: v.UnsafeConvertor, Defaulter: v.Defaulter, Typer: v.Typer,
		TableConvertor: v.Storage.CustomResource, Resource: v.Kind.GroupVersion().WithResource(info.Resource), Subresource: info.Subresource,
		Kind: v.Kind, HubGroupVersion: v.Kind.GroupVersion(), MetaGroupVersion: metav1.SchemeGroupVersion, MaxRequestBodyBytes: 3 << 20,
	}
	types := handler.PatchTypes(false)
	switch storage := v.Storage; {
	case info.Subresource == "status" && storage.Status != nil:
		return map[string]http.HandlerFunc{
			"get":    handler.GetResource(storage.Status, scope),
			"update": handler.UpdateResource(storage.Status, scope),
			"patch":  handler.PatchResource(storage.Status, scope, types),
		}[info.Verb]
	case info.Subresource == "scale" && storage.Scale != nil:
		scope.Kind, scope.Serializer, scope.StandardSerializers = autoscalingv1.SchemeGroupVersion.WithKind("Scale"), kserializer.NewCodecFactory(scaleScheme), nil
		scope.HubGroupVersion, scope.TableConvertor = autoscalingv1.SchemeGroupVersion, storage.Scale
		scope.Creater, scope.Convertor, scope.UnsafeConvertor, scope.Defaulter, scope.Typer = scaleScheme, scaleScheme, scaleScheme, scaleScheme, scaleScheme
		return map[string]http.HandlerFunc{
			"get":    handler.GetResource(storage.Scale, scope),
			"update": handler.UpdateResource(storage.Scale, scope),
			"patch":  handler.PatchResource(storage.Scale, scope, types),
		}[info.Verb]
	case info.Subresource != "":
		return http.NotFound
	}
	storage := v.Storage.CustomResource
	return map[string]http.HandlerFunc{
		"get":              handler.GetResource(storage, scope),
		"list":             handler.ListResource(storage, storage, scope, false, time.Minute),
		"watch":            handler.ListResource(storage, storage, scope, true, time.Minute),
		"create":           handler.CreateResource(storage, scope),
		"update":           handler.UpdateResource(storage, scope),
		"patch":            handler.PatchResource(storage, scope, types),
		"delete":           handler.DeleteResource(storage, true, scope),
		"deletecollection": handler.DeleteCollection(storage, true, scope),
	}[info.Verb]
}

type warnings struct{ header http.Header }

func (w warnings) AddWarning(agent, text string) {
	if agent == "" {
		agent = "-"
	}
	if value, err := utilnet.NewWarningHeader(299, agent, text); err == nil {
		w.header.Add("Warning", value)
	}
}

// answer is a response that was read.
type answer struct {
	code     int
	header   http.Header
	body     string
	warnings []string
}

// object is the body as an object.
func (a *answer) object(t testing.TB) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(a.body), &out); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return out
}

// at is a value in the body: at("spec", "replicas").
func (a *answer) at(t testing.TB, path ...string) any {
	t.Helper()
	var value any = a.object(t)
	for _, name := range path {
		m, _ := value.(map[string]any)
		value = m[name]
	}
	return value
}

// path is where the crontabs of namespace default are in a version.
func path(version, rest string) string {
	return "/apis/stable.example.com/" + version + "/namespaces/default/crontabs" + rest
}

// send sends a request. headers are pairs of name and value.
func (s *testServer) send(t testing.TB, method, path, body string, headers ...string) *answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	must(t, err)
	a := &answer{code: res.StatusCode, header: res.Header, body: string(bytes.TrimSpace(data))}
	for _, value := range res.Header.Values("Warning") {
		a.warnings = append(a.warnings, strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(value, `299 - "`), `"`), `\"`, `"`))
	}
	return a
}

// want fails unless an answer has a code.
func (a *answer) want(t testing.TB, code int) *answer {
	t.Helper()
	if a.code != code {
		t.Fatalf("want %d, got %d: %s", code, a.code, a.body)
	}
	return a
}

// crontab is a body.
func crontab(version, name, spec string) string {
	return `{"apiVersion":"stable.example.com/` + version + `","kind":"CronTab","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

// stored are the bytes of an object in etcd.
func (s *testServer) stored(t testing.TB, name string) string {
	t.Helper()
	client := embedtest.Shared(t).Client()
	defer client.Close()
	res, err := client.Get(t.Context(), s.prefix+"/stable.example.com/crontabs/default/"+name)
	must(t, err)
	if len(res.Kvs) != 1 {
		t.Fatalf("%d values are stored for %s", len(res.Kvs), name)
	}
	return string(res.Kvs[0].Value)
}

// put writes bytes into etcd, as another server would.
func (s *testServer) put(t testing.TB, name, value string) {
	t.Helper()
	client := embedtest.Shared(t).Client()
	defer client.Close()
	_, err := client.Put(t.Context(), s.prefix+"/stable.example.com/crontabs/default/"+name, value)
	must(t, err)
}

// journey has each request recorded, and returns a function for the steps of the last one.
func (s *testServer) journey() func() []trace.StepRecord {
	recorder := trace.NewRecorder("test", trace.DefaultLimits)
	var last *trace.Journey
	s.within = func(ctx context.Context) context.Context {
		ctx, last = recorder.Begin(ctx, trace.Request{})
		return ctx
	}
	return func() []trace.StepRecord { return last.Record().Steps }
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

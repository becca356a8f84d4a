package endpoint_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/registry"
)

var (
	widgetV1   = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	widgetBeta = widgetV1.GroupKind().WithVersion("v1beta1")
	typer      = crdserverscheme.NewUnstructuredObjectTyper()
)

// widgets has objects without Go types: what custom resources are to the handlers. In v1beta1 a widget's size is called
// length.
type widgets struct{ converted atomic.Int64 }

func (*widgets) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	return obj, nil
}

func (*widgets) Default(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok && u.Object["color"] == nil {
		u.Object["color"] = "grey"
	}
}

// ConvertToVersion counts its calls: a list must be one.
func (w *widgets) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	if !ok || to == in.GetObjectKind().GroupVersionKind() {
		return in, nil
	}
	w.converted.Add(1)
	rename := func(u *unstructured.Unstructured) {
		from, name := "length", "size"
		if to.Version == "v1beta1" {
			from, name = name, from
		}
		u.SetAPIVersion(to.GroupVersion().String())
		u.Object[name] = u.Object[from]
		delete(u.Object, from)
	}
	out := in.DeepCopyObject()
	switch out := out.(type) {
	case *unstructured.Unstructured:
		rename(out)
	case *unstructured.UnstructuredList:
		out.SetAPIVersion(to.GroupVersion().String())
		for i := range out.Items {
			rename(&out.Items[i])
		}
	}
	return out, nil
}

func (*widgets) Convert(in, out, _ any) error {
	out.(runtime.Unstructured).SetUnstructuredContent(in.(runtime.Unstructured).UnstructuredContent())
	return nil
}
func (*widgets) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// SupportedMediaTypes is JSON alone.
func (w *widgets) SupportedMediaTypes() []runtime.SerializerInfo {
	serializer := func(strict bool) runtime.Serializer {
		return kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, w, typer, kjson.SerializerOptions{Strict: strict})
	}
	return []runtime.SerializerInfo{{
		MediaType: "application/json", MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
		Serializer: serializer(false), StrictSerializer: serializer(true),
	}}
}

func (w *widgets) EncoderForVersion(s runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	// A Status has a Go type: this typer knows both.
	return versioning.NewCodec(s, nil, w, w, scheme.Scheme, nil, gv, nil, "widgets")
}

func (w *widgets) DecoderToVersion(s runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return versioning.NewCodec(nil, s, w, w, typer, w, nil, gv, "widgets")
}

func (w *widgets) scope(kind schema.GroupVersionKind, table rest.TableConvertor) *handler.RequestScope {
	return &handler.RequestScope{
		Namer: handler.ContextBasedNaming{}, Serializer: w, Creater: w, Convertor: w, UnsafeConvertor: w, Defaulter: w,
		Typer: typer, TableConvertor: table,
		Resource: kind.GroupVersion().WithResource("widgets"), Kind: kind,
		HubGroupVersion: widgetV1.GroupVersion(), MetaGroupVersion: metav1.SchemeGroupVersion, MaxRequestBodyBytes: maxBodyBytes,
	}
}

func (w *widgets) store(t *testing.T) *registry.Store {
	t.Helper()
	info := w.SupportedMediaTypes()[0]
	codec := versioning.NewCodec(info.Serializer, info.Serializer, w, w, typer, nil, widgetV1.GroupVersion(), widgetV1.GroupVersion(), "widgets")
	config := factory.NewDefaultConfig(embedtest.Prefix(), codec)
	config.Transport.InProcess = embedtest.Shared(t)
	config.CompactionInterval = 0
	resource := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	strategy := widgetStrategy{builtin.Declare(builtin.Resource[*unstructured.Unstructured]{
		Validate:       func(*unstructured.Unstructured) field.ErrorList { return nil },
		ValidateUpdate: func(_, _ *unstructured.Unstructured) field.ErrorList { return nil },
	}).Strategy()}
	s := &registry.Store{
		NewFunc: func() runtime.Object { obj, _ := w.New(widgetV1); return obj },
		NewListFunc: func() runtime.Object {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(widgetV1.GroupVersion().WithKind("WidgetList"))
			return list
		},
		DefaultQualifiedResource: resource, SingularQualifiedResource: schema.GroupResource{Group: "example.com", Resource: "widget"},
		CreateStrategy: strategy, UpdateStrategy: strategy, DeleteStrategy: strategy,
		TableConvertor: rest.NewDefaultTableConvertor(resource),
	}
	must(t, s.CompleteWithOptions(&registry.StoreOptions{RESTOptions: backend.RESTOptions{
		StorageConfig: config.ForResource(resource), Decorator: backend.UndecoratedStorage,
		DeleteCollectionWorkers: 1, ResourcePrefix: "example.com/widgets",
	}}))
	t.Cleanup(s.Destroy)
	return s
}

// widgetStrategy knows what has no Go type.
type widgetStrategy struct{ rest.RESTCreateUpdateStrategy }

func (widgetStrategy) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return typer.ObjectKinds(obj)
}
func (widgetStrategy) Recognizes(gvk schema.GroupVersionKind) bool { return typer.Recognizes(gvk) }

func TestObjectsWithoutGoTypes(t *testing.T) {
	w := &widgets{}
	store := w.store(t)
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	send := func(serve func(*handler.RequestScope) http.HandlerFunc, kind schema.GroupVersionKind, method, name, body, accept string) (int, string) {
		path := "/apis/" + kind.GroupVersion().String() + "/namespaces/default/widgets" + name
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Accept", accept)
		info, err := resolver.NewRequestInfo(req)
		must(t, err)
		res := httptest.NewRecorder()
		serve(w.scope(kind, store))(res, req.WithContext(request.WithRequestInfo(context.Background(), info)))
		return res.Code, res.Body.String()
	}
	create := func(s *handler.RequestScope) http.HandlerFunc { return handler.CreateResource(store, s) }
	get := func(s *handler.RequestScope) http.HandlerFunc { return handler.GetResource(store, s) }
	list := func(s *handler.RequestScope) http.HandlerFunc { return handler.ListResource(store, store, s, false, 0) }
	update := func(s *handler.RequestScope) http.HandlerFunc { return handler.UpdateResource(store, s) }
	remove := func(s *handler.RequestScope) http.HandlerFunc { return handler.DeleteResource(store, true, s) }

	for _, tc := range []struct {
		what               string
		serve              func(*handler.RequestScope) http.HandlerFunc
		kind               schema.GroupVersionKind
		method, name, body string
		accept             string
		code               int
		conversions        int64
		want               []string
	}{
		{"create", create, widgetV1, "POST", "", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"size":1}`, "", 201, 0,
			[]string{`"apiVersion":"example.com/v1"`, `"size":1`, `"color":"grey"`, `"uid":`}},
		{"create in another version", create, widgetBeta, "POST", "", `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"b"},"length":2}`, "", 201, 2,
			[]string{`"apiVersion":"example.com/v1beta1"`, `"length":2`}},
		{"another version than the path's", create, widgetV1, "POST", "", `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"c"}}`, "", 400, 0,
			[]string{`the API version in the data (example.com/v1beta1) does not match the expected API version (example.com/v1)`}},
		{"get", get, widgetV1, "GET", "/b", "", "", 200, 0, []string{`"size":2`, `"kind":"Widget"`}},
		{"get in another version", get, widgetBeta, "GET", "/a", "", "", 200, 1, []string{`"length":1`, `"apiVersion":"example.com/v1beta1"`}},
		{"list", list, widgetV1, "GET", "", "", "", 200, 0, []string{`"kind":"WidgetList"`, `"size":1`, `"size":2`}},
		{"list in another version, converted one by one, and the list without items", list, widgetBeta, "GET", "", "", "", 200, 3, []string{`"length":1`, `"length":2`}},
		{"table", list, widgetV1, "GET", "", "", "application/json;as=Table;g=meta.k8s.io;v=v1", 200, 0, []string{`"rows":[{"cells":["a"`}},
		{"update", update, widgetBeta, "PUT", "/a", `{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{"name":"a"},"length":5}`, "", 200, 2, []string{`"length":5`}},
		{"delete", remove, widgetBeta, "DELETE", "/a", "", "", 200, 0, []string{`"status":"Success"`}},
	} {
		before := w.converted.Load()
		code, body := send(tc.serve, tc.kind, tc.method, tc.name, tc.body, tc.accept)
		if code != tc.code || !json.Valid([]byte(body)) {
			t.Errorf("%s: want %d, got %d: %s", tc.what, tc.code, code, body)
		}
		if n := w.converted.Load() - before; n != tc.conversions {
			t.Errorf("%s: %d conversions, want %d", tc.what, n, tc.conversions)
		}
		for _, want := range tc.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: want %s in %s", tc.what, want, body)
			}
		}
	}
}

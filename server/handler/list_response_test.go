package handler_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/handler"
)

// fixed is a storage whose list is always the same.
type fixed struct {
	list func(ctx context.Context) (runtime.Object, error)
	rest.TableConvertor
}

func (f fixed) New() runtime.Object     { return nil }
func (f fixed) NewList() runtime.Object { return nil }
func (f fixed) Destroy()                {}
func (f fixed) List(ctx context.Context, _ *metainternalversion.ListOptions) (runtime.Object, error) {
	return f.list(ctx)
}

// kind is a resource whose lists are compared.
type kind struct {
	scope *handler.RequestScope
	list  *object.List
	items []*object.Encoded
}

// answer lists through the handler: item by item, or whole, which the encoders of apimachinery write.
func (k kind) answer(t *testing.T, whole bool, query string, headers http.Header) *httptest.ResponseRecorder {
	t.Helper()
	lister := fixed{TableConvertor: k.scope.TableConvertor, list: func(ctx context.Context) (runtime.Object, error) {
		if !whole {
			return k.list, nil
		}
		list, err := k.list.Object(ctx)
		if err != nil {
			return nil, err
		}
		return list.DeepCopyObject(), nil
	}}
	scope := *k.scope
	req := httptest.NewRequest(http.MethodGet, "/api/v1/things?"+query, nil)
	req.Header = headers
	info := &request.RequestInfo{IsResourceRequest: true, Verb: "list", Resource: "things", APIVersion: "v1"}
	req = req.WithContext(request.WithRequestInfo(req.Context(), info))
	w := httptest.NewRecorder()
	handler.ListResource(lister, nil, &scope, false, time.Hour)(w, req)
	return w
}

// decoding gives a convertor decoded objects, as registry.Store does.
type decoding struct{ rest.TableConvertor }

func (d decoding) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	decoded, err := object.Decode(obj)
	if err != nil {
		return nil, err
	}
	return d.TableConvertor.ConvertToTable(ctx, decoded, options)
}

func scopeOf(convertor rest.TableConvertor, hub, kind schema.GroupVersionKind) *handler.RequestScope {
	return &handler.RequestScope{
		Namer: handler.ContextBasedNaming{}, Serializer: scheme.Codecs,
		Creater: scheme.Scheme, Convertor: scheme.Scheme, Defaulter: scheme.Scheme, Typer: scheme.Scheme,
		UnsafeConvertor: runtime.UnsafeObjectConvertor(scheme.Scheme), TableConvertor: decoding{convertor},
		Resource: kind.GroupVersion().WithResource("things"), Kind: kind, HubGroupVersion: hub.GroupVersion(), MetaGroupVersion: metav1.SchemeGroupVersion,
	}
}

// stored makes encoded objects, in a media type, of typed ones.
func stored(t testing.TB, mediaType string, newObj func() runtime.Object, gv schema.GroupVersion, objects ...runtime.Object) (out []*object.Encoded) {
	t.Helper()
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	codec := scheme.Codecs.CodecForVersions(info.Serializer, scheme.Codecs.UniversalDeserializer(), gv, gv)
	format := &object.Format{New: newObj, Forms: object.NewForms(), Decode: func(_ string, data []byte, into runtime.Object, revision int64, _ bool) (bool, error) {
		if _, _, err := codec.Decode(data, nil, into); err != nil {
			return false, err
		}
		into.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return false, object.APIObjectVersioner{}.UpdateObject(into, uint64(revision))
	}}
	for i, obj := range objects {
		data, err := runtime.Encode(codec, obj)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := meta.Accessor(obj)
		out = append(out, object.NewEncoded(format, "/things/default/"+m.GetName(), data, int64(100+i), false))
	}
	return out
}

// awkward is a text that YAML folds, quotes or writes in several lines.
const awkward = "items: []\n\"rows\":[] <é\u2028> & a line that is long enough to be folded, since it has more than eighty characters in it, and then some\n\ttab\n"

func owned(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: "default", UID: "u-1", Labels: map[string]string{"b": "1", "a": "yes"}, Annotations: map[string]string{"n": "012", "t": awkward},
		CreationTimestamp: metav1.Unix(1700000000, 0), Finalizers: []string{"x/y"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "2"}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "m", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:k":{}}}`),
		}},
	}
}

func typedConfigMaps(t testing.TB, mediaType string) kind {
	cm := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	columns := builtin.NewTable([]builtin.Column{{Name: "Name", Type: "string", Description: awkward}, {Name: "Data", Type: "integer"}}, func(cm *corev1.ConfigMap) metav1.TableRow {
		row := builtin.Row(cm.Name, int64(len(cm.Data)))
		if cm.Immutable != nil {
			row.Conditions = []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: "True"}}
		}
		return row
	})
	return kind{scope: scopeOf(columns, cm, cm),
		list: &object.List{New: func() runtime.Object { return &corev1.ConfigMapList{} }},
		items: stored(t, mediaType, func() runtime.Object { return &corev1.ConfigMap{} }, cm.GroupVersion(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			&corev1.ConfigMap{ObjectMeta: owned("b"), Data: map[string]string{"k": awkward, "": "-1", "y": "0x1f"}, BinaryData: map[string][]byte{"b": {0, 1}}},
			&corev1.ConfigMap{ObjectMeta: owned("c"), Immutable: new(true), Data: map[string]string{"large": strings.Repeat("x", 300<<10)}},
			&corev1.ConfigMap{ObjectMeta: owned("d")},
		)}
}

// oldDeployments are in another version than the stored one.
func oldDeployments(t *testing.T) kind {
	hub := appsv1.SchemeGroupVersion.WithKind("Deployment")
	old := schema.GroupVersionKind{Group: hub.Group, Version: "v1beta1", Kind: hub.Kind}
	return kind{scope: scopeOf(rest.NewDefaultTableConvertor(schema.GroupResource{Resource: "things"}), hub, old),
		list: &object.List{New: func() runtime.Object { return &appsv1.DeploymentList{} }},
		items: stored(t, runtime.ContentTypeProtobuf, func() runtime.Object { return &appsv1.Deployment{} }, hub.GroupVersion(),
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			&appsv1.Deployment{ObjectMeta: owned("b"), Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Command: []string{awkward}}}}},
			}},
			&appsv1.Deployment{ObjectMeta: owned("c")},
		)}
}

// asTheyAre writes untyped objects as custom resources are written.
type asTheyAre struct{ runtime.NegotiatedSerializer }

var untypedScheme = runtime.NewScheme()

func (asTheyAre) SupportedMediaTypes() []runtime.SerializerInfo {
	serializer := func(o k8sjson.SerializerOptions) runtime.Serializer {
		return k8sjson.NewSerializerWithOptions(k8sjson.DefaultMetaFactory, untypedScheme, untypedScheme, o)
	}
	return []runtime.SerializerInfo{
		{MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
			Serializer: serializer(k8sjson.SerializerOptions{StreamingCollectionsEncoding: true}), PrettySerializer: serializer(k8sjson.SerializerOptions{Pretty: true})},
		{MediaType: runtime.ContentTypeYAML, MediaTypeType: "application", MediaTypeSubType: "yaml", EncodesAsText: true,
			Serializer: serializer(k8sjson.SerializerOptions{Yaml: true})},
		// Errors are written by it, objects are not.
		{MediaType: runtime.ContentTypeProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf",
			Serializer: serializer(k8sjson.SerializerOptions{})},
	}
}

func (asTheyAre) EncoderForVersion(e runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	return untypedEncoder{e, versioning.NewCodec(e, nil, untypedScheme, untypedScheme, untypedScheme, nil, gv, nil, "pandas").(runtime.Encoder).Identifier()}
}

type untypedEncoder struct {
	runtime.Encoder
	id runtime.Identifier
}

func (e untypedEncoder) Encode(obj runtime.Object, w io.Writer) error {
	if cached, ok := obj.(runtime.CacheableObject); ok {
		return cached.CacheEncode(e.id, e.Encoder.Encode, w)
	}
	return e.Encoder.Encode(obj, w)
}

func pandas() kind {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Panda"}
	scope := scopeOf(rest.NewDefaultTableConvertor(schema.GroupResource{Resource: "things"}), gvk, gvk)
	scope.Serializer, scope.StandardSerializers = asTheyAre{}, asTheyAre{}.SupportedMediaTypes()[:2]
	scope.Convertor, scope.UnsafeConvertor = sameVersion{}, sameVersion{}
	k := kind{scope: scope, list: &object.List{New: func() runtime.Object {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind("PandaList"))
		return list
	}}}
	format := &object.Format{
		Forms: object.NewForms(),
		New:   func() runtime.Object { return &unstructured.Unstructured{} },
		Decode: func(_ string, data []byte, into runtime.Object, revision int64, _ bool) (bool, error) {
			if _, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, into); err != nil {
				return false, err
			}
			into.(*unstructured.Unstructured).SetResourceVersion(fmt.Sprint(revision))
			return true, nil
		},
	}
	text, _ := json.Marshal(awkward)
	for i, data := range []string{
		`{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"b":"\u003c\u0026\u003e","a":"1"},"name":"a","namespace":"ns","uid":"u"},"spec":{"items":[]}}`,
		// Its bytes won't do for its metadata: an empty map is left out, and a time is written in another form.
		`{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"annotations":{},"creationTimestamp":"2026-01-02T03:04:05+01:00","name":"b"},"spec":{"null":null,"nulls":[null,{"a":null}],"f":1.5,"e":1e+21,"i":9007199254740993,"s":` + string(text) + `}}`,
		// Not as an encoder writes it.
		`{"kind":"Panda", "apiVersion":"example.com/v1","metadata":{"name":"\"items\":[]","managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}},"manager":"m","operation":"Apply"}]},"empty":{},"list":[[],[[1,2],{}]]}`,
	} {
		k.items = append(k.items, object.NewEncoded(format, fmt.Sprint("/pandas/", i), []byte(data+"\n"), int64(i+1), false))
	}
	return k
}

// sameVersion converts untyped objects into the version that they have.
type sameVersion struct{ runtime.ObjectConvertor }

func (sameVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// TestListsAreWhatEncodersWrite holds what is written item by item against what apimachinery's encoders write of the whole list.
func TestListsAreWhatEncodersWrite(t *testing.T) {
	kinds := map[string]kind{
		"config maps from protobuf": typedConfigMaps(t, runtime.ContentTypeProtobuf),
		"config maps from JSON":     typedConfigMaps(t, runtime.ContentTypeJSON),
		"old deployments":           oldDeployments(t),
		"pandas":                    pandas(),
	}
	targets := []struct {
		accept  string
		queries []string
	}{
		{"", []string{""}},
		{";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", []string{""}},
		{";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1", []string{""}},
		{";as=Table;g=meta.k8s.io;v=v1", []string{"", "includeObject=None", "includeObject=Metadata", "includeObject=Object"}},
		{";as=Table;g=meta.k8s.io;v=v1beta1", []string{"", "includeObject=Object"}},
	}
	metas := []metav1.ListMeta{
		{ResourceVersion: "4712"},
		{ResourceVersion: "4712", Continue: `"items":[]`, RemainingItemCount: new(int64(5))},
	}
	compared := 0
	for name, k := range kinds {
		for _, target := range targets {
			for _, query := range target.queries {
				for _, mediaType := range []string{runtime.ContentTypeJSON, "pretty", runtime.ContentTypeYAML, runtime.ContentTypeProtobuf} {
					for n := range len(k.items) + 1 {
						k.list.ListMeta, k.list.Items = metas[n%2], object.ItemsOf(k.items[:n])
						query := query
						accept := mediaType
						if mediaType == "pretty" {
							accept, query = runtime.ContentTypeJSON, query+"&pretty=true"
						}
						header := http.Header{"Accept": {accept + target.accept}}
						if n%2 == 1 {
							header.Set("Accept-Encoding", "gzip")
						}
						want, got := k.answer(t, true, query, header), k.answer(t, false, query, header)
						if a, b := unzipped(t, got), unzipped(t, want); want.Code != got.Code || a != b {
							t.Fatalf("%d of %s as %s%s?%s:\ngot  %d %.3000q\nwant %d %.3000q", n, name, accept, target.accept, query, got.Code, a, want.Code, b)
						}
						for field := range want.Header() {
							if want.Header().Get(field) != got.Header().Get(field) {
								t.Errorf("%d of %s as %s%s: %s is %q, want %q", n, name, accept, target.accept, field, got.Header().Get(field), want.Header().Get(field))
							}
						}
						if got.Code == http.StatusOK {
							compared++
						}
					}
				}
			}
		}
	}
	if compared < 300 {
		t.Errorf("only %d answers were lists", compared)
	}
}

func unzipped(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	if w.Header().Get("Content-Encoding") == "" {
		return w.Body.String()
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

package object_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"

	"github.com/kx-apiserver/kx/core/object"
)

// typed is a scheme with the types of core/v1, whose lists are encoded as the server encodes them.
var (
	typedScheme = func() *runtime.Scheme {
		s := runtime.NewScheme()
		if err := corev1.AddToScheme(s); err != nil {
			panic(err)
		}
		return s
	}()
	typedCodecs = serializer.NewCodecFactory(typedScheme,
		serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())
)

var configMaps = &object.Format{
	New: func() runtime.Object { return &corev1.ConfigMap{} },
	Decode: func(key string, data []byte, into runtime.Object, rev int64, _ bool) (bool, error) {
		obj, _, err := typedCodecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			return false, fmt.Errorf("decode %s: %w", key, err)
		}
		*into.(*corev1.ConfigMap) = *obj.(*corev1.ConfigMap)
		into.(*corev1.ConfigMap).TypeMeta = metav1.TypeMeta{}
		return false, versioner.UpdateObject(into, uint64(rev))
	},
}

func newConfigMap(t testing.TB, mediaType, name string, data map[string]string) *object.Encoded {
	t.Helper()
	info, _ := runtime.SerializerInfoForMediaType(typedCodecs.SupportedMediaTypes(), mediaType)
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"a": "b"}}, Data: data}
	stored, err := runtime.Encode(typedCodecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), obj)
	if err != nil {
		t.Fatal(err)
	}
	return object.NewEncoded(configMaps, "/configmaps/default/"+name, stored, revision, false)
}

func encoders(t testing.TB) map[string]runtime.Encoder {
	t.Helper()
	out := map[string]runtime.Encoder{}
	for _, info := range typedCodecs.SupportedMediaTypes() {
		out[info.MediaType] = typedCodecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
		if info.PrettySerializer != nil {
			out["pretty "+info.MediaType] = typedCodecs.EncoderForVersion(info.PrettySerializer, corev1.SchemeGroupVersion)
		}
	}
	return out
}

func encode(e runtime.Encoder, obj runtime.Object, w io.Writer) error {
	if with, ok := e.(runtime.EncoderWithAllocator); ok {
		return with.EncodeWithAllocator(obj, w, &runtime.Allocator{})
	}
	return e.Encode(obj, w)
}

// sameList holds what an encoder writes of a list against what it writes of the list that it stands for.
func sameList(t *testing.T, name string, e runtime.Encoder, list *object.List) {
	t.Helper()
	for _, when := range []string{"first", "again"} {
		var got, want bytes.Buffer
		if err := encode(e, list, &got); err != nil {
			t.Fatalf("%s, %s: %v", name, when, err)
		}
		if err := encode(e, list.GetObject(), &want); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s, %s:\ngot  %.600q\nwant %.600q", name, when, got.Bytes(), want.Bytes())
		}
	}
}

func remaining(n int64) *int64 { return &n }

func TestTypedList(t *testing.T) {
	newList := func() runtime.Object { return &corev1.ConfigMapList{} }
	for _, stored := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON} {
		all := []*object.Encoded{
			newConfigMap(t, stored, "a", nil),
			newConfigMap(t, stored, "b", map[string]string{"items": `"items":[]`, "k": "<é\u2028"}),
			newConfigMap(t, stored, "c", map[string]string{"k": "v"}),
			newConfigMap(t, stored, "d", map[string]string{"larger than a chunk": strings.Repeat("x", 300<<10)}),
			newConfigMap(t, stored, "e", nil),
		}
		for name, e := range encoders(t) {
			for _, n := range []int{0, 1, 3, len(all)} {
				if n == len(all) && name != runtime.ContentTypeJSON && name != runtime.ContentTypeProtobuf {
					continue // these are not written item by item
				}
				list := &object.List{New: newList, Items: all[:n]}
				list.ResourceVersion = "4712"
				list.Continue, list.RemainingItemCount = "token", remaining(300)
				sameList(t, fmt.Sprintf("%s of %d from %s", name, n, stored), e, list)
			}
		}
	}
}

func TestUnstructuredList(t *testing.T) {
	newList := func() runtime.Object {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(gv.String())
		list.SetKind("PandaList")
		return list
	}
	scheme := runtime.NewScheme()
	var all []*object.Encoded
	for _, body := range bodies {
		all = append(all, newPanda(`{"apiVersion":"example.com/v1","kind":"Panda","metadata":`+body.metadata+`,`+body.rest+"}\n"))
	}
	for _, options := range []json.SerializerOptions{{}, {StreamingCollectionsEncoding: true}, {Pretty: true}, {Yaml: true}} {
		serializer := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, options)
		e := asTheyAre{serializer, versioning.NewCodec(serializer, nil, scheme, scheme, scheme, nil, gv, nil, "pandas").(runtime.Encoder).Identifier()}
		for n := range len(all) + 1 {
			list := &object.List{New: newList, Items: all[:n]}
			list.ResourceVersion, list.Continue, list.RemainingItemCount = "4712", "token", remaining(3)
			sameList(t, fmt.Sprintf("%+v of %d", options, n), e, list)
		}
	}
}

// asTheyAre writes objects in the version they have, as custom resources are written.
type asTheyAre struct {
	runtime.Serializer
	id runtime.Identifier
}

func (e asTheyAre) Encode(obj runtime.Object, w io.Writer) error {
	if cached, ok := obj.(runtime.CacheableObject); ok {
		return cached.CacheEncode(e.id, e.Serializer.Encode, w)
	}
	return e.Serializer.Encode(obj, w)
}

// TestListOfUnreadable: a list that can't be written is an error, not a shorter list.
func TestListOfUnreadable(t *testing.T) {
	list := &object.List{New: func() runtime.Object { return &corev1.ConfigMapList{} }, Items: []*object.Encoded{
		newConfigMap(t, runtime.ContentTypeJSON, "a", nil),
		object.NewUnreadable(configMaps, "/configmaps/default/b", revision, errors.New("locked")),
	}}
	list.ResourceVersion = "1"
	for name, e := range encoders(t) {
		if err := encode(e, list, io.Discard); err == nil || !strings.Contains(err.Error(), "locked") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if list.GetObject() != nil {
		t.Error("it was read")
	}
}

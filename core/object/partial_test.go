package object_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
)

// metadatas are those of stored objects, and whether a partial object is cut out of their bytes.
var metadatas = []struct {
	json string
	cut  bool
}{
	{`{"name":"a"}`, true},
	{`{"annotations":{"a":"\u003cb\u003e","b":""},"creationTimestamp":"2026-11-20T15:03:30Z","generation":2,"labels":{"x":"y"},"name":"a","namespace":"n","uid":"u"}`, true},
	{`{"deletionGracePeriodSeconds":0,"deletionTimestamp":"2026-11-20T15:03:30Z","finalizers":["a","b"],"name":"a"}`, true},
	{`{"managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{".":{}}},"manager":"m","operation":"Update","subresource":"status","time":"2026-11-20T15:03:30Z"},{"manager":"n","operation":"Apply"}],"name":"a"}`, true},
	{`{"managedFields":[{"fieldsType":"FieldsV1","fieldsV1":{"k:{\"type\":\"Ready\"}":{".":{}},"v:\"\u003c\"":{}},"manager":"m","operation":"Update"}],"name":"a"}`, true},
	{`{"name":"a","ownerReferences":[{"apiVersion":"v1","blockOwnerDeletion":true,"controller":false,"kind":"K","name":"o","uid":"u"}]}`, true},
	{`{"name":"a","ownerReferences":[{"apiVersion":"v1","name":"o","uid":"u"}]}`, false},
	{`{"creationTimestamp":"2026-11-20T15:03:30+01:00","name":"a"}`, false},
	{`{"creationTimestamp":null,"name":"a"}`, false},
	{`{"labels":{},"name":"a"}`, false},
	{`{"generation":0,"name":"a"}`, false},
	{`{"name":"a","unknown":1}`, false},
}

func TestPartialJSON(t *testing.T) {
	for _, tc := range metadatas {
		e := newPanda(`{"apiVersion":"example.com/v1","kind":"Panda","metadata":` + tc.json + `,"spec":{"a":[1]}}` + "\n")
		got, ok := e.PartialJSON(metav1.SchemeGroupVersion)
		if ok != tc.cut {
			t.Errorf("%s: cut out: %t", tc.json, ok)
		}
		if !ok {
			continue
		}
		partial := meta.AsPartialObjectMetadata(e.GetObjectMeta())
		partial.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
		want, err := json.Marshal(partial)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.json, got, want)
		}
	}
}

func TestLookup(t *testing.T) {
	data := []byte(`{"a":{"b":[1,{"c":2}],"d":"x\"y"},"e":null}` + "\n")
	for _, tc := range []struct {
		path []string
		want string
	}{
		{nil, `{"a":{"b":[1,{"c":2}],"d":"x\"y"},"e":null}`},
		{[]string{"a", "b"}, `[1,{"c":2}]`},
		{[]string{"a", "d"}, `"x\"y"`},
		{[]string{"e"}, `null`},
		{[]string{"a", "c"}, ""},
		{[]string{"a", "b", "c"}, ""},
		{[]string{"0"}, ""},
		{[]string{"f"}, ""},
		{[]string{"<"}, ""},
		{[]string{`\`}, ""},
	} {
		got, found := object.Lookup(data, tc.path...)
		if string(got) != tc.want || found != (tc.want != "") {
			t.Errorf("%q: %q, %t", tc.path, got, found)
		}
	}
}

// TestLookupByEscapedNames: keys are in the order of what they stand for, and are found by that.
func TestLookupByEscapedNames(t *testing.T) {
	names := []string{"\n", "<", "=", "A", `\`, "a", "a\"", "a\"b", "\u2028", "😀"}
	content := map[string]any{}
	for i, name := range names {
		content[name] = i
	}
	data, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if got, found := object.Lookup(data, name); !found || string(got) != strconv.Itoa(i) {
			t.Errorf("%q: %q, %t in %s", name, got, found, data)
		}
	}
}

// TestMetadata holds the metadata that is decoded alone against that of the whole object, for what is stored as JSON and as
// protobuf. What is no object at all has none.
func TestMetadata(t *testing.T) {
	alone := 0
	for _, tc := range metadatas {
		full := &corev1.ConfigMap{Data: map[string]string{"a": "b"}}
		if err := json.Unmarshal([]byte(`{"metadata":`+tc.json+`}`), full); err != nil {
			t.Fatal(err)
		}
		for _, mediaType := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON} {
			info, _ := runtime.SerializerInfoForMediaType(typedCodecs.SupportedMediaTypes(), mediaType)
			stored, err := runtime.Encode(typedCodecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), full)
			if err != nil {
				t.Fatal(err)
			}
			e := object.NewEncoded(configMaps, "/configmaps/a", stored, revision, false)
			got, ok := e.Metadata()
			if !ok {
				if mediaType == runtime.ContentTypeProtobuf {
					t.Errorf("%s: the whole object is decoded", tc.json)
				}
				continue
			}
			alone++
			m, err := meta.Accessor(e)
			if err != nil {
				t.Fatal(err)
			}
			if want := meta.AsPartialObjectMetadata(m); !equality.Semantic.DeepEqual(got.ObjectMeta, want.ObjectMeta) || got.ResourceVersion == "" {
				t.Errorf("%s, %s:\ngot  %+v\nwant %+v", mediaType, tc.json, got.ObjectMeta, want.ObjectMeta)
			}
		}
	}
	if alone < len(metadatas) {
		t.Errorf("%d of %d were decoded alone", alone, 2*len(metadatas))
	}
	for _, stored := range []string{"", "k8s\x00", "k8s\x00\x12\x00", "k8s\x00\x12\x02\x0a\xff", "{}", "garbage"} {
		if _, ok := object.NewEncoded(configMaps, "/configmaps/a", []byte(stored), revision, false).Metadata(); ok {
			t.Errorf("%q has metadata", stored)
		}
	}
}

// BenchmarkMetadata reads the metadata of an object of many fields: alone, and with the whole of it.
func BenchmarkMetadata(b *testing.B) {
	data := map[string]string{}
	for i := range 30 {
		data[strconv.Itoa(i)] = "0123456789abcdef0123456789abcdef"
	}
	e := newConfigMap(b, runtime.ContentTypeProtobuf, "a", data)
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			if _, ok := e.Metadata(); !ok {
				b.Fatal("not alone")
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			if err := e.Into(&corev1.ConfigMap{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

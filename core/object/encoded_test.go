package object_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"

	"github.com/kx-apiserver/kx/core/object"
)

const revision = 4711

// pandas is a format of unstructured objects, decoded and encoded as custom resources are.
var pandas = &object.Format{
	Forms:     object.NewForms(),
	New:       func() runtime.Object { return &unstructured.Unstructured{} },
	KeyPrefix: len("/registry"),
	Decode: func(key string, data []byte, into runtime.Object, rev int64, wantFinal bool) (bool, error) {
		if _, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, into); err != nil {
			return false, fmt.Errorf("decode %s: %w", key, err)
		}
		return wantFinal, versioner.UpdateObject(into, uint64(rev))
	},
}

func newPanda(data string) *object.Encoded {
	return object.NewEncoded(pandas, "/registry/pandas/ns/a", []byte(data), revision, false)
}

// plainJSON is what writes custom resources to clients.
func plainJSON(gv schema.GroupVersion) runtime.Encoder {
	scheme := runtime.NewScheme()
	serializer := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{})
	return versioning.NewCodec(serializer, nil, scheme, scheme, scheme, nil, gv, nil, "pandas")
}

var gv = schema.GroupVersion{Group: "example.com", Version: "v1"}

// encoded is what the encoder writes of a decoded object.
func encoded(t testing.TB, e *object.Encoded) ([]byte, error) {
	t.Helper()
	obj, err := e.Object()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = plainJSON(gv).Encode(obj, &out)
	return out.Bytes(), err
}

// bodies are stored objects, and whether their bytes are what a client gets.
var bodies = []struct {
	metadata, rest string
	spliced        bool
}{
	{`{"name":"a","uid":"u"}`, `"spec":{}`, true},
	{`{"uid":"u"}`, `"spec":{"a":1}`, true},
	{`{"name":"a"}`, `"spec":null`, true},
	{`{}`, `"spec":[]`, true},
	{`{"labels":{"resourceVersion":"7"},"name":"a","selfLink":"x"}`, `"spec":[{"uid":"\u003cb\u003e\u0026"},true,false,-1.5,1e+30,0]`, true},
	{`{"managedFields":[{"fieldsV1":{"f:a":{}}}],"name":"ä€😀"}`, `"spec":"\u2028\n\t\"\\\u0001"`, true},
	{`{"managedFields":[{"fieldsV1":{"f:env":{"k:{\"name\":\"A\"}":{".":{},"f:value":{}},"k:{\"name\":\"B\"}":{}}}}]}`, `"spec":{"\\":3,"a\u003cb":1,"aZ":2,"\u2028":4,"😀":5}`, true},
	{`{"\u0001":1,"q\n":2}`, `"spec":{"\b":1,"\t":2,"\n":3,"\f":4,"\r":5,"a":6,"a\n":7}`, true},
	{`{"name":"a"}`, `"spec":{"aZ":1,"a\u003cb":2}`, false},
	{`{"name":"a"}`, `"spec":{"a\n":1,"a":2}`, false},
	{`{"name":"a"}`, `"spec":{"a\n":1,"a\n":2}`, false},
	{`{"name":"a","resourceVersion":"3"}`, `"spec":{}`, false},
	{`{"uid":"u","name":"a"}`, `"spec":{}`, false},
	{`{"name":"a"}`, `"spec": {}`, false},
	{`{"name":"a"}`, `"spec":"<b>"`, false},
	{`{"name":"a"}`, `"spec":"\u00e4"`, false},
	{`{"name":"a"}`, `"spec":"\/"`, false},
	{`{"name":"a"}`, `"spec":1.0`, false},
	{`{"name":"a"}`, `"spec":-0`, false},
	{`{"name":"a"}`, `"spec":99999999999999999999`, false},
	{`{"name":"a"}`, `"spec":{"a":1,"a":2}`, false},
	{`{"name":"a"}`, `"spec":"` + "\xff" + `"`, false},
	{`{"name":"a"}`, `"spec":"\u001F"`, false},
	{`null`, `"spec":{}`, false},
}

func TestJSONIsWhatTheEncoderWrites(t *testing.T) {
	for _, body := range bodies {
		e := newPanda(`{"apiVersion":"example.com/v1","kind":"Panda","metadata":` + body.metadata + `,` + body.rest + "}\n")
		stored := e.Stored()
		data, apiVersion, ok := e.JSON()
		if ok != body.spliced {
			t.Errorf("%s %s: spliced %t", body.metadata, body.rest, ok)
		}
		want, err := encoded(t, e)
		if err != nil {
			t.Errorf("%s %s: %v", body.metadata, body.rest, err)
			continue
		}
		if ok && (!bytes.Equal(data, want) || apiVersion != "example.com/v1") {
			t.Errorf("%s in %s, want %s", data, apiVersion, want)
		}
		var out bytes.Buffer
		if err := plainJSON(gv).Encode(e, &out); err != nil || !bytes.Equal(out.Bytes(), want) {
			t.Errorf("the encoder writes %s, %v; want %s", out.Bytes(), err, want)
		}
		if !bytes.Equal(e.Stored(), stored) || !e.EqualStored(stored) || e.EqualStored(append(stored[:len(stored):len(stored)], 'x')) {
			t.Errorf("stored %s became %s", stored, e.Stored())
		}
		if ok && e.Size() != len(want) {
			t.Errorf("%d bytes are kept of an object of %d", e.Size(), len(want))
		}
	}
}

// FuzzJSON compares what is spliced with what an encoder writes.
func FuzzJSON(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(`{"apiVersion":"example.com/v1","kind":"Panda","metadata":` + body.metadata + `,` + body.rest + "}\n"))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		e := newPanda(string(stored))
		data, _, ok := e.JSON()
		if !ok {
			return
		}
		obj, err := e.Object()
		if err != nil {
			t.Fatalf("%q can be spliced and not decoded: %v", stored, err)
		}
		var want bytes.Buffer
		if err := unstructured.UnstructuredJSONScheme.Encode(obj, &want); err != nil || !bytes.Equal(data, want.Bytes()) {
			t.Errorf("spliced %q, the encoder writes %q, %v", data, want.Bytes(), err)
		}
		if !e.EqualStored(stored) || !bytes.Equal(e.Stored(), stored) {
			t.Errorf("%q became %q", stored, e.Stored())
		}
	})
}

func TestPrunedObjectsAreEncoded(t *testing.T) {
	pruning := object.Format{New: pandas.New, KeyPrefix: pandas.KeyPrefix, Forms: pandas.Forms}
	pruning.Decode = func(key string, data []byte, into runtime.Object, rev int64, wantFinal bool) (bool, error) {
		_, err := pandas.Decode(key, data, into, rev, wantFinal)
		delete(into.(*unstructured.Unstructured).Object, "unknown")
		return false, err
	}
	e := object.NewEncoded(&pruning, "/registry/pandas/ns/a",
		[]byte(`{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"name":"a"},"unknown":1}`+"\n"), revision, false)
	var out bytes.Buffer
	if err := plainJSON(gv).Encode(e, &out); err != nil || strings.Contains(out.String(), "unknown") {
		t.Errorf("%s, %v", out.Bytes(), err)
	}
}

func TestAnotherVersionIsEncoded(t *testing.T) {
	e := newPanda(`{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"name":"a"}}` + "\n")
	calls := 0
	id := plainJSON(schema.GroupVersion{Group: "example.com", Version: "v2"}).Identifier()
	for range 2 {
		var out bytes.Buffer
		err := e.CacheEncode(id, func(obj runtime.Object, w io.Writer) error {
			calls++
			_, err := fmt.Fprint(w, "v2 of ", obj.(*unstructured.Unstructured).GetName())
			return err
		}, &out)
		if err != nil || out.String() != "v2 of a" {
			t.Errorf("%s, %v", out.String(), err)
		}
	}
	if calls != 1 {
		t.Errorf("encoded %d times", calls)
	}
}

// TestTypedObjectsAreEncodedOnce has many readers ask at once, in two formats, while others look into the object.
func TestTypedObjectsAreEncodedOnce(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	codecs := serializer.NewCodecFactory(scheme)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"b": "c"}}}
	codec := codecs.LegacyCodec(corev1.SchemeGroupVersion)
	data, err := runtime.Encode(codec, pod)
	if err != nil {
		t.Fatal(err)
	}
	format := &object.Format{
		New: func() runtime.Object { return &corev1.Pod{} },
		Decode: func(_ string, data []byte, into runtime.Object, rev int64, _ bool) (bool, error) {
			if _, _, err := codec.Decode(data, nil, into); err != nil {
				return false, err
			}
			return false, versioner.UpdateObject(into, uint64(rev))
		},
	}
	e := object.NewEncoded(format, "/pods/a", data, revision, false)
	want := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"4711",`
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			info := codecs.SupportedMediaTypes()[i%2]
			encoder := codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
			var out bytes.Buffer
			if err := encoder.Encode(e, &out); err != nil {
				t.Error(err)
			}
			if info.MediaType == runtime.ContentTypeJSON && !strings.HasPrefix(out.String(), want) {
				t.Errorf("%s", out.Bytes())
			}
			obj, err := e.Object()
			if err != nil || obj.(*corev1.Pod).Name != "a" {
				t.Error(err)
			}
			if m := e.GetObjectMeta(); m.GetName() != "a" || m.GetResourceVersion() != "4711" {
				t.Errorf("%v", m)
			}
			e.GetObject().(*corev1.Pod).Labels["b"] = "changed"
		})
	}
	wg.Wait()
	obj, _ := e.Object()
	if obj.(*corev1.Pod).Labels["b"] != "c" {
		t.Error("a copy was not one")
	}
}

func TestUnreadable(t *testing.T) {
	broken := fmt.Errorf("no key for it")
	e := object.NewUnreadable(pandas, "/registry/pandas/a", revision, broken)
	if _, err := e.Object(); err != broken {
		t.Error(err)
	}
	if err := plainJSON(gv).Encode(e, io.Discard); err != broken {
		t.Error(err)
	}
	if _, _, ok := e.JSON(); ok || e.Stored() != nil || e.At(9).Err() != broken || e.GetObject() != nil {
		t.Error("an object that can't be read has something to show")
	}
	if e := newPanda("no JSON"); e.Into(&unstructured.Unstructured{}) == nil || e.Key() != "/pandas/ns/a" {
		t.Errorf("%s was decoded", e)
	}
}

func TestAt(t *testing.T) {
	e := newPanda(`{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"name":"a"}}` + "\n")
	_, _, _ = e.JSON()
	data, _, ok := e.At(4712).JSON()
	if !ok || !strings.Contains(string(data), `"resourceVersion":"4712"`) || strings.Contains(string(data), "4711") {
		t.Errorf("%s", data)
	}
}

func BenchmarkJSON(b *testing.B) {
	text := `{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"name":"a"},"spec":{"text":"` + strings.Repeat("x", 1400) + `"}}` + "\n"
	b.Run("learn", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e := newPanda(text)
			if _, _, ok := e.JSON(); !ok {
				b.Fatal("not spliced")
			}
		}
	})
	b.Run("known", func(b *testing.B) {
		e, encoder := newPanda(text), plainJSON(gv)
		b.ReportAllocs()
		for b.Loop() {
			if err := encoder.Encode(e, io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
}

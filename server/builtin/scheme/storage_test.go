package scheme

import (
	"bytes"
	"encoding/hex"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

func codec(t testing.TB, resource, mediaType string) runtime.Codec {
	t.Helper()
	c, err := StorageCodec(schema.ParseGroupResource(resource), mediaType)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// recordedConfigMap is a config map as it lies in etcd: the prefix, an envelope with apiVersion and kind, the object, and
// the envelope's empty content encoding and content type.
const recordedConfigMap = "6b387300" + // "k8s\0"
	"0a0f" + "0a027631" + "1209436f6e6669674d6170" + // v1, ConfigMap
	"1224" + // the object, 36 bytes:
	"0a1a" + "0a03617070" + "1200" + "1a0764656661756c74" + "2200" + "2a00" + "3200" + "3800" + "4200" + // its metadata
	"1206" + "0a016b" + "120176" + // data: k, v
	"1a00" + "2200"

func TestStorageCodecWritesRecordedBytes(t *testing.T) {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "default"},
		Data:       map[string]string{"k": "v"},
	}
	got, err := runtime.Encode(codec(t, "configmaps", runtime.ContentTypeProtobuf), cm)
	if err != nil {
		t.Fatal(err)
	}
	if hex.EncodeToString(got) != recordedConfigMap {
		t.Errorf("got  %x\nwant %s", got, recordedConfigMap)
	}
}

func TestStorageCodecEncodesAsProtobufSerializer(t *testing.T) {
	objects := map[string]struct {
		resource string
		gvk      schema.GroupVersionKind
		obj      runtime.Object
	}{
		"configmap": {"configmaps", corev1.SchemeGroupVersion.WithKind("ConfigMap"), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "default", Labels: map[string]string{"b": "2", "a": "1", "c": "3"}},
			Data:       map[string]string{"k": "v", "j": "w"}, BinaryData: map[string][]byte{"x": {0, 1}},
		}},
		"empty":      {"secrets", corev1.SchemeGroupVersion.WithKind("Secret"), &corev1.Secret{}},
		"deployment": {"deployments.apps", appsv1.SchemeGroupVersion.WithKind("Deployment"), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}}},
		"long":       {"configmaps", corev1.SchemeGroupVersion.WithKind("ConfigMap"), &corev1.ConfigMap{Data: map[string]string{"k": strings.Repeat("x", 100_000)}}},
		"range":      {"serviceipallocations", corev1.SchemeGroupVersion.WithKind("RangeAllocation"), &corev1.RangeAllocation{Range: "10.0.0.0/24", Data: []byte{1}}},
	}
	for name, tc := range objects {
		t.Run(name, func(t *testing.T) {
			before := tc.obj.DeepCopyObject()
			got, err := runtime.Encode(codec(t, tc.resource, runtime.ContentTypeProtobuf), tc.obj)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, tc.obj); diff != "" {
				t.Errorf("encoding modified the object:\n%s", diff)
			}
			withKind := tc.obj.DeepCopyObject()
			withKind.GetObjectKind().SetGroupVersionKind(tc.gvk)
			want, err := runtime.Encode(protobuf.NewSerializer(Scheme, Scheme), withKind)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", hex.Dump(got), hex.Dump(want))
			}
			var plain writerOnly
			if err := codec(t, tc.resource, runtime.ContentTypeProtobuf).Encode(tc.obj, &plain); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(plain.data, want) {
				t.Error("a writer that is not a bytes.Buffer gets other bytes")
			}
		})
	}
}

type writerOnly struct{ data []byte }

func (w *writerOnly) Write(p []byte) (int, error) {
	w.data = append(w.data, p...)
	return len(p), nil
}

func TestStorageCodecJSON(t *testing.T) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"k": "v"}}
	got, err := runtime.Encode(codec(t, "configmaps", runtime.ContentTypeJSON), cm)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"app"},"data":{"k":"v"}}` + "\n"
	if string(got) != want {
		t.Errorf("got %s want %s", got, want)
	}
	if cm.Kind != "" {
		t.Error("encoding modified the object")
	}
}

func TestStorageCodecDecodes(t *testing.T) {
	recorded, err := hex.DecodeString(recordedConfigMap)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "default"},
		Data:       map[string]string{"k": "v"},
	}
	for name, data := range map[string][]byte{
		"protobuf": recorded,
		"json":     []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"app","namespace":"default"},"data":{"k":"v"}}`),
		"yaml":     []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: default}\ndata: {k: v}\n"),
	} {
		for _, into := range []runtime.Object{nil, &corev1.ConfigMap{}} {
			got, kind, err := codec(t, "configmaps", runtime.ContentTypeProtobuf).Decode(data, nil, into)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if into != nil && got != into {
				t.Errorf("%s: decoded into another object", name)
			}
			if diff := cmp.Diff(runtime.Object(want), got); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
			if *kind != corev1.SchemeGroupVersion.WithKind("ConfigMap") {
				t.Errorf("%s: kind %v", name, kind)
			}
		}
	}
}

func TestStorageCodecSetsDefaults(t *testing.T) {
	data := []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"MQ=="}}`)
	got, _, err := codec(t, "secrets", runtime.ContentTypeProtobuf).Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := got.(*corev1.Secret); s.Type != corev1.SecretTypeOpaque {
		t.Errorf("type %q, want Opaque", s.Type)
	}
}

func TestStorageCodecRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		data string
		into runtime.Object
	}{
		"nothing":        {"", nil},
		"prefix alone":   {"k8s\x00", nil},
		"broken":         {"k8s\x00\xff\xff", nil},
		"unknown kind":   {`{"apiVersion":"v1","kind":"Nope"}`, nil},
		"unknown group":  {`{"apiVersion":"example.com/v1","kind":"ConfigMap"}`, nil},
		"another kind":   {`{"apiVersion":"v1","kind":"Secret"}`, &corev1.ConfigMap{}},
		"not an object":  {`[1]`, nil},
		"without a kind": {`{"metadata":{}}`, nil},
	} {
		if obj, _, err := codec(t, "configmaps", runtime.ContentTypeProtobuf).Decode([]byte(tc.data), nil, tc.into); err == nil {
			t.Errorf("%s: decoded to %v", name, obj)
		}
	}
	if _, err := StorageCodec(schema.GroupResource{Group: "example.com", Resource: "x"}, runtime.ContentTypeJSON); err == nil {
		t.Error("a codec for an unknown group")
	}
	_, err := StorageCodec(corev1.Resource("pods"), "text/html")
	if err == nil || !strings.Contains(err.Error(), "application/json") {
		t.Errorf("a codec for text/html: %v", err)
	}
}

// TestRoundTrip fills objects of the stored kinds with random values.
func TestRoundTrip(t *testing.T) {
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, func(serializer.CodecFactory) []any {
		return []any{func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31()) }}
	}), rand.NewSource(1), Codecs)
	for resource, obj := range map[string]runtime.Object{
		"configmaps": &corev1.ConfigMap{}, "secrets": &corev1.Secret{}, "namespaces": &corev1.Namespace{},
		"services": &corev1.Service{}, "events": &corev1.Event{}, "serviceaccounts": &corev1.ServiceAccount{},
		"pods": &corev1.Pod{}, "deployments.apps": &appsv1.Deployment{}, "replicasets.apps": &appsv1.ReplicaSet{},
	} {
		for _, mediaType := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON} {
			c := codec(t, resource, mediaType)
			for range 20 {
				filler.Fill(obj)
				// What was decoded is defaulted; from there on nothing changes.
				data, err := runtime.Encode(c, obj)
				if err != nil {
					t.Fatalf("%s: %v", resource, err)
				}
				once, err := runtime.Decode(c, data)
				if err != nil {
					t.Fatalf("%s: %v", resource, err)
				}
				data, err = runtime.Encode(c, once)
				if err != nil {
					t.Fatalf("%s: %v", resource, err)
				}
				twice, err := runtime.Decode(c, data)
				if err != nil {
					t.Fatalf("%s: %v", resource, err)
				}
				if !apiequality.Semantic.DeepEqual(once, twice) {
					t.Fatalf("%s as %s:\n%s", resource, mediaType, cmp.Diff(once, twice))
				}
			}
		}
	}
}

func FuzzStorageCodecDecode(f *testing.F) {
	recorded, err := hex.DecodeString(recordedConfigMap)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(recorded)
	f.Add([]byte(`{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":80}],"type":"LoadBalancer"}}`))
	f.Add([]byte("apiVersion: v1\nkind: Secret\nstringData: {a: b}\n"))
	f.Add([]byte("k8s\x00"))
	c := codec(f, "configmaps", runtime.ContentTypeProtobuf)
	f.Fuzz(func(t *testing.T, data []byte) {
		obj, _, err := c.Decode(data, nil, nil)
		if err != nil {
			return
		}
		again, err := runtime.Encode(c, obj)
		if err != nil {
			// Kinds of other groups have no business here, and say so.
			return
		}
		if _, _, err := c.Decode(again, nil, nil); err != nil {
			t.Errorf("decoded, but not again: %v", err)
		}
	})
}

func TestEncodeAllocations(t *testing.T) {
	c := codec(t, "configmaps", runtime.ContentTypeProtobuf)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "default"}}
	buf := bytes.NewBuffer(make([]byte, 0, 4096))
	allocs := testing.AllocsPerRun(100, func() {
		buf.Reset()
		if err := c.Encode(cm, buf); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 2 {
		t.Errorf("encoding into a buffer with room allocates %v times", allocs)
	}
}

func BenchmarkStorageCodec(b *testing.B) {
	c := codec(b, "configmaps", runtime.ContentTypeProtobuf)
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "default", Labels: map[string]string{"app": "a"}},
		Data:       map[string]string{"k": strings.Repeat("x", 1024)},
	}
	data, err := runtime.Encode(c, cm)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := runtime.Encode(c, cm); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := c.Decode(data, nil, &corev1.ConfigMap{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestStorageCodecConvertsOldVersions reads what an old API server stored.
func TestStorageCodecConvertsOldVersions(t *testing.T) {
	const spec = `"spec":{"replicas":2,"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}`
	c := codec(t, "deployments.apps", runtime.ContentTypeProtobuf)
	for _, version := range []string{"apps/v1", "apps/v1beta2", "apps/v1beta1"} {
		data := []byte(`{"apiVersion":"` + version + `","kind":"Deployment","metadata":{"name":"d"},` + spec + `}`)
		for _, into := range []runtime.Object{nil, &appsv1.Deployment{}} {
			obj, kind, err := c.Decode(data, nil, into)
			if err != nil {
				t.Errorf("%s: %v", version, err)
				continue
			}
			d, ok := obj.(*appsv1.Deployment)
			if !ok {
				t.Errorf("%s: decoded to %T", version, obj)
				continue
			}
			if d.Name != "d" || *d.Spec.Replicas != 2 || d.Kind != "" || d.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
				t.Errorf("%s: %+v", version, d)
			}
			if kind.GroupVersion().String() != version {
				t.Errorf("%s: kind %v", version, kind)
			}
			again, err := runtime.Encode(c, d)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(again, []byte("apps/v1\x12\nDeployment")) {
				t.Errorf("%s: stored as %q", version, again)
			}
		}
	}
	old, err := Scheme.New(schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := runtime.Encode(c, old)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte("apps/v1\x12\nDeployment")) {
		t.Errorf("an object of an older version is stored as %q", data)
	}
}

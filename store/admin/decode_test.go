package admin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/meta"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/kx-apiserver/kx/store/transform"
)

// answered are the packages of k8s.io/api whose objects are sent, and never stored.
var answered = []string{"k8s.io/api/admission/", "k8s.io/api/apidiscovery/", "k8s.io/api/imagepolicy/"}

// TestAllOfAPI finds every package of k8s.io/api that has types to store among those that are registered.
func TestAllOfAPI(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Dir}}", "k8s.io/api/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	registered := map[string]bool{}
	for kind := range types().AllKnownTypes() {
		obj, err := types().New(kind)
		if err != nil {
			t.Fatal(err)
		}
		registered[reflect.TypeOf(obj).Elem().PkgPath()] = true
	}
	found := 0
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		files, _ := filepath.Glob(filepath.Join(dir, "register.go"))
		if len(files) == 0 || slices.ContainsFunc(answered, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			continue
		}
		found++
		if !registered[path] {
			t.Errorf("%s is not registered", path)
		}
	}
	if found < 50 {
		t.Errorf("k8s.io/api has %d packages with types: too few to be all", found)
	}
}

// filled is an object of a kind with something in every field.
func filled(t *testing.T, fill *fuzz, kind schema.GroupVersionKind) kruntime.Object {
	t.Helper()
	obj, err := types().New(kind)
	if err != nil {
		t.Fatal(err)
	}
	fill.fill(obj)
	accessor, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	accessor.SetName("name")
	obj.GetObjectKind().SetGroupVersionKind(kind)
	// What is stored was JSON once: a time has no fractions of a second then, and an empty map is none.
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	out, err := types().New(kind)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return out
}

type fuzz struct{ fill func(any) }

func newFuzz(seed int64) *fuzz {
	// A schema holds schemas: left to chance they would have no end.
	schemas := func(serializer.CodecFactory) []any {
		return []any{
			func(s *apiextensionsv1.JSONSchemaProps, _ randfill.Continue) { s.Type = "object" },
			func(s *apiextensionsv1beta1.JSONSchemaProps, _ randfill.Continue) { s.Type = "object" },
		}
	}
	f := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, schemas), rand.NewSource(seed), serializer.NewCodecFactory(types()))
	return &fuzz{func(obj any) { f.Fill(obj) }}
}

func protobufOf(t testing.TB, kind schema.GroupVersionKind, obj kruntime.Object) []byte {
	t.Helper()
	data, err := encodeProtobuf(kind, obj.(kruntime.ProtobufMarshaller))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDecodeEveryType has each type with a name in protobuf, JSON and CBOR, as its key says and in full.
func TestDecodeEveryType(t *testing.T) {
	d := &Decoder{Prefix: defaultPrefix}
	fill := newFuzz(1)
	kinds := 0
	for _, prefix := range slices.Sorted(maps.Keys(builtins())) {
		b := builtins()[prefix]
		for _, kind := range b.kinds {
			if !types().Recognizes(kind) {
				continue // APIService: JSON alone
			}
			kinds++
			key := defaultPrefix + "/" + prefix + "/name"
			obj := filled(t, fill, kind)
			data, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			want, err := d.Decode(key, data)
			if err != nil {
				t.Fatalf("%s in JSON: %v", kind, err)
			}
			if want.Format != JSON || want.Kind != kind {
				t.Errorf("%s in JSON: %s of %s", kind, want.Format, want.Kind)
			}
			inCBOR, err := encodeFormat(CBOR, kind, obj, want.Object)
			if err != nil {
				t.Fatal(err)
			}
			values := map[Format][]byte{CBOR: inCBOR}
			if m, ok := obj.(kruntime.ProtobufMarshaller); ok && m != nil {
				values[Protobuf] = protobufOf(t, kind, obj)
			}
			for format, value := range values {
				got, err := d.Decode(key, value)
				if err != nil {
					t.Errorf("%s in %s: %v", kind, format, err)
					continue
				}
				if got.Format != format || got.Kind != kind {
					t.Errorf("%s in %s: %s of %s", kind, format, got.Format, got.Kind)
				}
				sameJSON(t, fmt.Sprintf("%s in %s", kind, format), want, got)
				m, err := d.Metadata(key, value)
				if err != nil || m.Kind != kind.Kind || m.Name != "name" || !reflect.DeepEqual(m.Labels, want.Metadata().Labels) {
					t.Errorf("%s in %s: metadata %v, %v", kind, format, m, err)
				}
			}
		}
	}
	if kinds < 100 {
		t.Errorf("%d kinds: too few to be all", kinds)
	}
}

func sameJSON(t *testing.T, what string, want, got *Value) {
	t.Helper()
	if diff := cmp.Diff(full(want.Object), full(got.Object)); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// full leaves out what is empty: protobuf does not tell an empty list from none.
func full(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, part := range v {
			if part = full(part); part != nil {
				out[name] = part
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		out := []any{}
		for _, part := range v {
			out = append(out, full(part))
		}
		if len(out) > 0 {
			return out
		}
		return nil
	}
	return v
}

var (
	podKind   = corev1.SchemeGroupVersion.WithKind("Pod")
	secret    = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"}, Data: map[string][]byte{"p": []byte("hidden")}}
	secretKey = "/registry/secrets/default/s"
)

func secretValue(t testing.TB) []byte {
	return protobufOf(t, corev1.SchemeGroupVersion.WithKind("Secret"), secret)
}

// encryptionConfig writes secrets with a provider and reads them with all.
func encryptionConfig(t testing.TB, providers ...string) *transform.Resources {
	t.Helper()
	var b strings.Builder
	b.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets, pandas.example.com]\n  providers:\n")
	for _, p := range providers {
		if p == "identity" {
			b.WriteString("  - identity: {}\n")
			continue
		}
		name, key, _ := strings.Cut(p, " ")
		secret := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(key[:1], 32)))
		fmt.Fprintf(&b, "  - %s: {keys: [{name: %s, secret: %s}]}\n", name, key, secret)
	}
	r, err := transform.ParseConfig([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDecodeEncrypted(t *testing.T) {
	providers := []string{"aesgcm one", "aescbc two", "secretbox three"}
	all := &Decoder{Prefix: defaultPrefix, Encryption: encryptionConfig(t, append(providers, "identity")...)}
	for _, provider := range providers {
		plain := secretValue(t)
		writer := encryptionConfig(t, provider).ForResource(schema.GroupResource{Resource: "secrets"})
		value, err := writer.TransformToStorage(context.Background(), plain, transform.DefaultContext(secretKey))
		if err != nil {
			t.Fatal(err)
		}
		got, err := all.Decode(secretKey, value)
		if err != nil || got.Encryption != provider || got.Kind.Kind != "Secret" || got.Metadata().Name != "s" {
			t.Errorf("%s: %+v, %v", provider, got, err)
		}
		if m, err := all.Metadata(secretKey, value); err != nil || m.Name != "s" {
			t.Errorf("%s: metadata %v, %v", provider, m, err)
		}
		name := strings.Fields(provider)[0]
		other := encryptionConfig(t, name+" wrong")
		for what, d := range map[string]*Decoder{
			"--encryption-provider-config": {Prefix: defaultPrefix},
			"no key of the configuration":  {Prefix: defaultPrefix, Encryption: other},
		} {
			_, err := d.Decode(secretKey, value)
			if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), secretKey) || !strings.Contains(err.Error(), provider) {
				t.Errorf("%s: want an error with %q, got %v", provider, what, err)
			}
		}
		// Cut off anywhere, it is an error, or with AES-CBC maybe nonsense, but never what it was.
		for n := range len(value) {
			if got, err := all.Decode(secretKey, value[:n]); err == nil && got.Object != nil {
				t.Errorf("%s cut off after %d bytes is an object", provider, n)
			}
		}
	}
}

func TestDecodeFails(t *testing.T) {
	pod := filled(t, newFuzz(2), podKind)
	whole := protobufOf(t, podKind, pod)
	for name, test := range map[string]struct {
		value string
		want  string
	}{
		"empty":            {"", "it is empty"},
		"garbage":          {"\x00\x01\x02\xff", "neither protobuf, JSON nor CBOR"},
		"text":             {"hello", "neither protobuf, JSON nor CBOR"},
		"cut JSON":         {`{"apiVersion":"v1","kind":"Pod","metadata":{`, "cut off"},
		"wrong JSON":       {`{"apiVersion":"v1",,}`, "syntax is wrong at byte"},
		"JSON and more":    {`{"apiVersion":"v1"} {}`, "it is no JSON object"},
		"cut CBOR":         {"\xd9\xd9\xf7\xa1\x41", "it is no CBOR object"},
		"protobuf magic":   {"k8s\x00", "names no kind"},
		"cut envelope":     {string(whole[:10]), "envelope is damaged or cut off"},
		"cut message":      {string(whole[:len(whole)-20]), "damaged or cut off"},
		"unknown type":     {string(protobufOf(t, schema.GroupVersionKind{Group: "x", Version: "v9", Kind: "Panda"}, pod)), "protobuf of x/v9 Panda, a type that kx does not know"},
		"kms":              {"k8s:enc:kms:v1:plugin:abc", "KMS plugin of v1"},
		"unknown provider": {"k8s:enc:rot13", "of a form that is not known"},
	} {
		_, err := (&Decoder{Prefix: defaultPrefix}).Decode("/registry/pods/default/web", []byte(test.value))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "/registry/pods/default/web: ") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "hello") {
			t.Errorf("%s: the error cites the value: %v", name, err)
		}
		if _, err := (&Decoder{Prefix: defaultPrefix}).Metadata("/registry/pods/default/web", []byte(test.value)); err == nil && name != "unknown type" && name != "cut message" {
			t.Errorf("%s: has metadata", name)
		}
	}
}

func TestDecodeOther(t *testing.T) {
	d := &Decoder{Prefix: defaultPrefix}
	v, err := d.Decode("compact_rev_key", []byte("1234"))
	if err != nil || v.Format != Text || v.Object != nil {
		t.Errorf("%+v, %v", v, err)
	}
	if data, err := v.JSON(); err != nil || string(data) != `"1234"` {
		t.Errorf("%s, %v", data, err)
	}
	big := `{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"name":"a","namespace":"b"},"spec":{"n":9007199254740993}}`
	v, err = d.Decode("/registry/example.com/pandas/b/a", []byte(big))
	if err != nil || v.Kind.Kind != "Panda" {
		t.Fatal(v, err)
	}
	if data, _ := v.JSON(); !strings.Contains(string(data), "9007199254740993") {
		t.Errorf("a large number is changed: %s", data)
	}
}

func TestLocate(t *testing.T) {
	for _, test := range []struct {
		key, resource, namespace, name string
		ok                             bool
	}{
		{"/registry/pods/default/web", "pods", "default", "web", true},
		{"/registry/namespaces/default", "namespaces", "", "default", true},
		{"/registry/services/specs/default/web", "services", "default", "web", true},
		{"/registry/services/endpoints/default/web", "endpoints", "default", "web", true},
		{"/registry/minions/node-1", "nodes", "", "node-1", true},
		{"/registry/controllers/default/rc", "replicationcontrollers", "default", "rc", true},
		{"/registry/ingress/default/i", "ingresses.networking.k8s.io", "default", "i", true},
		{"/registry/events/default/e", "events", "default", "e", true},
		{"/registry/deployments/default/d", "deployments.apps", "default", "d", true},
		{"/registry/example.com/pandas/default/p", "pandas.example.com", "default", "p", true},
		{"/registry/example.com/clusterpandas/p", "clusterpandas.example.com", "", "p", true},
		{"/registry/apiextensions.k8s.io/customresourcedefinitions/pandas.example.com", "customresourcedefinitions.apiextensions.k8s.io", "", "pandas.example.com", true},
		{"/registry/apiregistration.k8s.io/apiservices/v1.", "apiservices.apiregistration.k8s.io", "", "v1.", true},
		{"/registry/ranges/serviceips", "serviceipallocations", "", "", true},
		{"/registry/masterleases/10.0.0.1", "apiServerIPInfo", "", "10.0.0.1", true},
		{key: "/registry/health"},
		{key: "/registry/pods/a/b/c"},
		{key: "/registry/pods/"},
		{key: "/registry/pandas/a"},
		{key: "/registryx/pods/a/b"},
		{key: "compact_rev_key"},
		{key: ""},
	} {
		l, ok := Locate(defaultPrefix, test.key)
		if ok != test.ok {
			t.Errorf("%s: known %t, want %t", test.key, ok, test.ok)
		} else if ok && (l.Resource.String() != test.resource || l.Namespace != test.namespace || l.Name != test.name) {
			t.Errorf("%s: %s %q %q", test.key, l.Resource, l.Namespace, l.Name)
		}
	}
}

func TestWhoWrote(t *testing.T) {
	entry := func(manager string, second int64, fields string) metav1.ManagedFieldsEntry {
		at := metav1.Unix(second, 0)
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	before := &metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{entry("a", 10, `{"f:x":{}}`), entry("b", 20, `{"f:y":{}}`)}}
	after := &metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{entry("a", 10, `{"f:x":{}}`), entry("b", 30, `{"f:y":{}}`), entry("c", 30, `{"f:z":{}}`)}}
	names := func(authors []Author) (out []string) {
		for _, a := range authors {
			out = append(out, a.Manager)
		}
		return out
	}
	if got := names(whoWrote(before, after)); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("wrote it: %v", got)
	}
	if got := names(whoWrote(nil, before)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("wrote the first: %v", got)
	}
	if got := whoWrote(nil, &metav1.ObjectMeta{}); len(got) != 0 {
		t.Errorf("nobody wrote it: %v", got)
	}
}

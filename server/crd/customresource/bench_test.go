package customresource

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/crd/schema"
)

// benchCodec is the codec of a resource like most: a spec with a few levels, a status with conditions.
func benchCodec(b testing.TB) *codec {
	b.Helper()
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	item := object(map[string]apiextensionsv1.JSONSchemaProps{"type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text})
	root := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec": object(map[string]apiextensionsv1.JSONSchemaProps{
			"cronSpec": text, "image": text, "replicas": {Type: "integer"},
			"env": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}},
		}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{
			"conditions": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}},
		}),
	})
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Names.Kind = "stable.example.com", "CronTab"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{
		{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root}},
	}
	s, err := schema.Compile(crd, "v1", schema.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	return &codec{
		defaulter: defaulter{map[string]*schema.Schema{"v1": s}, apischema.GroupKind{Group: "stable.example.com", Kind: "CronTab"}},
		version:   apischema.GroupVersion{Group: "stable.example.com", Version: "v1"},
	}
}

// benchObject is 1.5 KB as it is stored.
func benchObject() []byte {
	var conditions []string
	for i := range 4 {
		conditions = append(conditions, fmt.Sprintf(`{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"the object is as wanted since its last change","reason":"AsWanted","status":"True","type":"Condition%d"}`, i))
	}
	list := strings.Join(conditions, ",")
	return []byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":3,"labels":{"app":"bench","tier":"back"},` +
		`"managedFields":[{"apiVersion":"stable.example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:cronSpec":{},"f:image":{}}},"manager":"kubectl","operation":"Update","time":"2026-01-01T00:00:00Z"}],` +
		`"name":"bench","namespace":"default","uid":"5b1f6f0e-6f0e-4f0e-8f0e-5b1f6f0e5b1f"},"spec":{"cronSpec":"* * * * */5","env":[` + list + `],"image":"example.com/image:v1.2.3","replicas":3},"status":{"conditions":[` + list + "]}}\n")
}

func BenchmarkDecode(b *testing.B) {
	c, data := benchCodec(b), benchObject()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Decode(data, nil, &unstructured.Unstructured{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	c, data := benchCodec(b), benchObject()
	obj, _, err := c.Decode(data, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		if err := c.Encode(obj, &out); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBenchObject holds the benchmarks to what they are about: an object that comes back as the same bytes.
func TestBenchObject(t *testing.T) {
	c, data := benchCodec(t), benchObject()
	obj, _, err := c.Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := runtime.Encode(c, obj)
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("%v: %s became %s", err, data, again)
	}
}

package schema

import (
	"encoding/json"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
	celopenapi "k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

// definition is a CRD with one version, v1, of the schema (YAML).
func definition(t testing.TB, schema string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "things.example.com"
	crd.Spec.Group = "example.com"
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"}
	crd.Status.AcceptedNames = crd.Spec.Names
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(schema), props); err != nil {
		t.Fatalf("schema: %v\n%s", err, schema)
	}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true,
		Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props},
		Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
	}}
	return crd
}

// compile makes a Schema of a YAML schema.
func compile(t testing.TB, schema string) *Schema {
	t.Helper()
	s, err := Compile(definition(t, schema), "v1", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withSpec is the YAML of a schema whose spec has the one property v.
func withSpec(v string) string {
	return "{type: object, properties: {spec: {type: object, properties: {v: " + v + "}}}}"
}

// parse makes an object's content of YAML, numbers as a decoder makes them.
func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return obj
}

// thing is a Thing with more content (YAML, flow style).
func thing(t testing.TB, more string) map[string]any {
	t.Helper()
	obj := parse(t, more)
	if obj == nil {
		obj = map[string]any{}
	}
	for k, v := range map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "one"}} {
		if _, ok := obj[k]; !ok {
			obj[k] = v
		}
	}
	return obj
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// lines are errors, one a line.
func lines(errs field.ErrorList) string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "\n")
}

// correlateBySpec relates the values of an object to its old ones, as a schema that need not be structural has them.
func correlateBySpec(s *spec.Schema, obj, old map[string]any) *common.CorrelatedObject {
	return common.NewCorrelatedObject(obj, old, &celopenapi.Schema{Schema: s})
}

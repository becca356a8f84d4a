package schema

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/internal/schematest"
)

// run puts objects through all that a schema does, as a server would: a pruned and defaulted object that became another
// one. Only what Prune lets through comes to the rest.
func run(t *testing.T, s *Schema, obj, old map[string]any) {
	ctx := context.Background()
	for _, o := range []map[string]any{obj, old} {
		if _, err := s.Prune(ctx, o, PruneOptions{UnknownFieldPaths: true}); err != nil {
			return
		}
		s.Default(ctx, o)
	}
	s.Validate(ctx, obj, ExtraErrors{})
	s.ValidateUpdate(ctx, obj, old, ExtraErrors{})
	s.ValidateStatusUpdate(ctx, obj, old, ExtraErrors{})
	if again, err := s.Prune(ctx, obj, PruneOptions{UnknownFieldPaths: true}); err != nil || len(again) > 0 {
		t.Errorf("pruned twice: %v, %v", again, err)
	}
	if s.defaults().lacking(obj) {
		t.Error("defaulted, but some are missing")
	}
	checkFinal(t, s, obj)
}

// checkFinal writes and reads an object of which IsFinal says that it stays the same.
func checkFinal(t testing.TB, s *Schema, obj map[string]any) bool {
	t.Helper()
	ctx := context.Background()
	if metadata, ok := obj["metadata"].(map[string]any); ok {
		metadata["generation"] = int64(1)
	}
	if !s.IsFinal(obj) {
		return false
	}
	written := asJSON(t, obj)
	var again map[string]any
	if err := utiljson.Unmarshal([]byte(written), &again); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(ctx, again, PruneOptions{Stored: true}); err != nil {
		t.Errorf("%v of what is final: %s", err, written)
	}
	s.Default(ctx, again)
	if got := asJSON(t, again); got != written {
		t.Errorf("what is final is not the same again:\n%s\n%s", written, got)
	}
	return true
}

type fuzzed struct {
	*Schema
	whole *schemacel.Validator
}

// fuzzSchemas are the schemas of the other tests, compiled.
var fuzzSchemas = sync.OnceValue(func() (all []fuzzed) {
	t := &testing.T{}
	for _, text := range append([]string{webSchema, routeSchema}, ruleTexts()...) {
		s := compile(t, strings.ReplaceAll(text, "\t", " "))
		all = append(all, fuzzed{s, schemacel.NewValidator(s.structural, true, celconfig.PerCallLimit)})
	}
	return all
})

func ruleTexts() (texts []string) {
	for _, text := range schematest.Schemas {
		texts = append(texts, text)
	}
	return texts
}

// FuzzObject sends any object through schemas with every feature, and compares their rules with the library's.
func FuzzObject(f *testing.F) {
	for _, tt := range pruneTests {
		f.Add([]byte(asJSON(f, parse(f, tt.obj))), []byte(`{}`))
	}
	for _, tt := range defaultTests {
		f.Add([]byte(asJSON(f, parse(f, tt.obj))), []byte(asJSON(f, parse(f, tt.want))))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, s := range fuzzSchemas() {
		for range 3 {
			f.Add([]byte(asJSON(f, schematest.Object(r, s.structural))), []byte(asJSON(f, schematest.Object(r, s.structural))))
		}
	}
	f.Fuzz(func(t *testing.T, newData, oldData []byte) {
		var obj, old map[string]any
		if utiljson.Unmarshal(newData, &obj) != nil || utiljson.Unmarshal(oldData, &old) != nil || obj == nil || old == nil {
			return
		}
		for _, o := range []map[string]any{obj, old} {
			for k, v := range map[string]any{"apiVersion": "example.com/v1", "kind": "Thing"} {
				if _, ok := o[k]; !ok {
					o[k] = v
				}
			}
		}
		for _, s := range fuzzSchemas() {
			obj, old := runtime.DeepCopyJSON(obj), runtime.DeepCopyJSON(old)
			run(t, s.Schema, obj, old)
			sameAsLibrary(t, s.Schema, s.whole, obj, nil)
			sameAsLibrary(t, s.Schema, s.whole, obj, old)
		}
	})
}

// FuzzSchema compiles any schema that a definition may have, and puts objects through it that it may or may not allow.
func FuzzSchema(f *testing.F) {
	for _, text := range append([]string{webSchema, routeSchema}, ruleTexts()...) {
		data, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "\t", " ")))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint64(1))
	}
	for _, tt := range createTests {
		data, err := yaml.YAMLToJSON([]byte(withSpec(tt.v)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint64(2))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		props := &apiextensionsv1.JSONSchemaProps{}
		if json.Unmarshal(data, props) != nil || !valid(t, props) {
			return
		}
		crd := definition(t, `{}`)
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema = props
		s, err := Compile(crd, "v1", Limits{})
		if err != nil {
			t.Fatalf("a definition may have a schema that does not compile: %v\n%s", err, data)
		}
		r := rand.New(rand.NewPCG(seed, 7))
		for range 3 {
			old := schematest.Object(r, s.structural)
			run(t, s, schematest.Changed(r, s.structural, old), old)
		}
	})
}

// valid says whether a definition may have the schema.
func valid(t *testing.T, props *apiextensionsv1.JSONSchemaProps) bool {
	crd := definition(t, `{}`)
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = props
	crd.Spec.Scope = apiextensionsv1.ClusterScoped
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	crd.Status.StoredVersions = []string{"v1"}
	hub := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, hub, nil); err != nil {
		return false
	}
	return len(crdvalidation.ValidateCustomResourceDefinition(context.Background(), hub)) == 0
}

// TestFuzzedSchemasAreValid keeps FuzzSchema from turning away what it begins with.
func TestFuzzedSchemasAreValid(t *testing.T) {
	for _, text := range []string{webSchema, routeSchema} {
		if !valid(t, definition(t, strings.ReplaceAll(text, "\t", " ")).Spec.Versions[0].Schema.OpenAPIV3Schema) {
			t.Errorf("no definition may have this schema:\n%s", text)
		}
	}
}

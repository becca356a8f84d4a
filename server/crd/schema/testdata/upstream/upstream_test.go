package upstream

import (
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/crd/schema"
	"github.com/kx-apiserver/kx/server/internal/schematest"
)

// checks are the three ways in which an object is checked.
type checks struct {
	create         func(ctx context.Context, obj map[string]any) field.ErrorList
	update, status func(ctx context.Context, obj, old map[string]any) field.ErrorList
}

// compile makes both sides' checks of a schema, and kx's Schema.
func compile(t *testing.T, text string) (*schema.Schema, checks, checks) {
	t.Helper()
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "\t", " ")), props); err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Names.Kind = "example.com", "Thing"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name:         "v1",
		Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props},
		Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
	}}
	s, err := schema.Compile(crd, "v1", schema.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ours := checks{
		create: func(ctx context.Context, obj map[string]any) field.ErrorList {
			return s.Validate(ctx, obj, schema.ExtraErrors{})
		},
		update: func(ctx context.Context, obj, old map[string]any) field.ErrorList {
			return s.ValidateUpdate(ctx, obj, old, schema.ExtraErrors{})
		},
		status: func(ctx context.Context, obj, old map[string]any) field.ErrorList {
			return s.ValidateStatusUpdate(ctx, obj, old, schema.ExtraErrors{})
		},
	}
	return s, ours, strategies(t, crd.Spec.Versions[0].Schema, s)
}

// strategies are upstream's, on the structural schema of s.
func strategies(t *testing.T, v1 *apiextensionsv1.CustomResourceValidation, s *schema.Schema) checks {
	t.Helper()
	in := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v1, in, nil); err != nil {
		t.Fatal(err)
	}
	object, _, err := validation.NewSchemaValidator(in.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	var status validation.SchemaValidator
	if props, ok := in.OpenAPIV3Schema.Properties["status"]; ok {
		if status, _, err = validation.NewSchemaValidator(&props); err != nil {
			t.Fatal(err)
		}
	}
	kind := apischema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	strategy := customresource.NewStrategy(nil, false, kind, object, status, s.Structural(), &apiextensions.CustomResourceSubresourceStatus{}, nil, nil)
	statusStrategy := customresource.NewStatusStrategy(strategy)
	return checks{
		create: func(ctx context.Context, obj map[string]any) field.ErrorList {
			return strategy.Validate(ctx, unstructuredOf(obj))
		},
		update: func(ctx context.Context, obj, old map[string]any) field.ErrorList {
			return strategy.ValidateUpdate(ctx, unstructuredOf(obj), unstructuredOf(old))
		},
		status: func(ctx context.Context, obj, old map[string]any) field.ErrorList {
			return statusStrategy.ValidateUpdate(ctx, unstructuredOf(obj), unstructuredOf(old))
		},
	}
}

func unstructuredOf(obj map[string]any) runtime.Object {
	return &unstructured.Unstructured{Object: obj}
}

// warnings collects warnings.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// said is all that one side says of an object, in an order: upstream goes through objects in that of Go's maps.
func said(check func(ctx context.Context) field.ErrorList) (text string, bad bool) {
	var told warnings
	errs := check(warning.WithWarningRecorder(context.Background(), &told))
	for i := range told {
		told[i] = "warning: " + told[i]
	}
	for _, err := range errs {
		told = append(told, err.Error())
	}
	slices.Sort(told)
	return strings.Join(told, "\n"), len(errs) > 0
}

// same fails the test unless both sides say the same. Upstream is asked again if not: which fault a rule finds first may
// depend on that order too.
func same(t *testing.T, what string, obj, old map[string]any, ours, theirs func(ctx context.Context) field.ErrorList) (bad bool) {
	t.Helper()
	got, bad := said(ours)
	var want string
	for range 50 {
		if want, _ = said(theirs); got == want {
			return bad
		}
	}
	objJSON, _ := json.Marshal(obj)
	oldJSON, _ := json.Marshal(old)
	t.Fatalf("%s of %s\nold %s\nkx:\n%s\nupstream:\n%s", what, objJSON, oldJSON, got, want)
	return bad
}

var seed = flag.Uint64("seed", 8, "which objects TestSame makes")

// TestNullStatus updates a status to null that was not there, which is no change.
func TestNullStatus(t *testing.T) {
	_, ours, theirs := compile(t, schematest.Schemas["object and children"])
	thing := func(spec map[string]any) map[string]any {
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{
			"name": "one", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2024-01-01T00:00:00Z",
		}, "spec": spec}
	}
	obj, old := thing(map[string]any{"b": int64(3)}), thing(map[string]any{"a": int64(0), "b": int64(4)})
	obj["status"] = nil
	same(t, "update of the status", obj, old,
		func(ctx context.Context) field.ErrorList { return ours.status(ctx, obj, old) },
		func(ctx context.Context) field.ErrorList { return theirs.status(ctx, obj, old) })
}

func TestSame(t *testing.T) {
	const objects = 300
	for name, text := range schematest.Schemas {
		t.Run(name, func(t *testing.T) {
			s, ours, theirs := compile(t, text)
			r := rand.New(rand.NewPCG(*seed, 9))
			bad := 0
			count := func(isBad bool) {
				if isBad {
					bad++
				}
			}
			for range objects {
				old := schematest.Object(r, s.Structural())
				obj := schematest.Changed(r, s.Structural(), old)
				count(same(t, "create", obj, nil,
					func(ctx context.Context) field.ErrorList { return ours.create(ctx, obj) },
					func(ctx context.Context) field.ErrorList { return theirs.create(ctx, obj) }))
				count(same(t, "update", obj, old,
					func(ctx context.Context) field.ErrorList { return ours.update(ctx, obj, old) },
					func(ctx context.Context) field.ErrorList { return theirs.update(ctx, obj, old) }))
				count(same(t, "update of the status", obj, old,
					func(ctx context.Context) field.ErrorList { return ours.status(ctx, obj, old) },
					func(ctx context.Context) field.ErrorList { return theirs.status(ctx, obj, old) }))
			}
			if bad == 0 || bad == 3*objects {
				t.Errorf("%d of %d checks found errors: the comparison says little", bad, 3*objects)
			}
		})
	}
}

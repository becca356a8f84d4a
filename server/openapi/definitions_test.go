package openapi_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	libraryopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	builderutil "k8s.io/kube-openapi/pkg/builder3/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	builtinall "github.com/kx-apiserver/kx/server/builtin/all"
	"github.com/kx-apiserver/kx/server/openapi"
)

// newScheme knows the built-in types and definitions of custom resources.
func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for _, group := range builtinall.Groups(builtinall.Needs{}) {
		if err := group.AddToScheme(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// The embedded file is that of the libraries in go.mod: each type has its definition, with its fields and its kinds.
// When this fails, run go generate.
func TestDefinitionsAreOfTheseTypes(t *testing.T) {
	scheme, seen := newScheme(t), map[reflect.Type]bool{}
	for gvk, goType := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || gvk.GroupVersion() == policyv1beta1.SchemeGroupVersion && gvk.Kind == "Eviction" {
			continue // old clients may send that eviction still, and no document tells of it
		}
		name, err := scheme.ToOpenAPIDefinitionName(gvk)
		if err != nil {
			t.Fatal(err)
		}
		d := definition(name)
		if d == nil {
			t.Errorf("%v has no definition: want %s", gvk, name)
			continue
		}
		kind := map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
		kinds, _ := d.Extensions["x-kubernetes-group-version-kind"].([]any)
		if !slices.ContainsFunc(kinds, func(k any) bool { return reflect.DeepEqual(k, kind) }) {
			t.Errorf("%s is not said to be %v", name, gvk)
		}
		checkFields(t, goType, seen)
	}
	if len(seen) < 300 {
		t.Errorf("looked at %d types", len(seen))
	}
}

// definition is nil if there is none of the name.
func definition(name string) *spec.Schema { return openapi.Definitions(name)[name] }

// checkFields compares a type and all it is made of with their definitions.
func checkFields(t *testing.T, goType reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	switch goType.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		checkFields(t, goType.Elem(), seen)
		return
	case reflect.Struct:
	default:
		return
	}
	namer, ok := reflect.New(goType).Interface().(interface{ OpenAPIModelName() string })
	if !ok || seen[goType] {
		return
	}
	seen[goType] = true
	d := definition(namer.OpenAPIModelName())
	if d == nil {
		t.Errorf("%v has no definition: want %s", goType, namer.OpenAPIModelName())
		return
	}
	if slices.Contains(d.Type, "object") && len(d.Properties) > 0 {
		want := fieldsOf(goType)
		if diff := cmp.Diff(want, keys(d.Properties)); diff != "" {
			t.Errorf("%s:\n%s", namer.OpenAPIModelName(), diff)
		}
	}
	for i := range goType.NumField() {
		if goType.Field(i).IsExported() {
			checkFields(t, goType.Field(i).Type, seen)
		}
	}
}

func fieldsOf(goType reflect.Type) (fields []string) {
	for i := range goType.NumField() {
		field := goType.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case name == "" && (strings.Contains(options, "inline") || field.Anonymous):
			fields = append(fields, fieldsOf(field.Type)...)
		default:
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}

// What clients merge, validate and explain by.
func TestDefinitionsSayHowToMerge(t *testing.T) {
	containers := definition("io.k8s.api.core.v1.PodSpec").Properties["containers"]
	want := spec.Extensions{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name"},
		"x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}
	if diff := cmp.Diff(want, containers.Extensions); diff != "" {
		t.Errorf("extensions of containers:\n%s", diff)
	}
	if !strings.HasPrefix(containers.Description, "List of containers belonging to the pod.") {
		t.Errorf("description of containers: %q", containers.Description)
	}
	quantity, err := json.Marshal(definition("io.k8s.apimachinery.pkg.api.resource.Quantity").OneOf)
	if err != nil || string(quantity) != `[{"type":"string"},{"type":"number"}]` {
		t.Errorf("a quantity is one of %s (%v)", quantity, err)
	}
}

// Who asks for a definition gets what it refers to, and nothing of another: each asks for its own.
func TestDefinitionsAreWhole(t *testing.T) {
	pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	if !openapi.HasKind(pod) || openapi.HasKind(pod.GroupKind().WithVersion("v2")) {
		t.Error("of the kinds Pod v1 is known, and v2 is not")
	}
	all := openapi.DefinitionsOfKind(pod)
	for name, s := range all {
		for _, rest := range strings.Split(string(mustMarshal(t, s)), `"$ref":"#/components/schemas/`)[1:] {
			if to, _, _ := strings.Cut(rest, `"`); all[to] == nil {
				t.Errorf("%s refers to %s, which is not there", name, to)
			}
		}
	}
	if all["io.k8s.api.core.v1.Container"] == nil || all["io.k8s.api.apps.v1.Deployment"] != nil {
		t.Errorf("%d definitions of a Pod", len(all))
	}
	all["io.k8s.api.core.v1.Pod"].Description = "changed"
	if s := definition("io.k8s.api.core.v1.Pod"); s.Description == "changed" {
		t.Error("two callers got the same definition")
	}
	if nothing := openapi.Definitions("io.k8s.api.core.v1.Po", "io.k8s.api.core.v1.Pods", ""); len(nothing) != 0 || openapi.Has("io.k8s.api.core.v1.Po") {
		t.Errorf("of names that are none there is %v", keys(nothing))
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The library has definitions of its own group ready: ours are the same, recursion of schemas included.
func TestDefinitionsOfDefinitions(t *testing.T) {
	compared := 0
	for name, want := range libraryopenapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + name)
	}) {
		if !strings.Contains(name, "apiextensions.v1.") {
			continue
		}
		compared++
		got := definition(name)
		if got == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		ours, theirs := asJSON(t, got), asJSON(t, builderutil.WrapRefs(&want.Schema))
		delete(ours, "x-kubernetes-group-version-kind")
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if compared < 25 {
		t.Errorf("compared %d definitions", compared)
	}
}

func asJSON(t *testing.T, s *spec.Schema) (fields map[string]any) {
	t.Helper()
	if err := json.Unmarshal(mustMarshal(t, s), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// Managed fields: each kind that kx serves can be taken apart by its definition.
func TestTypeConverter(t *testing.T) {
	scheme := newScheme(t)
	for gv, resources := range builtins() {
		for _, r := range resources {
			gvk := gv.WithKind(r.Kind)
			if r.Version != "" {
				gvk = schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
			}
			object, err := scheme.New(gvk)
			if err != nil {
				t.Fatal(err)
			}
			converter, err := managedfields.NewTypeConverter(openapi.DefinitionsOfKind(gvk), false)
			if err != nil {
				t.Fatal(err)
			}
			object.GetObjectKind().SetGroupVersionKind(gvk)
			if _, err := converter.ObjectToTyped(object); err != nil {
				t.Errorf("%v: %v", gvk, err)
			}
		}
	}
}

package scheme

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/kx-apiserver/kx/server/builtin/all"
)

// TestAlikeVersions converts random objects and lists between the versions that resources declare to be alike.
func TestAlikeVersions(t *testing.T) {
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, func(serializer.CodecFactory) []any {
		return []any{func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31()) }}
	}), rand.NewSource(1), Codecs)
	pairs := 0
	for _, group := range all.Groups(all.Needs{}) {
		for _, resource := range group.Resources {
			declaration := reflect.Indirect(reflect.ValueOf(resource))
			alike := declaration.FieldByName("Alike")
			if !alike.IsValid() {
				continue
			}
			list := reflect.TypeOf(declaration.FieldByName("List").Interface()).Elem().Name()
			for _, version := range alike.Interface().([]schema.GroupVersion) {
				for _, kind := range []string{list, strings.TrimSuffix(list, "List")} {
					pairs++
					t.Run(version.WithKind(kind).String(), func(t *testing.T) {
						testAlike(t, filler, version.WithKind(kind), resource.StoredIn().WithKind(kind))
					})
				}
			}
		}
	}
	if pairs == 0 {
		t.Error("no resource has versions that are alike")
	}
}

// testAlike wants objects that look the same in both versions, with the same defaults, and come back as they were.
func testAlike(t *testing.T, filler *randfill.Filler, one, other schema.GroupVersionKind) {
	for range 50 {
		object := newObject(t, one)
		filler.Fill(object)
		object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		before := object.DeepCopyObject()
		over, back := newObject(t, other), newObject(t, one)
		convert(t, object, over)
		convert(t, over, back)
		if !apiequality.Semantic.DeepEqual(before, back) || !apiequality.Semantic.DeepEqual(before, object) {
			t.Fatalf("came back changed: %s", cmp.Diff(before, back))
		}
		over = over.DeepCopyObject()
		if diff := cmp.Diff(asJSON(t, object), asJSON(t, over)); diff != "" {
			t.Fatalf("looks different: %s", diff)
		}
		Scheme.Default(object)
		Scheme.Default(over)
		if diff := cmp.Diff(asJSON(t, object), asJSON(t, over)); diff != "" {
			t.Fatalf("gets other defaults: %s", diff)
		}
	}
	object := newObject(t, one)
	Scheme.Default(object)
	over := newObject(t, other)
	Scheme.Default(over)
	if diff := cmp.Diff(asJSON(t, object), asJSON(t, over)); diff != "" {
		t.Errorf("an empty one gets other defaults: %s", diff)
	}
}

func newObject(t *testing.T, kind schema.GroupVersionKind) runtime.Object {
	t.Helper()
	object, err := Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func convert(t *testing.T, in, out runtime.Object) {
	t.Helper()
	if err := Scheme.Convert(in, out, nil); err != nil {
		t.Fatal(err)
	}
}

func asJSON(t *testing.T, object runtime.Object) string {
	t.Helper()
	data, err := json.MarshalIndent(object, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

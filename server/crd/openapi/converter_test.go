package openapi_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/crd/openapi"
)

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// merge takes two objects apart, merges them by their types and puts the result together.
func merge(t testing.TB, c managedfields.TypeConverter, first, second string) map[string]any {
	t.Helper()
	a, err := c.ObjectToTyped(object(t, first))
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.ObjectToTyped(object(t, second))
	if err != nil {
		t.Fatal(err)
	}
	both, err := a.Merge(b)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.TypedToObject(both)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*unstructured.Unstructured).Object
}

// Lists with keys, metadata of every kind, other versions and scales are known by their definitions.
func TestTypeConverter(t *testing.T) {
	crd := crontab(t)
	crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v0"})
	c := openapi.NewTypeConverter(crd)
	const head = "apiVersion: stable.example.com/v1\nkind: CronTab\n"
	for _, tt := range []struct{ name, first, second, want string }{
		{"a list with keys", head + "spec: {env: [{name: a, value: x}, {name: b}]}", head + "spec: {env: [{name: a, value: w}, {name: c}]}",
			head + "spec: {env: [{name: a, value: w}, {name: b}, {name: c}]}"},
		{"metadata", head + "metadata: {name: a, labels: {x: one}, finalizers: [one], ownerReferences: [{uid: '1', name: a}], managedFields: [{manager: m, time: '2020-01-01T00:00:00Z', fieldsV1: {'f:spec': {}}}], creationTimestamp: '2020-01-01T00:00:00Z'}",
			head + "metadata: {labels: {z: z}, finalizers: [two], ownerReferences: [{uid: '1', name: b}, {uid: '2'}]}",
			head + "metadata: {name: a, labels: {x: one, z: z}, finalizers: [one, two], ownerReferences: [{uid: '1', name: b}, {uid: '2'}], managedFields: [{manager: m, time: '2020-01-01T00:00:00Z', fieldsV1: {'f:spec': {}}}], creationTimestamp: '2020-01-01T00:00:00Z'}"},
		{"a version without schema", "apiVersion: stable.example.com/v0\nkind: CronTab\nspec: {a: [1], b: 2}", "apiVersion: stable.example.com/v0\nkind: CronTab\nspec: {a: [3]}",
			"apiVersion: stable.example.com/v0\nkind: CronTab\nspec: {a: [3], b: 2}"},
		{"a scale", "apiVersion: autoscaling/v1\nkind: Scale\nspec: {replicas: 1}", "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: a}\nspec: {replicas: 2}",
			"apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: a}\nspec: {replicas: 2}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(object(t, tt.want).Object, merge(t, c, tt.first, tt.second)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := c.ObjectToTyped(object(t, head+"spec: {env: {a: b}}")); err == nil || !strings.Contains(err.Error(), ".spec.env") {
		t.Errorf("a map for a list: %v", err)
	}
	if _, err := c.ObjectToTyped(object(t, "apiVersion: stable.example.com/v3\nkind: CronTab")); err == nil || !strings.Contains(err.Error(), "no corresponding type") {
		t.Errorf("a version that is gone: %v", err)
	}
}

// What 500 definitions cost: noted, asked for, and again after one has changed.
func BenchmarkMany(b *testing.B) {
	all := many(crontab(b), 500)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := serve(b)
		for _, crd := range all {
			s.tell(nil, crd)
		}
		s.get(b, "/openapi/v2", jsonType)
		for path, at := range s.index(b) {
			if strings.Contains(path, "example.com") {
				s.get(b, at, jsonType)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(all)), "kept-B/definition")
		s.tell(all[0], nil)
	}
}

package schema

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"

	"github.com/kx-apiserver/kx/core/trace"
)

const webSchema = `{type: object, properties: {
	spec: {type: object, default: {}, properties: {
		replicas: {type: integer, default: 1},
		image: {type: string, nullable: true, default: none},
		paused: {type: boolean, nullable: true},
		ports: {type: array, default: [{name: web}], items: {type: object, properties: {name: {type: string}, port: {type: integer, default: 80}}}},
		labels: {type: object, additionalProperties: {type: string, default: x}},
		open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {closed: {type: object, properties: {a: {type: string}}}}},
		template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true},
		pod: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {a: {type: string}}}}},
		size: {x-kubernetes-int-or-string: true}}},
	status: {type: object, properties: {phase: {type: string}}}}}`

func web(t testing.TB) *Schema { return compile(t, strings.ReplaceAll(webSchema, "\t", " ")) }

var pruneTests = []struct{ name, obj, want, unknown, err string }{
	{"known", `{spec: {replicas: 2}}`, `{spec: {replicas: 2}}`, ``, ``},
	{"unknown at the root", `{data: 1, spec: {}}`, `{spec: {}}`, `data`, ``},
	{"unknown beneath", `{spec: {foo: 1, bar: {a: b}, replicas: 1}}`, `{spec: {replicas: 1}}`, `spec.bar spec.foo`, ``},
	{"unknown in items", `{spec: {ports: [{name: a}, {nam: b}]}}`, `{spec: {ports: [{name: a}, {}]}}`, `spec.ports[1].nam`, ``},
	{"preserved", `{spec: {open: {foo: 1, closed: {a: x, b: z}}}}`, `{spec: {open: {foo: 1, closed: {a: x}}}}`, `spec.open.closed.b`, ``},
	{"any key of a map", `{spec: {labels: {a: b}}}`, `{spec: {labels: {a: b}}}`, ``, ``},
	{"null without a default", `{spec: {replicas: null, size: null, paused: null}}`, `{spec: {replicas: null, paused: null}}`, ``, ``},
	{"null in a map", `{spec: {labels: {a: null}}}`, `{spec: {labels: {a: null}}}`, ``, ``},
	{"metadata keeps what ObjectMeta has", `{metadata: {name: one, horse: 1, labels: {a: b}}}`, `{metadata: {name: one, labels: {a: b}}}`, `metadata.horse`, ``},
	{"metadata of a wrong type", `{metadata: {name: 1}}`, ``, ``, `json: cannot unmarshal number into Go struct field ObjectMeta.name of type string`},
	{"metadata is no object", `{metadata: [1]}`, ``, ``, `json: cannot unmarshal array into Go value of type v1.ObjectMeta`},
	{"kind of a wrong type", `{kind: 1}`, ``, ``, `.kind accessor error: 1 is of the type int64, expected string`},
	{"apiVersion that is none", `{apiVersion: a/b/c}`, ``, ``, `unexpected GroupVersion string: a/b/c`},
	{"embedded resource", `{spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: a, horse: 1}, spec: {a: b}}}}`,
		`{spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {a: b}}}}`, `spec.template.metadata.horse`, ``},
	{"embedded resource, pruned", `{spec: {pod: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {a: b, c: d}, x: 1}}}`,
		`{spec: {pod: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {a: b}}}}`, `spec.pod.spec.c spec.pod.x`, ``},
	{"embedded metadata of a wrong type", `{spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: 1}}}}`, ``, ``,
		`spec.template.metadata: Invalid value: {"name":1}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string`},
	{"embedded kind of a wrong type", `{spec: {template: {apiVersion: v1, kind: 1}}}`, ``, ``, `spec.template.kind: Invalid value: 1: must be a string`},
	{"another kind", `{apiVersion: v1, kind: DeleteOptions, foo: 1, metadata: {name: a, horse: 1}}`, `{apiVersion: v1, kind: DeleteOptions, foo: 1, metadata: {name: a}}`, `metadata.horse`, ``},
}

func TestPrune(t *testing.T) {
	s := web(t)
	for _, tt := range pruneTests {
		t.Run(tt.name, func(t *testing.T) {
			obj := thing(t, tt.obj)
			unknown, err := s.Prune(context.Background(), obj, PruneOptions{UnknownFieldPaths: true})
			if got := message(err); got != tt.err {
				t.Fatalf("error %q, want %q", got, tt.err)
			}
			if got := strings.Join(unknown, " "); got != tt.unknown {
				t.Errorf("unknown fields %q, want %q", got, tt.unknown)
			}
			if err == nil && asJSON(t, obj) != asJSON(t, thing(t, tt.want)) {
				t.Errorf("got %s, want %s", asJSON(t, obj), tt.want)
			}
			silent := thing(t, tt.obj)
			if unknown, err := s.Prune(context.Background(), silent, PruneOptions{}); unknown != nil || err == nil && !reflect.DeepEqual(silent, obj) {
				t.Errorf("unasked for paths: %v; object %s, with paths %s", unknown, asJSON(t, silent), asJSON(t, obj))
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestPruneStored(t *testing.T) {
	s := web(t)
	for _, tt := range []struct{ name, obj, want string }{
		{"no generation", `{metadata: {name: a}}`, `{metadata: {name: a, generation: 1}}`},
		{"a generation", `{metadata: {name: a, generation: 3}}`, `{metadata: {name: a, generation: 3}}`},
		{"malformed metadata", `{metadata: {name: a, labels: 1, generation: 2}}`, `{metadata: {name: a, generation: 2}}`},
		{"malformed embedded metadata", `{metadata: {name: a, generation: 2}, spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: [1]}}}}`,
			`{metadata: {name: a, generation: 2}, spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: a}}}}`},
	} {
		obj := thing(t, tt.obj)
		if _, err := s.Prune(context.Background(), obj, PruneOptions{Stored: true}); err != nil || asJSON(t, obj) != asJSON(t, thing(t, tt.want)) {
			t.Errorf("%s: %s, %v, want %s", tt.name, asJSON(t, obj), err, tt.want)
		}
	}
}

func TestPruneLegacy(t *testing.T) {
	crd := definition(t, `{patternProperties: {^x: {type: string}}, properties: {spec: {type: object, properties: {a: {type: string}}}}}`)
	if _, err := Compile(crd, "v1", Limits{}); err == nil || !strings.Contains(err.Error(), "compile the schema of version v1 of CustomResourceDefinition things.example.com: ") {
		t.Errorf("a schema that is not structural was compiled: %v", err)
	}
	crd.Spec.PreserveUnknownFields = true
	s, err := Compile(crd, "v1", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	obj := thing(t, `{foo: 1, spec: {bar: null}}`)
	if unknown, err := s.Prune(context.Background(), obj, PruneOptions{UnknownFieldPaths: true}); err != nil || len(unknown) > 0 ||
		asJSON(t, obj) != asJSON(t, thing(t, `{foo: 1, spec: {bar: null}}`)) {
		t.Errorf("%s, unknown %v, %v", asJSON(t, obj), unknown, err)
	}
	s.Default(context.Background(), obj)
	bad, old := thing(t, `{spec: {a: 1}}`), thing(t, `{spec: {a: 1}, x: 1}`)
	want := `spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"`
	if got := lines(s.Validate(context.Background(), bad, ExtraErrors{})); got != want {
		t.Errorf("create: %s", got)
	}
	if got := lines(s.ValidateUpdate(context.Background(), bad, old, ExtraErrors{})); got != want {
		t.Errorf("update: %s", got)
	}
	if got := lines(s.ValidateStatusUpdate(context.Background(), bad, old, ExtraErrors{})); got != "" {
		t.Errorf("update of the status: %s", got)
	}
}

func TestWithoutSchema(t *testing.T) {
	crd := definition(t, `{}`)
	crd.Spec.Versions[0].Schema = nil
	s, err := Compile(crd, "v1", Limits{})
	if err != nil || s.Structural() != nil {
		t.Fatal(s.Structural(), err)
	}
	obj := thing(t, `{foo: 1}`)
	if unknown, err := s.Prune(context.Background(), obj, PruneOptions{UnknownFieldPaths: true}); err != nil || strings.Join(unknown, " ") != "foo" {
		t.Errorf("unknown %v, %v", unknown, err)
	}
	s.Default(context.Background(), obj)
	if errs := s.Validate(context.Background(), obj, ExtraErrors{}); len(errs) > 0 {
		t.Error(errs)
	}
	if errs := s.ValidateUpdate(context.Background(), obj, thing(t, `{}`), ExtraErrors{}); len(errs) > 0 {
		t.Error(errs)
	}
	if _, err := Compile(crd, "v2", Limits{}); err == nil || err.Error() != `compile the schema of CustomResourceDefinition things.example.com: it has no version "v2"` {
		t.Error(err)
	}
}

var defaultTests = []struct{ name, obj, want, set string }{
	{"all", `{}`, `{spec: {replicas: 1, image: none, ports: [{name: web, port: 80}]}}`, `spec`},
	{"some", `{spec: {replicas: 2}}`, `{spec: {replicas: 2, image: none, ports: [{name: web, port: 80}]}}`, `spec.image spec.ports`},
	{"none", `{spec: {replicas: 2, image: a, ports: []}}`, `{spec: {replicas: 2, image: a, ports: []}}`, ``},
	{"null that can be", `{spec: {replicas: 2, image: null, ports: []}}`, `{spec: {replicas: 2, image: null, ports: []}}`, ``},
	{"null that can't be", `{spec: {replicas: null, image: a, ports: []}}`, `{spec: {replicas: 1, image: a, ports: []}}`, `spec.replicas`},
	{"in items", `{spec: {replicas: 2, image: a, ports: [{name: a}, {port: 1}]}}`, `{spec: {replicas: 2, image: a, ports: [{name: a, port: 80}, {port: 1}]}}`, `spec.ports[0].port`},
	{"null in a map", `{spec: {replicas: 2, image: a, ports: [], labels: {a: null, b: c}}}`, `{spec: {replicas: 2, image: a, ports: [], labels: {a: x, b: c}}}`, `spec.labels.a`},
}

func TestDefault(t *testing.T) {
	s := web(t)
	for _, tt := range defaultTests {
		t.Run(tt.name, func(t *testing.T) {
			obj := thing(t, tt.obj)
			given, lacked := &trace.List{}, s.defaults().lacking(obj)
			if err := s.giveDefaults(context.Background(), obj, s.limits.Bytes, given); err != nil {
				t.Error(err)
			}
			if got := given.Join(" "); got != tt.set || lacked != (got != "") {
				t.Errorf("said to be set: %q, want %q; lacking: %v", got, tt.set, lacked)
			}
			if asJSON(t, obj) != asJSON(t, thing(t, tt.want)) {
				t.Errorf("got %s, want %s", asJSON(t, obj), tt.want)
			}
			if s.defaults().lacking(obj) {
				t.Error("some are still missing")
			}
		})
	}
}

// growing is a schema whose default makes much of an empty item, and n of these.
func growing(t *testing.T, limit int64, n int) (*Schema, map[string]any) {
	t.Helper()
	crd := definition(t, withSpec(`{type: array, items: {type: object, properties: {text: {type: string, default: `+strings.Repeat("x", 1<<10)+`}}}}`))
	s, err := Compile(crd, "v1", Limits{Bytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	items := make([]any, n)
	for i := range items {
		items[i] = map[string]any{}
	}
	obj := thing(t, `{}`)
	obj["spec"] = map[string]any{"v": items}
	return s, obj
}

// TestDefaultsAreLimited has defaults that add more than they may. What is stored may get more.
func TestDefaultsAreLimited(t *testing.T) {
	const limit = 100 << 10
	for _, tt := range []struct {
		items   int
		written bool
		stored  bool
	}{{90, true, true}, {200, false, true}, {200_000, false, false}} {
		s, obj := growing(t, limit, tt.items)
		err := s.Default(context.Background(), obj)
		if (err == nil) != tt.written || err != nil && !strings.Contains(err.Error(), "the limit that --max-default-bytes sets is 102400") {
			t.Errorf("%d items: %v", tt.items, err)
		}
		given := 0
		for _, item := range obj["spec"].(map[string]any)["v"].([]any) {
			given += len(item.(map[string]any))
		}
		if given > 100 {
			t.Errorf("%d items: %d got the default", tt.items, given)
		}
		s, obj = growing(t, limit, tt.items)
		if err := s.DefaultStored(context.Background(), obj); (err == nil) != tt.stored {
			t.Errorf("%d items that are stored: %v", tt.items, err)
		}
	}
}

// TestDefaultsEnd has a client that left.
func TestDefaultsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, obj := growing(t, 1<<40, 10*stepsBetweenLooks)
	if err := s.Default(ctx, obj); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if last := obj["spec"].(map[string]any)["v"].([]any)[10*stepsBetweenLooks-1]; len(last.(map[string]any)) > 0 {
		t.Error("the last item got its default after the end")
	}
}

// TestHasUnknown compares hasUnknown with what the library's pruning finds.
func TestHasUnknown(t *testing.T) {
	text := structuralschema.Structural{Generic: structuralschema.Generic{Type: "string"}}
	object := func(properties map[string]structuralschema.Structural) structuralschema.Structural {
		return structuralschema.Structural{Properties: properties}
	}
	item := object(map[string]structuralschema.Structural{"name": text})
	free := object(map[string]structuralschema.Structural{"known": item})
	free.XPreserveUnknownFields = true
	list := structuralschema.Structural{Items: &item}
	freeList := structuralschema.Structural{Items: &item}
	freeList.XPreserveUnknownFields = true
	embedded := object(nil)
	embedded.XEmbeddedResource = true
	root := object(map[string]structuralschema.Structural{
		"text": text, "item": item, "free": free, "list": list, "freeList": freeList, "embedded": embedded,
		"map": {AdditionalProperties: &structuralschema.StructuralOrBool{Structural: &item}},
	})
	for _, body := range []string{
		`{}`, `{"kind":"A","metadata":{"x":1},"text":"a","item":{"name":"b"}}`, `{"other":1}`, `{"item":{"other":null}}`,
		`{"text":{"any":1}}`, `{"text":[{"any":1}]}`, `{"text":[{}]}`, `{"free":{"any":{"x":1},"known":{"name":"a"}}}`,
		`{"free":{"known":{"other":1}}}`, `{"list":[{"name":"a"},{"name":"b","other":1}]}`, `{"list":[[{"name":1}]]}`,
		`{"freeList":[{"other":1}]}`, `{"freeList":[[{"other":1}]]}`, `{"map":{"a":{"name":"b"}}}`, `{"map":{"a":{"b":1}}}`,
		`{"embedded":{"kind":"A","metadata":{"x":1}}}`, `{"embedded":{"spec":1}}`,
	} {
		var obj map[string]any
		if err := json.Unmarshal([]byte(body), &obj); err != nil {
			t.Fatal(err)
		}
		got := hasUnknown(obj, resourceRoot(&root))
		dropped := structuralpruning.PruneWithOptions(obj, &root, true,
			structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		if got != (len(dropped) > 0) {
			t.Errorf("%s: %v, but the library drops %v", body, got, dropped)
		}
	}
}

package schema

import (
	"context"
	"runtime"
	"strings"
	"testing"

	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/kx-apiserver/kx/core/trace"
)

// routeSchema is of the size and the kind of a route in an ingress API.
const routeSchema = `{type: object, required: [spec], x-kubernetes-validations: [{rule: "self.metadata.name.size() < 60"}], properties: {
	spec: {type: object, required: [hosts], x-kubernetes-validations: [{rule: "!has(self.weight) || self.weight < 100"}, {rule: "self.hosts.all(h, h != '*')"}, {rule: "!has(oldSelf.class) || self.class == oldSelf.class"}], properties: {
		class: {type: string, default: public, minLength: 1, maxLength: 63, pattern: "^[a-z]+$"},
		weight: {type: integer, minimum: 0, maximum: 1000, default: 1},
		timeout: {type: string, format: duration},
		hosts: {type: array, maxItems: 16, x-kubernetes-list-type: set, items: {type: string, maxLength: 253, pattern: "^[a-z.*]+$"}},
		rules: {type: array, maxItems: 16, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], x-kubernetes-validations: [{rule: "self.size() < 17"}],
			items: {type: object, required: [name], x-kubernetes-validations: [{rule: "!has(self.redirect) || !has(self.backends)", message: "either redirect or backends"}], properties: {
				name: {type: string, maxLength: 63}, path: {type: string, default: /, maxLength: 1024, x-kubernetes-validations: [{rule: "self.startsWith('/')"}]}, redirect: {type: string},
				match: {type: string, enum: [Exact, Prefix], default: Prefix},
				headers: {type: object, additionalProperties: {type: string, maxLength: 256}},
				backends: {type: array, maxItems: 16, items: {type: object, required: [service, port], properties: {
					service: {type: string, maxLength: 63}, port: {x-kubernetes-int-or-string: true}, weight: {type: integer, default: 1, minimum: 0, x-kubernetes-validations: [{rule: self <= 100}]}}}}}}}}},
	status: {type: object, properties: {ready: {type: boolean}, conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type], items: {type: object, required: [type], properties: {type: {type: string}, status: {type: string}}}}}}}}`

const route = `{metadata: {name: one, namespace: default, labels: {app: web, tier: front}, annotations: {note: a note}}, spec: {timeout: 10s, hosts: [a.example.com, b.example.com], rules: [
	{name: one, path: /one, headers: {x: b, z: a}, backends: [{service: one, port: 80}, {service: two, port: http, weight: 3}]},
	{name: two, match: Exact, backends: [{service: one, port: 80}]},
	{name: three, path: /three, redirect: "https://example.com/"}]}}`

func routeYAML() string { return strings.ReplaceAll(routeSchema, "\t", " ") }

func routeObject() string { return strings.ReplaceAll(route, "\t", " ") }

func routes(b testing.TB) (*Schema, map[string]any) {
	b.Helper()
	s := compile(b, routeYAML())
	obj := thing(b, routeObject())
	if errs := all(b, s, context.Background(), apiruntime.DeepCopyJSON(obj)); len(errs) > 0 {
		b.Fatal(errs)
	}
	return s, obj
}

// all does what is done to an object that a client sends.
func all(b testing.TB, s *Schema, ctx context.Context, obj map[string]any) field.ErrorList {
	if _, err := s.Prune(ctx, obj, PruneOptions{UnknownFieldPaths: true}); err != nil {
		b.Fatal(err)
	}
	s.Default(ctx, obj)
	return s.Validate(ctx, obj, ExtraErrors{})
}

// BenchmarkAll copies, prunes, defaults and validates an object, with nothing, steps and objects recorded: the journey's
// begin and end are within.
func BenchmarkAll(b *testing.B) {
	s, obj := routes(b)
	for _, bb := range []struct {
		name  string
		level trace.Level
		off   bool
	}{{"off", trace.Steps, true}, {"steps", trace.Steps, false}, {"objects", trace.Objects, false}} {
		b.Run(bb.name, func(b *testing.B) {
			r := trace.NewRecorder("p", trace.DefaultLimits)
			r.SetLevel(bb.level)
			b.ReportAllocs()
			for b.Loop() {
				copied, ctx := apiruntime.DeepCopyJSON(obj), context.Background()
				var j *trace.Journey
				if !bb.off {
					ctx, j = r.Begin(ctx, trace.Request{})
				}
				all(b, s, ctx, copied)
				if j != nil {
					j.Finish(trace.Response{})
				}
			}
		})
	}
}

// BenchmarkStages shows what each stage takes, nothing recorded.
func BenchmarkStages(b *testing.B) {
	s, obj := routes(b)
	ctx := context.Background()
	old := apiruntime.DeepCopyJSON(obj)
	all(b, s, ctx, obj)
	all(b, s, ctx, old)
	old["metadata"].(map[string]any)["labels"].(map[string]any)["app"] = "other"
	for name, f := range map[string]func(){
		"prune":    func() { s.Prune(ctx, obj, PruneOptions{}) },
		"default":  func() { s.Default(ctx, obj) },
		"validate": func() { s.Validate(ctx, obj, ExtraErrors{}) },
		"update":   func() { s.ValidateUpdate(ctx, obj, old, ExtraErrors{}) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}

// BenchmarkRules compares the rules alone with the library's validator of the whole schema.
func BenchmarkRules(b *testing.B) {
	s, obj := routes(b)
	all(b, s, context.Background(), obj)
	whole := schemacel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e := evaluation{ctx: context.Background(), budget: celconfig.RuntimeCELCostBudget}
			e.evaluate(s.rules().root, nil, obj, nil, relation{})
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			whole.Validate(context.Background(), nil, s.structural, obj, nil, celconfig.RuntimeCELCostBudget)
		}
	})
}

// BenchmarkCompile takes the schema from a definition to the first object's end. keptKB is what stays in memory.
func BenchmarkCompile(b *testing.B) {
	crd := definition(b, routeYAML())
	obj := thing(b, routeObject())
	routes(b) // what is compiled once a process
	for _, bb := range []struct {
		name string
		f    func(s *Schema)
	}{
		{"compile", func(*Schema) {}},
		{"and read", func(s *Schema) {
			obj := apiruntime.DeepCopyJSON(obj)
			s.Prune(context.Background(), obj, PruneOptions{Stored: true})
			s.Default(context.Background(), obj)
		}},
		{"and write", func(s *Schema) { all(b, s, context.Background(), apiruntime.DeepCopyJSON(obj)) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var kept []*Schema
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				s, err := Compile(crd, "v1", Limits{})
				if err != nil {
					b.Fatal(err)
				}
				bb.f(s)
				kept = append(kept, s)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1024/float64(len(kept)), "keptKB/op")
			runtime.KeepAlive(kept)
		})
	}
}

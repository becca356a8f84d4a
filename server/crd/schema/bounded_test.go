package schema

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// hostile is a schema and an object that give a stage as much to say as their size allows.
type hostile struct {
	name   string
	schema *Schema
	obj    map[string]any
	id     steps.ID
	// says is how the text of the step begins, empty if it has none.
	says string
	// fails is what the error of the stage begins with.
	fails string
}

// hostiles have n items, fields or names each.
func hostiles(t testing.TB, n int) []hostile {
	t.Helper()
	var props []string
	for i := range 300 {
		props = append(props, fmt.Sprintf("p%03d: {type: string, default: %s}", i, strings.Repeat("x", 100)))
	}
	wide := withSpec("{type: array, items: {default: {}, type: object, properties: {" + strings.Join(props, ", ") + "}}}")
	small := withSpec("{type: array, items: {type: object, properties: {a: {type: string, default: x}}}}")
	deep := withSpec("{type: object, additionalProperties: {type: object, properties: {a: {type: string}}, additionalProperties: {type: string}}}")
	known := withSpec("{type: object, additionalProperties: {type: object, properties: {a: {type: string}}}}")
	embedded := withSpec("{type: object, additionalProperties: {type: array, items: " +
		"{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}")
	empty, meta := make([]any, n), make([]any, n/20)
	for i := range empty {
		empty[i] = map[string]any{}
	}
	for i := range meta {
		meta[i] = map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a", "one": int64(1), "two": int64(1)}}
	}
	many := func(value any) map[string]any {
		out := map[string]any{}
		for i := range n {
			out[fmt.Sprintf("n%06d", i)] = value
		}
		return out
	}
	long := strings.Repeat("k", 8<<10)
	of := func(v any) map[string]any {
		meta := map[string]any{"name": "one"}
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": meta, "spec": map[string]any{"v": v}}
	}
	below := func(v any) map[string]any { return of(map[string]any{long: v}) }
	return []hostile{
		{"defaults above the limit", compile(t, wide), of(empty), steps.CRDDefault, "", "Request entity too large: the defaults of the schema would add"},
		{"defaults", compile(t, small), of(empty), steps.CRDDefault, fmt.Sprintf("defaults set, in all %d: spec.v[0].a, ", n), ""},
		{"nulls", compile(t, deep), below(many(nil)), steps.CRDPrune, fmt.Sprintf("nulls dropped where the schema allows none, in all %d: ", n), ""},
		{"unknown fields", compile(t, known), below(many("x")), steps.CRDPrune, fmt.Sprintf("unknown fields dropped, in all %d: ", n), ""},
		{"embedded metadata", compile(t, embedded), below(meta), steps.CRDPrune, fmt.Sprintf("unknown fields dropped, in all %d: ", 2*len(meta)), ""},
	}
}

func (h *hostile) run(ctx context.Context, obj map[string]any) (unknown []string, err error) {
	if h.id == steps.CRDDefault {
		return nil, h.schema.Default(ctx, obj)
	}
	return h.schema.Prune(ctx, obj, PruneOptions{UnknownFieldPaths: true})
}

// TestTextsAreBounded: a step names a few of however many fields, each cut, and clients are told of a bounded number. A step that fails by
// a limit says so, and does not look at what it did not do.
func TestTextsAreBounded(t *testing.T) {
	for _, h := range hostiles(t, 4000) {
		var unknown []string
		var err error
		all := journey(t, trace.Steps, func(ctx context.Context) { unknown, err = h.run(ctx, apiruntime.DeepCopyJSON(h.obj)) })
		if h.fails == "" && err != nil || h.fails != "" && (err == nil || !strings.HasPrefix(err.Error(), h.fails)) {
			t.Errorf("%s: %v", h.name, err)
		}
		why := all[0].Why
		if !strings.HasPrefix(why, h.says) || h.says == "" && why != "" || len(why) > 4<<10 || strings.Count(why, ", ") > trace.MaxListed {
			t.Errorf("%s: %d bytes of text: %.200s … %.100s", h.name, len(why), why, why[max(0, len(why)-100):])
		}
		if h.says != "" && !strings.HasSuffix(why, " more") {
			t.Errorf("%s: does not count the others: %.200s", h.name, why)
		}
		bytes := 0
		for _, path := range unknown {
			bytes += len(path)
		}
		if len(unknown) > maxUnknown || bytes > maxUnknown*(maxPath+3) {
			t.Errorf("%s: %d unknown fields of %d bytes are told", h.name, len(unknown), bytes)
		}
	}
}

// TestDefaultEndsAtLimit counts the values that are looked at after the limit was met.
func TestDefaultEndsAtLimit(t *testing.T) {
	const n = 4000
	h := hostiles(t, n)[0]
	d := defaulting{ctx: context.Background(), limit: 1 << 20, list: &trace.List{}}
	d.fill(h.schema.defaults(), h.obj, nil)
	if most := int64(1<<20) / 100; d.visits > 2*most {
		t.Errorf("%d values were looked at, though %d defaults meet the limit", d.visits, most)
	}
	if d.list.Count() > 1<<20/100+1 {
		t.Errorf("%d defaults are said to be set", d.list.Count())
	}
}

// BenchmarkHostile has each stage say as much as a body of some 100 KiB can make it say, recorded and not.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostiles(b, 10_000) {
		for _, recorded := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/recorded=%v", strings.ReplaceAll(h.name, " ", "-"), recorded), func(b *testing.B) {
				r := trace.NewRecorder("p", trace.DefaultLimits)
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					obj, ctx := apiruntime.DeepCopyJSON(h.obj), context.Background()
					var j *trace.Journey
					if recorded {
						ctx, j = r.Begin(ctx, trace.Request{})
					}
					b.StartTimer()
					_, _ = h.run(ctx, obj)
					if j != nil {
						j.Finish(trace.Response{})
					}
				}
			})
		}
	}
}

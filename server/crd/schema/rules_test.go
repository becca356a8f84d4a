package schema

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/warning"
)

// warnings collects warnings.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// ruleSchemas have rules at every kind of place.
var ruleSchemas = map[string]string{
	"scalars": `{type: object, properties: {spec: {type: object, properties: {
		a: {type: integer, x-kubernetes-validations: [{rule: self > 1}, {rule: self < 4, message: "big"}, {rule: self != oldSelf}]},
		b: {type: string, x-kubernetes-validations: [{rule: "self.startsWith('a')", reason: FieldValueForbidden}, {rule: ""}]},
		c: {type: boolean, nullable: true, x-kubernetes-validations: [{rule: self}]}}}}}`,
	"object and children": `{type: object, x-kubernetes-validations: [{rule: "self.metadata.name.size() < 10"}, {rule: "has(self.spec) || has(self.status)"}], properties: {
		spec: {type: object, x-kubernetes-validations: [{rule: "!has(self.a) || !has(self.b) || self.a < self.b", fieldPath: .a, messageExpression: "'a is ' + string(self.a)"}, {rule: "self.a > 0"}, {rule: "self == oldSelf"}],
			properties: {a: {type: integer, x-kubernetes-validations: [{rule: self > 1}]}, b: {type: integer, default: 3}}},
		status: {type: object, x-kubernetes-map-type: atomic, properties: {s: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf"}]}}}}}`,
	"lists": `{type: object, properties: {spec: {type: object, properties: {
		atomic: {type: array, x-kubernetes-validations: [{rule: "self.size() > 1"}], items: {type: object, properties: {v: {type: integer, x-kubernetes-validations: [{rule: self > 1}, {rule: self > oldSelf}]}}}},
		set: {type: array, x-kubernetes-list-type: set, items: {type: string, x-kubernetes-validations: [{rule: self != 'b'}, {rule: self == oldSelf}]}},
		map: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], x-kubernetes-validations: [{rule: "self.all(x, x.k != 'c')"}],
			items: {type: object, required: [k], x-kubernetes-validations: [{rule: "!has(self.v) || self.v < 3"}, {rule: "has(self.v) || !has(oldSelf.v)"}],
				properties: {k: {type: string}, v: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf}, {rule: self > 0}, {rule: "oldSelf.hasValue() ? self > oldSelf.value() : self == 1", optionalOldSelf: true}]}}}},
		map2: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, v], items: {type: object, required: [k, v], properties: {
			k: {type: string}, v: {type: integer}, a: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf}, {rule: self != 2}]}}}}}}}}`,
	"maps": `{type: object, properties: {spec: {type: object, properties: {
		granular: {type: object, additionalProperties: {type: object, x-kubernetes-validations: [{rule: "self.v > 1"}, {rule: self == oldSelf}], properties: {v: {type: integer}}}},
		atomic: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: integer, x-kubernetes-validations: [{rule: self > 1}, {rule: self == oldSelf}]}},
		deep: {type: object, additionalProperties: {type: array, items: {type: object, additionalProperties: {type: string, x-kubernetes-validations: [{rule: self != 'a'}]}}}}}}}}`,
	"allOf": `{type: object, x-kubernetes-validations: [{rule: "true"}], properties: {spec: {type: object, properties: {a: {type: integer}, b: {type: string}, l: {type: array, items: {type: integer}}, m: {type: object, additionalProperties: {type: integer}}},
		allOf: [{minProperties: 0}, {x-kubernetes-validations: [{rule: "self.a > 1"}, {rule: "self == oldSelf"}],
			properties: {a: {x-kubernetes-validations: [{rule: self > 2}]}, l: {items: {x-kubernetes-validations: [{rule: self > 1}]}}, m: {additionalProperties: {x-kubernetes-validations: [{rule: self > 1}]}}},
			allOf: [{properties: {b: {x-kubernetes-validations: [{rule: self != 'a'}]}}}]}]}}}`,
	"embedded": `{type: object, properties: {spec: {type: object, properties: {
		r: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, properties: {v: {type: integer}},
			x-kubernetes-validations: [{rule: "self.kind == 'a'"}, {rule: "self.metadata.name == oldSelf.metadata.name"}, {rule: "self.v > 1"}]},
		rs: {type: array, items: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: "self.apiVersion == 'a'"}]}}}}}}`,
	"without types": `{type: object, properties: {spec: {type: object, properties: {
		i: {x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: self > 1}, {rule: "type(self) == string"}]},
		u: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: "self.a > 1"}]},
		p: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: "self.a > 1"}]},
		"a b": {type: object, properties: {"c d": {type: integer, x-kubernetes-validations: [{rule: self > 1}]}, u: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: "true"}]}}},
		l: {type: array, items: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: "true"}]}}}}}}`,
	"broken rules": `{type: object, properties: {spec: {type: object, properties: {
		a: {type: integer, x-kubernetes-validations: [{rule: self > nothing}, {rule: self + 1}, {rule: self / 0 > 1, message: "  dividing  "}, {rule: self > 1, messageExpression: "self"}, {rule: self > 1, fieldPath: .nowhere}]}}}}}`,
	"messages": `{type: object, properties: {spec: {type: object, properties: {
		a: {type: integer, x-kubernetes-validations: [{rule: self > 9, messageExpression: "'a is ' + string(self)"}, {rule: self > 9, message: " m ", messageExpression: "' '"}, {rule: self > 9, messageExpression: "'a\nb'"},
			{rule: self > 9, messageExpression: "string(1/(self - self))"}, {rule: "oldSelf.hasValue()", optionalOldSelf: true, messageExpression: "'was ' + string(oldSelf.value())"}, {rule: self > oldSelf, messageExpression: "'was ' + string(oldSelf)"}]},
		b: {type: string, x-kubernetes-validations: [{rule: "false", messageExpression: "self + self", reason: FieldValueRequired}, {rule: "false", reason: FieldValueDuplicate}]}}}}}`,
	"formats": `{type: object, properties: {spec: {type: object, properties: {
		b: {type: string, format: date-time, x-kubernetes-validations: [{rule: "self < timestamp('2025-01-01T00:00:00Z')"}]},
		a: {type: string, format: duration, x-kubernetes-validations: [{rule: "self > duration('1h')"}]},
		c: {type: string, x-kubernetes-validations: [{rule: "isURL(self)"}, {rule: "quantity(self).isLessThan(quantity('1Gi'))"}, {rule: "ip(self).family() == 4"}, {rule: "self.matches('^a')"}]}}}}}`,
}

// randomValue makes a value that a schema may or may not allow.
func randomValue(r *rand.Rand, s *structuralschema.Structural, depth int) any {
	if s == nil || depth > 8 {
		return "a"
	}
	if r.IntN(40) == 0 {
		return []any{nil, "a", int64(1), map[string]any{"a": int64(1)}, []any{"a"}}[r.IntN(5)]
	}
	switch {
	case s.XIntOrString:
		return []any{int64(1), "a"}[r.IntN(2)]
	case s.Type == "integer":
		return int64(r.IntN(5))
	case s.Type == "number":
		return r.Float64()
	case s.Type == "boolean":
		return r.IntN(2) == 0
	case s.Type == "string":
		return []string{"a", "b", "c", "abc", "2024-01-01T00:00:00Z", "2h", "1.2.3.4", "10Mi", "http://a.b/"}[r.IntN(9)]
	case s.Type == "array":
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, s.Items, depth+1)
		}
		return list
	}
	obj := map[string]any{}
	if s.XEmbeddedResource {
		obj["apiVersion"], obj["kind"], obj["metadata"] = "a", "a", map[string]any{"name": string(rune('a' + r.IntN(2)))}
	}
	for name, prop := range s.Properties {
		if r.IntN(4) != 0 {
			obj[name] = randomValue(r, &prop, depth+1)
		}
	}
	if sub := additional(s); sub != nil {
		for range r.IntN(3) {
			obj[string(rune('a'+r.IntN(4)))] = randomValue(r, sub, depth+1)
		}
	}
	return obj
}

// changed is the value with a part of it made anew.
func changed(r *rand.Rand, s *structuralschema.Structural, value any) any {
	if s == nil || r.IntN(5) == 0 {
		return randomValue(r, s, 0)
	}
	switch value := value.(type) {
	case map[string]any:
		for name := range value {
			if prop, ok := s.Properties[name]; ok && r.IntN(2) == 0 {
				value[name] = changed(r, &prop, value[name])
			} else if sub := additional(s); sub != nil && r.IntN(2) == 0 {
				value[name] = changed(r, sub, value[name])
			}
		}
	case []any:
		for i := range value {
			if r.IntN(2) == 0 {
				value[i] = changed(r, s.Items, value[i])
			}
		}
		r.Shuffle(len(value), func(i, j int) { value[i], value[j] = value[j], value[i] })
	}
	return value
}

func randomThing(r *rand.Rand, s *structuralschema.Structural) map[string]any {
	obj, _ := randomValue(r, s, 0).(map[string]any)
	return withMeta(obj)
}

func withMeta(obj map[string]any) map[string]any {
	if obj == nil {
		obj = map[string]any{}
	}
	obj["apiVersion"], obj["kind"], obj["metadata"] = "example.com/v1", "Thing", map[string]any{"name": "one"}
	return obj
}

// ruled is what came of an object by the rules of its schema.
type ruled struct {
	errs, warnings []string
	budget         int64
}

func (r ruled) String() string {
	return fmt.Sprintf("errors:\n%s\nwarnings:\n%s\nbudget: %d", strings.Join(r.errs, "\n"), strings.Join(r.warnings, "\n"), r.budget)
}

func byUs(s *Schema, obj, old map[string]any, budget int64) ruled {
	var w warnings
	e := evaluation{ctx: warning.WithWarningRecorder(context.Background(), &w), budget: budget}
	var rel relation
	if old != nil {
		rel.current = s.correlate(obj, old)
	}
	if r := s.rules(); r != nil {
		e.evaluate(r.root, nil, obj, oldValue(old), rel)
	}
	return sorted(lines(e.errs), w, e.budget)
}

func byLibrary(s *Schema, v *schemacel.Validator, obj, old map[string]any, budget int64) ruled {
	var w warnings
	ctx := warning.WithWarningRecorder(context.Background(), &w)
	var options []schemacel.Option
	if old != nil {
		options = append(options, schemacel.WithRatcheting(s.correlate(obj, old)))
	}
	errs, left := v.Validate(ctx, nil, s.structural, obj, oldValue(old), budget, options...)
	return sorted(lines(errs), w, left)
}

func sorted(errs string, w warnings, budget int64) ruled {
	r := ruled{errs: strings.Split(errs, "\n"), warnings: w, budget: budget}
	slices.Sort(r.errs)
	slices.Sort(r.warnings)
	return r
}

// sameAsLibrary fails the test unless both say the same. The library is asked again if they differ: which of several
// faults a rule like self == oldSelf finds first depends on the order in which Go goes through a map.
func sameAsLibrary(t testing.TB, s *Schema, whole *schemacel.Validator, obj, old map[string]any) (want ruled) {
	t.Helper()
	got := byUs(s, obj, old, celconfig.RuntimeCELCostBudget)
	for range 50 {
		if want = byLibrary(s, whole, obj, old, celconfig.RuntimeCELCostBudget); got.String() == want.String() {
			return want
		}
	}
	t.Fatalf("object %s\nold %s\ngot\n%s\nthe library\n%s", asJSON(t, obj), asJSON(t, old), got, want)
	return want
}

// TestRulesAsLibrary compares the rules' errors, warnings and cost with those of the library's validator of the whole
// schema, on objects new and changed.
func TestRulesAsLibrary(t *testing.T) {
	const objects = 400
	for name, text := range ruleSchemas {
		t.Run(name, func(t *testing.T) {
			s := compile(t, strings.ReplaceAll(text, "\t", " "))
			whole := schemacel.NewValidator(s.structural, true, celconfig.PerCallLimit)
			r := rand.New(rand.NewPCG(1, 2))
			broken := 0
			for range objects {
				old := randomThing(r, s.structural)
				obj, _ := changed(r, s.structural, runtime.DeepCopyJSON(old)).(map[string]any)
				obj = withMeta(obj)
				for _, old := range []map[string]any{nil, old} {
					want := sameAsLibrary(t, s, whole, obj, old)
					if len(want.errs) > 1 || want.errs[0] != "" {
						broken++
					}
				}
			}
			if broken == 0 || broken == 2*objects {
				t.Errorf("%d of %d objects broke rules: the comparison says little", broken, 2*objects)
			}
		})
	}
}

// TestBudgetAsLibrary lets the budget run out at every point there is, in schemas that have only one order.
func TestBudgetAsLibrary(t *testing.T) {
	for _, tt := range []struct{ schema, obj, old string }{
		{`{type: object, x-kubernetes-validations: [{rule: "self.metadata.name != 'a'"}, {rule: "self.metadata.name == 'a'", messageExpression: "self.metadata.name + ' is wrong'"}, {rule: "self.metadata.name.size() < 10"}]}`, `{}`, ``},
		{withSpec(`{type: array, x-kubernetes-validations: [{rule: "self.all(x, x > 0)"}], items: {type: integer, x-kubernetes-validations: [{rule: self > 1}, {rule: "self > 2", messageExpression: "string(self)"}]}}`), `{spec: {v: [1, 2, 3]}}`, ``},
		{withSpec(`{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, v: {type: integer, x-kubernetes-validations: [{rule: self > oldSelf}, {rule: "true"}, {rule: self > 5}]}}}}`),
			`{spec: {v: [{k: a, v: 1}, {k: b, v: 2}]}}`, `{spec: {v: [{k: b, v: 2}, {k: a, v: 2}]}}`},
		{withSpec(`{type: object, properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: "true"}, {rule: self.a > 1}], allOf: [{x-kubernetes-validations: [{rule: self.a > 2}]}, {properties: {a: {x-kubernetes-validations: [{rule: self > 3}]}}}]}`), `{spec: {v: {a: 1}}}`, ``},
	} {
		s := compile(t, tt.schema)
		whole := schemacel.NewValidator(s.structural, true, celconfig.PerCallLimit)
		obj := thing(t, tt.obj)
		var old map[string]any
		if tt.old != "" {
			old = thing(t, tt.old)
		}
		enough := 0
		for budget := int64(0); enough < 3; budget++ {
			want := byLibrary(s, whole, obj, old, budget)
			if got := byUs(s, obj, old, budget); got.String() != want.String() {
				t.Errorf("%s\nobject %s\nbudget %d: got\n%s\nthe library\n%s", tt.schema, tt.obj, budget, got, want)
			}
			if want.budget >= 0 {
				enough++
			}
		}
	}
}

func TestRulesOnlyWithinAllOfAreNone(t *testing.T) {
	s := compile(t, withSpec(`{type: integer, allOf: [{x-kubernetes-validations: [{rule: self > 1}]}]}`))
	if schemacel.NewValidator(s.structural, true, celconfig.PerCallLimit) != nil || s.rules() != nil {
		t.Error("rules that are only within an allOf were found: by us or by the library")
	}
}

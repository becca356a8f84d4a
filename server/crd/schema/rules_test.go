package schema

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/server/internal/schematest"
)

// warnings collects warnings.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

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
	for name, text := range schematest.Schemas {
		t.Run(name, func(t *testing.T) {
			s := compile(t, strings.ReplaceAll(text, "\t", " "))
			whole := schemacel.NewValidator(s.structural, true, celconfig.PerCallLimit)
			r := rand.New(rand.NewPCG(1, 2))
			broken := 0
			for range objects {
				old := schematest.Object(r, s.structural)
				obj := schematest.Changed(r, s.structural, old)
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

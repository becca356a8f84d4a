package schema

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/trace"
)

// journey runs f with a context that is recorded, and returns the steps.
func journey(t testing.TB, level trace.Level, f func(ctx context.Context)) []trace.StepRecord {
	t.Helper()
	r := trace.NewRecorder("p", trace.DefaultLimits)
	r.SetLevel(level)
	ctx, j := r.Begin(context.Background(), trace.Request{Method: "POST", URI: "/"})
	f(ctx)
	j.Finish(trace.Response{Code: 201})
	return j.Record().Steps
}

// told is what steps tell, a line each.
func told(steps []trace.StepRecord) string {
	var out strings.Builder
	for _, s := range steps {
		if s.Parent >= 0 {
			out.WriteString("  ")
		}
		fmt.Fprintf(&out, "%s %s: %s", s.ID, s.Subject, s.Why)
		for _, a := range s.Attrs {
			if a.IsInt {
				fmt.Fprintf(&out, " %s=%d", a.Name, a.Int)
			} else {
				fmt.Fprintf(&out, " %s=%q", a.Name, a.Text)
			}
		}
		if s.Error != "" {
			fmt.Fprintf(&out, " ! %s", s.Error)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func expect(t *testing.T, steps []trace.StepRecord, want string) {
	t.Helper()
	if got, want := told(steps), strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStepsOfPruneAndDefault(t *testing.T) {
	s := web(t)
	steps := journey(t, trace.Objects, func(ctx context.Context) {
		for _, text := range []string{`{spec: {bar: 1, foo: 2, size: null, replicas: null}}`, `{spec: {size: null, replicas: 1, image: a, ports: []}}`, `{metadata: {horse: 1}}`, `{metadata: 1}`} {
			obj := thing(t, text)
			if _, err := s.Prune(ctx, obj, PruneOptions{}); err == nil {
				s.Default(ctx, obj)
			}
		}
	})
	expect(t, steps, `
crd.prune Thing: dropped 2 unknown fields, and 1 nulls where the schema allows none: spec.bar, spec.foo; spec.size
crd.default Thing: defaults set, in all 3: spec.image, spec.ports, spec.replicas
crd.prune Thing: nulls dropped where the schema allows none, in all 1: spec.size
crd.default Thing: no default is set: every field that has one is there
crd.prune Thing: unknown fields dropped, in all 1: metadata.horse
crd.default Thing: defaults set, in all 1: spec
crd.prune Thing:  ! json: cannot unmarshal number into Go value of type v1.ObjectMeta
`)
	for i, want := range []struct{ before, after string }{
		{`"bar":1`, `"spec":{"replicas":null}`},
		{`"spec":{"replicas":null}`, `"spec":{"image":"none","ports":[{"name":"web","port":80}],"replicas":1}`},
	} {
		if before, after := string(steps[i].Before), string(steps[i].After); !strings.Contains(before, want.before) || !strings.Contains(after, want.after) {
			t.Errorf("%s: before %s, after %s, want %s, %s", steps[i].ID, before, after, want.before, want.after)
		}
	}
	many := thing(t, `{a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, l: 1}`)
	expect(t, journey(t, trace.Steps, func(ctx context.Context) { s.Prune(ctx, many, PruneOptions{}) }), `
crd.prune Thing: unknown fields dropped, in all 12: a, b, c, d, e, f, g, h, i, j and 2 more
`)
}

const ruledSchema = `{type: object, x-kubernetes-validations: [{rule: "self.metadata.name != ''"}], properties: {
	spec: {type: object, x-kubernetes-validations: [{rule: "self.min <= self.max", message: min is above max}, {rule: "self == oldSelf", message: spec can't change}], properties: {min: {type: integer, maximum: 9}, max: {type: integer, x-kubernetes-validations: [{rule: self < 5}]},
		items: {type: array, items: {type: string, maxLength: 3, x-kubernetes-validations: [{rule: self != 'b'}]}}}},
	status: {type: object, properties: {phase: {type: string, x-kubernetes-validations: [{rule: self != 'x'}]}}}}}`

func TestStepsOfValidate(t *testing.T) {
	s := compile(t, strings.ReplaceAll(ruledSchema, "\t", " "))
	steps := journey(t, trace.Objects, func(ctx context.Context) {
		s.Validate(ctx, thing(t, `{spec: {min: 3, max: 2, items: [a, b]}}`), ExtraErrors{})
	})
	expect(t, steps, `
crd.validate Thing: schema errors: 0; rules: 3 held, 2 failed, 1 skipped, 1 not reached cost=14 ! [spec: Invalid value: min is above max, spec.items[1]: Invalid value: "b": failed rule: self != 'b']
  crd.cel .: held rule="self.metadata.name != ''" cost=3
  crd.cel spec: failed rule="self.min <= self.max" cost=5 ! spec: Invalid value: min is above max
  crd.cel spec: not evaluated: the rule is about a change, and there is no old value rule="self == oldSelf" cost=0
  crd.cel spec.items[0]: held rule="self != 'b'" cost=2
  crd.cel spec.items[1]: failed rule="self != 'b'" cost=2 ! spec.items[1]: Invalid value: "b": failed rule: self != 'b'
  crd.cel spec.max: held rule="self < 5" cost=2
  crd.cel status.phase: not reached: the object has nothing at status.phase rule="self != 'x'"
`)
	if steps[0].Before != nil || !strings.Contains(string(steps[0].After), `"min":3`) {
		t.Errorf("before %s, after %s", steps[0].Before, steps[0].After)
	}
	steps = journey(t, trace.Objects, func(ctx context.Context) {
		s.ValidateUpdate(ctx, thing(t, `{spec: {min: 1, max: 7}}`), thing(t, `{spec: {min: 2, max: 7}}`), ExtraErrors{})
	})
	expect(t, steps, `
crd.validate Thing: schema errors: 0; rules: 2 held, 1 failed, 1 failed for values that are as they were, 2 not reached cost=13 ! spec: Invalid value: spec can't change
  crd.cel .: held rule="self.metadata.name != ''" cost=3
  crd.cel spec: held rule="self.min <= self.max" cost=5
  crd.cel spec: failed rule="self == oldSelf" cost=3 ! spec: Invalid value: spec can't change
  crd.cel spec.max: failed, but the value is as it was before: only a warning: spec.max: Invalid value: 7: failed rule: self < 5 rule="self < 5" cost=2
  crd.cel spec.items[*]: not reached: the object has nothing at spec.items[*] rule="self != 'b'"
  crd.cel status.phase: not reached: the object has nothing at status.phase rule="self != 'x'"
`)
	if !strings.Contains(string(steps[0].Before), `"min":2`) || !strings.Contains(string(steps[0].After), `"min":1`) {
		t.Errorf("before %s, after %s", steps[0].Before, steps[0].After)
	}
	expect(t, journey(t, trace.Steps, func(ctx context.Context) {
		s.Validate(ctx, thing(t, `{spec: {min: 1, max: a}}`), ExtraErrors{})
	}), `
crd.validate Thing: schema errors: 1; that keeps its 6 rules from being evaluated ! [spec.max: Invalid value: "string": spec.max in body must be of type integer: "string", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]
`)
	expect(t, journey(t, trace.Steps, func(ctx context.Context) { web(t).Validate(ctx, thing(t, `{}`), ExtraErrors{}) }), `
crd.validate Thing: schema errors: 0; the schema has no rules
`)
}

// TestStepsAreBounded evaluates a rule more often than is shown, and more rules.
func TestStepsAreBounded(t *testing.T) {
	var rules []string
	for i := range 70 {
		rules = append(rules, fmt.Sprintf("{rule: 'self.size() != %d'}", i))
	}
	s := compile(t, withSpec("{type: array, x-kubernetes-validations: ["+strings.Join(rules, ", ")+"], items: {type: integer, x-kubernetes-validations: [{rule: self > 0}]}}"))
	all := journey(t, trace.Steps, func(ctx context.Context) { s.Validate(ctx, thing(t, `{spec: {v: [1, 2]}}`), ExtraErrors{}) })
	if len(all) != 1+maxRuleSteps || !strings.HasSuffix(all[0].Why, "; rules: 71 held, 1 failed, 8 of these not shown") {
		t.Errorf("%d steps; %s", len(all), all[0].Why)
	}
	s = compile(t, withSpec("{type: array, items: {type: integer, x-kubernetes-validations: [{rule: self > 0}, {rule: self > 1}]}}"))
	all = journey(t, trace.Steps, func(ctx context.Context) {
		s.Validate(ctx, thing(t, `{spec: {v: [1, 2, 3, 4, 5, 6, 7, 8, 9]}}`), ExtraErrors{})
	})
	if len(all) != 1+2*maxSameRule || !strings.HasSuffix(all[0].Why, "; rules: 17 held, 1 failed, 10 of these not shown") {
		t.Errorf("%d steps; %s", len(all), all[0].Why)
	}
	// A rule that costs too much lets those after it not be reached.
	s = compile(t, withSpec(`{type: object, properties: {l: {type: array, items: {type: integer}}, z: {type: integer, x-kubernetes-validations: [{rule: self > 0}]}}, x-kubernetes-validations: [{rule: "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d > 0))))"}]}`))
	numbers := strings.TrimSuffix(strings.Repeat("1, ", 40), ", ")
	all = journey(t, trace.Steps, func(ctx context.Context) {
		s.Validate(ctx, thing(t, `{spec: {v: {z: 1, l: [`+numbers+`]}}}`), ExtraErrors{})
	})
	if len(all) != 3 || !strings.Contains(all[1].Error, "actual cost limit exceeded") || all[2].Reason != ruleAfterLimit {
		t.Errorf("got\n%s", told(all))
	}
}

package schema

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
)

// The errors, and the warnings, of a change of spec.v.
var updateTests = []struct{ name, v, old, value, want, warnings string }{
	{"bad, and was bad", `{type: string, maxLength: 2}`, `abc`, `abc`, ``, ``},
	{"bad, and was bad in another way", `{type: string, maxLength: 2}`, `abc`, `abcd`, `spec.v: Too long: may not be more than 2 bytes`, ``},
	{"bad, and was good", `{type: string, maxLength: 2}`, `ab`, `abc`, `spec.v: Too long: may not be more than 2 bytes`, ``},
	{"beside what was changed", `{type: object, properties: {a: {type: string, maxLength: 2}, b: {type: integer}}}`, `{a: abc, b: 1}`, `{a: abc, b: 2}`, ``, ``},
	{"required, and was missing", `{type: object, required: [a], properties: {a: {type: string}, b: {type: integer}}}`, `{b: 1}`, `{b: 1}`, ``, ``},
	{"required, beside what was changed", `{type: object, required: [a], properties: {a: {type: string}, b: {type: integer}}}`, `{b: 1}`, `{b: 2}`, `spec.v.a: Required value`, ``},
	{"item of an atomic list", `{type: array, items: {type: string, maxLength: 2}}`, `[abc]`, `[abc, a]`, `spec.v[0]: Too long: may not be more than 2 bytes`, ``},
	{"item of a map list", `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, v: {type: string, maxLength: 2}}}}`,
		`[{k: a, v: abc}]`, `[{k: b, v: abc}, {k: a, v: abc}]`, `spec.v[0].v: Too long: may not be more than 2 bytes`, ``},
	{"enum that lost a value", `{type: string, enum: [a]}`, `b`, `b`, ``, ``},
	{"set with duplicates, as before", `{type: array, x-kubernetes-list-type: set, items: {type: string}}`, `[a, a]`, `[a, a, b, b]`, ``, ``},
	{"set with new duplicates", `{type: array, x-kubernetes-list-type: set, items: {type: string}}`, `[a]`, `[a, a]`, `spec.v[1]: Duplicate value: "a"`, ``},
	{"embedded resource, bad as before", `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`, `{a: 1}`, `{a: 1}`,
		"spec.v.apiVersion: Required value\nspec.v.kind: Required value", ``},
	{"allOf, as before", `{type: string, allOf: [{maxLength: 2}]}`, `abc`, `abc`, ``, ``},
	{"rule about a change", `{type: integer, x-kubernetes-validations: [{rule: self > oldSelf, message: grow}]}`, `2`, `2`, `spec.v: Invalid value: 2: grow`, ``},
	{"rule about a change that holds", `{type: integer, x-kubernetes-validations: [{rule: self > oldSelf, message: grow}]}`, `2`, `3`, ``, ``},
	{"rule about a change of what is new", `{type: object, properties: {a: {type: integer, x-kubernetes-validations: [{rule: self > oldSelf}]}}}`, `{}`, `{a: 1}`, ``, ``},
	{"rule with optionalOldSelf", `{type: integer, x-kubernetes-validations: [{rule: "!oldSelf.hasValue() || self > oldSelf.value()", optionalOldSelf: true}]}`, `2`, `1`,
		`spec.v: Invalid value: 1: failed rule: !oldSelf.hasValue() || self > oldSelf.value()`, ``},
	{"rule with optionalOldSelf, as before", `{type: integer, x-kubernetes-validations: [{rule: "self > 3 && (!oldSelf.hasValue() || true)", optionalOldSelf: true}]}`, `2`, `2`,
		`spec.v: Invalid value: 2: failed rule: self > 3 && (!oldSelf.hasValue() || true)`, ``},
	{"rule broken as before", `{type: integer, x-kubernetes-validations: [{rule: self > 3}]}`, `2`, `2`, ``, `spec.v: Invalid value: 2: failed rule: self > 3`},
	{"rule broken anew", `{type: integer, x-kubernetes-validations: [{rule: self > 3}]}`, `2`, `1`, `spec.v: Invalid value: 1: failed rule: self > 3`, ``},
	{"rule that fails as before", `{type: integer, x-kubernetes-validations: [{rule: 1 / self > 0}]}`, `0`, `0`, `spec.v: Invalid value: "integer": division by zero evaluating rule: 1 / self > 0`, ``},
	{"rule in a map list", `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, v: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf}, {rule: self < 9}]}}}}`,
		`[{k: a, v: 3}, {k: b, v: 9}]`, `[{k: b, v: 9}, {k: a, v: 2}, {k: c, v: 1}]`, `spec.v[1].v: Invalid value: 2: failed rule: self >= oldSelf`, `spec.v[0].v: Invalid value: 9: failed rule: self < 9`},
	{"rule about a change in an atomic list", `{type: array, items: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf}]}}`, `[2]`, `[1]`, ``, ``},
	{"rule about a change in a map", `{type: object, additionalProperties: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf}]}}`, `{a: 2, b: 1}`, `{a: 1, b: 1}`, `spec.v[a]: Invalid value: 1: failed rule: self >= oldSelf`, ``},
	{"rule within allOf, broken as before", `{type: integer, x-kubernetes-validations: [{rule: "true"}], allOf: [{x-kubernetes-validations: [{rule: self > 3}]}]}`, `2`, `2`,
		``, `spec.v: Invalid value: 2: failed rule: self > 3`},
	{"rule within allOf, broken as before beside what was changed", `{type: object, properties: {a: {type: integer}, b: {type: integer}}, x-kubernetes-validations: [{rule: "true"}], allOf: [{properties: {a: {x-kubernetes-validations: [{rule: self > 3}]}}}]}`, `{a: 2, b: 1}`, `{a: 2, b: 2}`,
		`spec.v.a: Invalid value: 2: failed rule: self > 3`, ``},
	{"rule blocked", `{type: object, required: [b], properties: {a: {type: integer}, b: {type: string}}, x-kubernetes-validations: [{rule: self.a > 1}]}`, `{a: 1, b: x}`, `{a: 1}`,
		"spec.v.b: Required value\n<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation", ``},
}

func TestValidateUpdate(t *testing.T) {
	for _, tt := range updateTests {
		t.Run(tt.name, func(t *testing.T) {
			s := compile(t, withSpec(tt.v))
			var w warnings
			ctx := warning.WithWarningRecorder(context.Background(), &w)
			// A label makes each object differ from its old one as a whole.
			got := lines(s.ValidateUpdate(ctx, thing(t, "{metadata: {name: one, labels: {a: b}}, spec: {v: "+tt.value+"}}"), thing(t, "{spec: {v: "+tt.old+"}}"), ExtraErrors{}))
			if got != tt.want {
				t.Errorf("of %s, before %s, with\n%s\ngot\n%s\nwant\n%s", tt.value, tt.old, tt.v, got, tt.want)
			}
			if got := strings.Join(w, "\n"); got != tt.warnings {
				t.Errorf("warnings\n%s\nwant\n%s", got, tt.warnings)
			}
		})
	}
}

func TestValidateStatusUpdate(t *testing.T) {
	s := compile(t, `{type: object, properties: {
  spec: {type: object, required: [a], properties: {a: {type: integer, x-kubernetes-validations: [{rule: self > 1}]}}},
  status: {type: object, required: [phase], properties: {phase: {type: string, maxLength: 3}, count: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf}]},
    set: {type: array, x-kubernetes-list-type: set, items: {type: string}},
    r: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}}}`)
	const blocked = "\n<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
	for _, tt := range []struct{ name, old, obj, want string }{
		{"good", `{spec: {a: 2}, status: {phase: a}}`, `{spec: {a: 2}, status: {phase: b}}`, ``},
		{"none", `{spec: {a: 2}, status: {phase: a}}`, `{spec: {a: 2}}`, ``},
		{"bad", `{spec: {a: 2}}`, `{spec: {a: 2}, status: {phase: abcd}}`, `status.phase: Too long: may not be more than 3 bytes` + blocked},
		{"bad as before", `{spec: {a: 2}, status: {phase: abcd, count: 1}}`, `{spec: {a: 2}, status: {phase: abcd, count: 2}}`, ``},
		{"required", `{spec: {a: 2}}`, `{spec: {a: 2}, status: {}}`, `status.phase: Required value` + blocked},
		{"the spec's schema does not count", `{spec: {}}`, `{spec: {}, status: {phase: a}}`, ``},
		{"the spec's rules do", `{spec: {a: 5}}`, `{spec: {a: 1}, status: {phase: a}}`, `spec.a: Invalid value: 1: failed rule: self > 1`},
		{"rule about a change", `{spec: {a: 2}, status: {phase: a, count: 2}}`, `{spec: {a: 2}, status: {phase: a, count: 1}}`, `status.count: Invalid value: 1: failed rule: self >= oldSelf`},
		{"set", `{spec: {a: 2}}`, `{spec: {a: 2}, status: {phase: a, set: [a, a]}}`, `status.set[1]: Duplicate value: "a"`},
		{"embedded resources are not looked at", `{spec: {a: 2}}`, `{spec: {a: 2}, status: {phase: a, r: {}}}`, ``},
	} {
		if got := lines(s.ValidateStatusUpdate(context.Background(), thing(t, tt.obj), thing(t, tt.old), ExtraErrors{})); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestKindAndOthers(t *testing.T) {
	s := compile(t, `{type: object, required: [spec], properties: {spec: {type: object}, l: {type: array, x-kubernetes-list-type: set, items: {type: string}}}, x-kubernetes-validations: [{rule: "false"}]}`)
	others := ExtraErrors{
		Metadata: field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), "x", "no")},
		Scale:    field.ErrorList{field.Invalid(field.NewPath(".spec.replicas"), -1, "no")},
	}
	const name, spec, scale, set, rule = `metadata.name: Invalid value: "x": no`, `spec: Required value`, `.spec.replicas: Invalid value: -1: no`, `l[1]: Duplicate value: "a"`, `<nil>: Invalid value: failed rule: false`
	const blocked = `<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`
	for _, tt := range []struct {
		name, obj string
		want      []string
	}{
		{"the order", `{l: [a, a]}`, []string{name, spec, scale, set, blocked}},
		{"others don't block rules", `{spec: {}}`, []string{name, scale, rule}},
		{"a wrong kind keeps the schema out, not the rest", `{kind: That, apiVersion: example.com/v2, l: [a, a]}`,
			[]string{`kind: Invalid value: "That": must be Thing`, `apiVersion: Invalid value: "example.com/v2": must be example.com/v1`, set, rule}},
	} {
		if got := lines(s.Validate(context.Background(), thing(t, tt.obj), others)); got != strings.Join(tt.want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, strings.Join(tt.want, "\n"))
		}
	}
	if got, want := lines(s.ValidateStatusUpdate(context.Background(), thing(t, `{}`), thing(t, `{a: b}`), others)), strings.Join([]string{name, scale, rule}, "\n"); got != want {
		t.Errorf("status: got\n%s\nwant\n%s", got, want)
	}
}

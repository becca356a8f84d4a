// Package schematest makes schemas and objects for tests: those of package schema, and those that compare it with
// upstream. What comes in: a source of random numbers, and a schema. What goes out: objects that have something to do
// with the schema, so that a good part of them breaks some rule and another part breaks none.
package schematest

import (
	"maps"
	"math/rand/v2"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
)

// Schemas have rules at every kind of place, and of every kind.
var Schemas = map[string]string{
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
	"keywords": `{type: object, properties: {
		spec: {type: object, required: [a], properties: {
			a: {type: string, maxLength: 2}, b: {type: string, enum: [a, abc]}, c: {type: string, pattern: "^a", minLength: 2}, d: {type: string, format: ipv4}, e: {type: string, format: date-time},
			f: {type: integer, minimum: 1, maximum: 3, exclusiveMaximum: true, x-kubernetes-validations: [{rule: "self != 2 || oldSelf == 1", optionalOldSelf: false}]},
			g: {type: integer, multipleOf: 2, nullable: true}, h: {type: array, maxItems: 2, minItems: 1, items: {type: string, maxLength: 2}},
			i: {type: object, minProperties: 1, maxProperties: 2, additionalProperties: {type: integer, maximum: 2}}, j: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: "^a"},
			k: {type: string, oneOf: [{pattern: a}, {pattern: c}], not: {enum: [b]}}, l: {type: string, allOf: [{maxLength: 3}, {pattern: "[a-c]"}], anyOf: [{maxLength: 1}, {minLength: 3}]}}},
		status: {type: object, required: [b], properties: {a: {type: string, maxLength: 2}, b: {type: integer, minimum: 2},
			set: {type: array, x-kubernetes-list-type: set, items: {type: string}},
			map: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, v: {type: string, maxLength: 2}}}},
			r: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}}}`,
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

// Object makes an object, of the kind Thing in example.com/v1, that a schema may or may not allow.
func Object(r *rand.Rand, s *structuralschema.Structural) map[string]any {
	obj, _ := value(r, s, 0).(map[string]any)
	return withMeta(obj)
}

// Changed makes another object of an object, of which it leaves parts as they are.
func Changed(r *rand.Rand, s *structuralschema.Structural, obj map[string]any) map[string]any {
	obj, _ = changed(r, s, runtime.DeepCopyJSON(obj)).(map[string]any)
	return withMeta(obj)
}

// value makes a value that a schema may or may not allow.
func value(r *rand.Rand, s *structuralschema.Structural, depth int) any {
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
			list[i] = value(r, s.Items, depth+1)
		}
		return list
	}
	obj := map[string]any{}
	if s.XEmbeddedResource {
		obj["apiVersion"], obj["kind"], obj["metadata"] = "a", "a", map[string]any{"name": string(rune('a' + r.IntN(2)))}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) { // the same objects from the same seed
		if prop := s.Properties[name]; r.IntN(4) != 0 {
			obj[name] = value(r, &prop, depth+1)
		}
	}
	if sub := additional(s); sub != nil {
		for range r.IntN(3) {
			obj[string(rune('a'+r.IntN(4)))] = value(r, sub, depth+1)
		}
	}
	return obj
}

// changed is old with a part of it made anew, in place.
func changed(r *rand.Rand, s *structuralschema.Structural, old any) any {
	if s == nil || r.IntN(5) == 0 {
		return value(r, s, 0)
	}
	switch old := old.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(old)) {
			if prop, ok := s.Properties[name]; ok && r.IntN(2) == 0 {
				old[name] = changed(r, &prop, old[name])
			} else if sub := additional(s); sub != nil && r.IntN(2) == 0 {
				old[name] = changed(r, sub, old[name])
			}
		}
	case []any:
		for i := range old {
			if r.IntN(2) == 0 {
				old[i] = changed(r, s.Items, old[i])
			}
		}
		r.Shuffle(len(old), func(i, j int) { old[i], old[j] = old[j], old[i] })
	}
	return old
}

func withMeta(obj map[string]any) map[string]any {
	if obj == nil {
		obj = map[string]any{}
	}
	obj["apiVersion"], obj["kind"] = "example.com/v1", "Thing"
	obj["metadata"] = map[string]any{"name": "one", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2024-01-01T00:00:00Z"}
	return obj
}

func additional(s *structuralschema.Structural) *structuralschema.Structural {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Structural
}

package schema

import (
	"context"
	"testing"
)

// The errors of a new object whose spec.v is value, of the schema of v.
var createTests = []struct{ name, v, value, want string }{
	{"string", `{type: string}`, `a`, ``},
	{"string is a number", `{type: string}`, `1`, `spec.v: Invalid value: "integer": spec.v in body must be of type string: "integer"`},
	{"string is null", `{type: string}`, `null`, `spec.v: Invalid value: "null": spec.v in body must be of type string: "null"`},
	{"string is null, nullable", `{type: string, nullable: true}`, `null`, ``},
	{"integer is a string", `{type: integer}`, `a`, `spec.v: Invalid value: "string": spec.v in body must be of type integer: "string"`},
	{"integer is a fraction", `{type: integer}`, `1.5`, `spec.v: Invalid value: "number": spec.v in body must be of type integer: "number"
<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.v`},
	{"integer is a whole float", `{type: integer}`, `1.0`, ``},
	{"number is a string", `{type: number}`, `a`, `spec.v: Invalid value: "string": spec.v in body must be of type number: "string"`},
	{"boolean is a string", `{type: boolean}`, `"true"`, `spec.v: Invalid value: "string": spec.v in body must be of type boolean: "string"`},
	{"array is an object", `{type: array, items: {type: string}}`, `{a: b}`, `spec.v: Invalid value: "object": spec.v in body must be of type array: "object"`},
	{"object is an array", `{type: object, properties: {a: {type: string}}}`, `[a]`, `spec.v: Invalid value: "array": spec.v in body must be of type object: "array"`},
	{"minLength", `{type: string, minLength: 2}`, `a`, `spec.v: Invalid value: "a": spec.v in body should be at least 2 chars long`},
	{"maxLength", `{type: string, maxLength: 2}`, `abc`, `spec.v: Too long: may not be more than 2 bytes`},
	{"maxLength counts characters", `{type: string, maxLength: 2}`, `äö`, ``},
	{"pattern", `{type: string, pattern: "^a+$"}`, `b`, `spec.v: Invalid value: "b": spec.v in body should match '^a+$'`},
	{"enum", `{type: string, enum: [a, b]}`, `c`, `spec.v: Unsupported value: "c": supported values: "a", "b"`},
	{"enum of integers", `{type: integer, enum: [1, 2]}`, `3`, `spec.v: Unsupported value: 3: supported values: "1", "2"`},
	{"minimum", `{type: integer, minimum: 2}`, `1`, `spec.v: Invalid value: 1: spec.v in body should be greater than or equal to 2`},
	{"exclusiveMinimum", `{type: integer, minimum: 2, exclusiveMinimum: true}`, `2`, `spec.v: Invalid value: 2: spec.v in body should be greater than 2`},
	{"maximum", `{type: integer, maximum: 2}`, `3`, `spec.v: Invalid value: 3: spec.v in body should be less than or equal to 2`},
	{"exclusiveMaximum", `{type: integer, maximum: 2, exclusiveMaximum: true}`, `2`, `spec.v: Invalid value: 2: spec.v in body should be less than 2`},
	{"maximum of a number", `{type: number, maximum: 0.5}`, `0.75`, `spec.v: Invalid value: 0.75: spec.v in body should be less than or equal to 0.5`},
	{"multipleOf", `{type: integer, multipleOf: 3}`, `4`, `spec.v: Invalid value: 4: spec.v in body should be a multiple of 3`},
	{"minItems", `{type: array, minItems: 2, items: {type: string}}`, `[a]`, `spec.v: Invalid value: 1: spec.v in body should have at least 2 items`},
	{"maxItems", `{type: array, maxItems: 1, items: {type: string}}`, `[a, b]`, `spec.v: Too many: 2: must have at most 1 item`},
	{"items", `{type: array, items: {type: integer}}`, `[1, a]`, `spec.v[1]: Invalid value: "string": spec.v[1] in body must be of type integer: "string"`},
	{"items, null", `{type: array, items: {type: string}}`, `[null]`, `spec.v[0]: Invalid value: "null": spec.v[0] in body must be of type string: "null"`},
	{"minProperties", `{type: object, minProperties: 1, additionalProperties: {type: string}}`, `{}`, `spec.v: Invalid value: 0: spec.v in body should have at least 1 properties`},
	{"maxProperties", `{type: object, maxProperties: 1, additionalProperties: {type: string}}`, `{a: x, b: z}`, `spec.v: Too many: 2: must have at most 1 item`},
	{"required", `{type: object, required: [a], properties: {a: {type: string}}}`, `{}`, `spec.v.a: Required value`},
	{"required of two", `{type: object, required: [a, b], properties: {a: {type: string}, b: {type: string}}}`, `{}`, `spec.v.a: Required value
spec.v.b: Required value`},
	{"additionalProperties", `{type: object, additionalProperties: {type: integer}}`, `{a: x}`, `spec.v.a: Invalid value: "string": spec.v.a in body must be of type integer: "string"`},
	{"format date", `{type: string, format: date}`, `tomorrow`, `spec.v: Invalid value: "tomorrow": spec.v in body must be of type date: "tomorrow"`},
	{"format date-time", `{type: string, format: date-time}`, `"2024-13-01T00:00:00Z"`, `spec.v: Invalid value: "2024-13-01T00:00:00Z": spec.v in body must be of type date-time: "2024-13-01T00:00:00Z"`},
	{"format duration", `{type: string, format: duration}`, `1 fortnight`, `spec.v: Invalid value: "1 fortnight": spec.v in body must be of type duration: "1 fortnight"`},
	{"format byte", `{type: string, format: byte}`, `"*"`, `spec.v: Invalid value: "*": spec.v in body must be of type byte: "*"`},
	{"format ipv4", `{type: string, format: ipv4}`, `1.2.3.256`, `spec.v: Invalid value: "1.2.3.256": spec.v in body must be of type ipv4: "1.2.3.256"`},
	{"format ipv6", `{type: string, format: ipv6}`, `1.2.3.4`, `spec.v: Invalid value: "1.2.3.4": spec.v in body must be of type ipv6: "1.2.3.4"`},
	{"format cidr", `{type: string, format: cidr}`, `1.2.3.4/33`, `spec.v: Invalid value: "1.2.3.4/33": spec.v in body must be of type cidr: "1.2.3.4/33"`},
	{"format mac", `{type: string, format: mac}`, `x`, `spec.v: Invalid value: "x": spec.v in body must be of type mac: "x"`},
	{"format email", `{type: string, format: email}`, `me`, `spec.v: Invalid value: "me": spec.v in body must be of type email: "me"`},
	{"format hostname", `{type: string, format: hostname}`, `"-a"`, `spec.v: Invalid value: "-a": spec.v in body must be of type hostname: "-a"`},
	{"format uri", `{type: string, format: uri}`, `x`, `spec.v: Invalid value: "x": spec.v in body must be of type uri: "x"`},
	{"format uuid", `{type: string, format: uuid}`, `x`, `spec.v: Invalid value: "x": spec.v in body must be of type uuid: "x"`},
	{"format uuid4", `{type: string, format: uuid4}`, `5f3759df-5f37-1f37-8f37-5f3759df5f37`, `spec.v: Invalid value: "5f3759df-5f37-1f37-8f37-5f3759df5f37": spec.v in body must be of type uuid4: "5f3759df-5f37-1f37-8f37-5f3759df5f37"`},
	{"format isbn10", `{type: string, format: isbn10}`, `"1"`, `spec.v: Invalid value: "1": spec.v in body must be of type isbn10: "1"`},
	{"format creditcard", `{type: string, format: creditcard}`, `"1"`, `spec.v: Invalid value: "1": spec.v in body must be of type creditcard: "1"`},
	{"format ssn", `{type: string, format: ssn}`, `"1"`, `spec.v: Invalid value: "1": spec.v in body must be of type ssn: "1"`},
	{"format hexcolor", `{type: string, format: hexcolor}`, `red`, `spec.v: Invalid value: "red": spec.v in body must be of type hexcolor: "red"`},
	{"format k8s-short-name", `{type: string, format: k8s-short-name}`, `A_`, `spec.v: Invalid value: "A_": spec.v in body must be of type k8s-short-name: "A_"`},
	{"format k8s-long-name", `{type: string, format: k8s-long-name}`, `A_`, `spec.v: Invalid value: "A_": spec.v in body must be of type k8s-long-name: "A_"`},
	{"format int32", `{type: integer, format: int32}`, `2147483648`, `<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.v`},
	{"format that nobody knows", `{type: string, format: horse}`, `x`, ``},
	{"int-or-string", `{x-kubernetes-int-or-string: true}`, `1`, ``},
	{"int-or-string is a boolean", `{x-kubernetes-int-or-string: true}`, `true`, `spec.v: Invalid value: "boolean": spec.v in body must be of type integer,string: "boolean"`},
	{"int-or-string is a fraction", `{x-kubernetes-int-or-string: true}`, `1.5`, `spec.v: Invalid value: "number": spec.v in body must be of type integer,string: "number"`},
	{"int-or-string with a pattern", `{x-kubernetes-int-or-string: true, pattern: "^[0-9]+%$"}`, `x`, `spec.v: Invalid value: "x": spec.v in body should match '^[0-9]+%$'`},
	{"anyOf", `{type: string, anyOf: [{minLength: 3}, {pattern: "^a"}]}`, `b`, `<nil>: Invalid value: "": "spec.v" must validate at least one schema (anyOf)
spec.v: Invalid value: "b": spec.v in body should be at least 3 chars long`},
	{"oneOf, both", `{type: string, oneOf: [{minLength: 1}, {pattern: "^a"}]}`, `a`, `<nil>: Invalid value: "": "spec.v" must validate one and only one schema (oneOf). Found 2 valid alternatives`},
	{"oneOf, none", `{type: string, oneOf: [{minLength: 3}, {pattern: "^a"}]}`, `b`, `<nil>: Invalid value: "": "spec.v" must validate one and only one schema (oneOf). Found none valid
spec.v: Invalid value: "b": spec.v in body should be at least 3 chars long`},
	{"allOf", `{type: string, allOf: [{minLength: 3}, {pattern: "^a"}]}`, `b`, `spec.v: Invalid value: "b": spec.v in body should be at least 3 chars long
spec.v: Invalid value: "b": spec.v in body should match '^a'
<nil>: Invalid value: "": "spec.v" must validate all the schemas (allOf). None validated`},
	{"not", `{type: string, not: {enum: [a]}}`, `a`, `<nil>: Invalid value: "": "spec.v" must not validate the schema (not)`},
	{"set", `{type: array, x-kubernetes-list-type: set, items: {type: string}}`, `[a, b, a]`, `spec.v[2]: Duplicate value: "a"`},
	{"set of objects", `{type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}}}}`, `[{a: x}, {a: x}]`, `spec.v[1]: Duplicate value: {"a":"x"}`},
	{"map", `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}`, `[{k: x}, {k: z}, {k: x}]`, `spec.v[2]: Duplicate value: {"k":"x"}`},
	{"map with two keys", `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, m], items: {type: object, required: [k, m], properties: {k: {type: string}, m: {type: integer}}}}`, `[{k: x, m: 1}, {k: x, m: 2}, {k: x, m: 1}]`, `spec.v[2]: Duplicate value: {"k":"x","m":1}`},
	{"map without its key", `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}`, `[{}]`, `spec.v[0].k: Required value`},
	{"embedded resource", `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`, `{apiVersion: v1, kind: Pod, metadata: {name: a}}`, ``},
	{"embedded resource without a kind", `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`, `{a: b}`, `spec.v.apiVersion: Required value
spec.v.kind: Required value`},
	{"embedded resource with bad labels", `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`, `{apiVersion: v1, kind: Pod, metadata: {name: "A_", labels: {"a b": c}}}`, `spec.v.metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`},
	{"embedded resource with a bad version", `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`, `{apiVersion: a/b/c, kind: Pod}`, `spec.v.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`},
	{"rule", `{type: integer, x-kubernetes-validations: [{rule: self > 1}]}`, `1`, `spec.v: Invalid value: 1: failed rule: self > 1`},
	{"rule that holds", `{type: integer, x-kubernetes-validations: [{rule: self > 1}]}`, `2`, ``},
	{"rule with a message", `{type: integer, x-kubernetes-validations: [{rule: self > 1, message: too small}]}`, `1`, `spec.v: Invalid value: 1: too small`},
	{"rule with a messageExpression", `{type: integer, x-kubernetes-validations: [{rule: self > 1, messageExpression: "'at least 2, not ' + string(self)"}]}`, `1`, `spec.v: Invalid value: 1: at least 2, not 1`},
	{"rule with an empty messageExpression", `{type: integer, x-kubernetes-validations: [{rule: self > 1, message: fallback, messageExpression: "''"}]}`, `1`, `spec.v: Invalid value: 1: fallback`},
	{"rule with a messageExpression of two lines", `{type: integer, x-kubernetes-validations: [{rule: self > 1, message: fallback, messageExpression: "'a\\nb'"}]}`, `1`, `spec.v: Invalid value: 1: fallback`},
	{"rule with a messageExpression that fails", `{type: integer, x-kubernetes-validations: [{rule: self > 1, message: fallback, messageExpression: "string(1 / (self - 1))"}]}`, `1`, `spec.v: Invalid value: 1: fallback`},
	{"rule, reason FieldValueForbidden", `{type: integer, x-kubernetes-validations: [{rule: self > 1, reason: FieldValueForbidden}]}`, `1`, `spec.v: Forbidden: failed rule: self > 1`},
	{"rule, reason FieldValueRequired", `{type: integer, x-kubernetes-validations: [{rule: self > 1, reason: FieldValueRequired, message: give 2}]}`, `1`, `spec.v: Required value: give 2`},
	{"rule, reason FieldValueDuplicate", `{type: integer, x-kubernetes-validations: [{rule: self > 1, reason: FieldValueDuplicate}]}`, `1`, `spec.v: Duplicate value: 1`},
	{"rule, reason FieldValueInvalid", `{type: integer, x-kubernetes-validations: [{rule: self > 1, reason: FieldValueInvalid}]}`, `1`, `spec.v: Invalid value: 1: failed rule: self > 1`},
	{"rule with a fieldPath", `{type: object, properties: {a: {type: integer}, b: {type: integer}}, x-kubernetes-validations: [{rule: self.a < self.b, fieldPath: .a}]}`, `{a: 2, b: 1}`, `spec.v.a: Invalid value: failed rule: self.a < self.b`},
	{"rule of an object", `{type: object, properties: {a: {type: integer}, b: {type: integer}}, x-kubernetes-validations: [{rule: self.a < self.b}]}`, `{a: 2, b: 1}`, `spec.v: Invalid value: failed rule: self.a < self.b`},
	{"rule on a missing field", `{type: object, properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: self.a < 1}]}`, `{}`, `spec.v: Invalid value: "object": no such key: a evaluating rule: self.a < 1`},
	{"rules, one broken", `{type: object, properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: self.a < 1}, {rule: self.a > 0}, {rule: self.a > 2}]}`, `{a: 1}`, `spec.v: Invalid value: failed rule: self.a < 1
spec.v: Invalid value: failed rule: self.a > 2`},
	{"rule at items", `{type: array, maxItems: 5, items: {type: integer, x-kubernetes-validations: [{rule: self > 1}]}}`, `[2, 1]`, `spec.v[1]: Invalid value: 1: failed rule: self > 1`},
	{"rule at additionalProperties", `{type: object, additionalProperties: {type: integer, x-kubernetes-validations: [{rule: self > 1}]}}`, `{b: 1, a: 0}`, `spec.v[a]: Invalid value: 0: failed rule: self > 1
spec.v[b]: Invalid value: 1: failed rule: self > 1`},
	{"rule within allOf", `{type: object, properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: "true"}], allOf: [{properties: {a: {x-kubernetes-validations: [{rule: self > 1}]}}}]}`, `{a: 1}`, `spec.v.a: Invalid value: 1: failed rule: self > 1`},
	{"rule on int-or-string", `{x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: "type(self) == int ? self > 1 : self == 'many'"}]}`, `few`, `spec.v: Invalid value: "few": failed rule: type(self) == int ? self > 1 : self == 'many'`},
	{"rule on int-or-string without an overload", `{x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: "self > 1"}]}`, `few`, `spec.v: Invalid value: "": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self > 1`},
	{"rule about a change", `{type: integer, x-kubernetes-validations: [{rule: self > oldSelf}]}`, `1`, ``},
	{"rule about a change, optionalOldSelf", `{type: integer, x-kubernetes-validations: [{rule: "oldSelf.hasValue() || self > 1", optionalOldSelf: true}]}`, `1`, `spec.v: Invalid value: 1: failed rule: oldSelf.hasValue() || self > 1`},
	{"rule, division by zero", `{type: integer, x-kubernetes-validations: [{rule: 1 / self > 0}]}`, `0`, `spec.v: Invalid value: "integer": division by zero evaluating rule: 1 / self > 0`},
	{"rule of an embedded resource", `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: "self.kind == 'Pod' && self.metadata.name != 'a'"}]}`, `{apiVersion: v1, kind: Pod, metadata: {name: a}}`, `spec.v: Invalid value: failed rule: self.kind == 'Pod' && self.metadata.name != 'a'`},
	{"rule that does not compile", `{type: integer, x-kubernetes-validations: [{rule: self > nothing}]}`, `1`, `spec.v: Invalid value: "integer": rule compile error: compilation failed: ERROR: <input>:1:8: undeclared reference to 'nothing' (in container '')
 | self > nothing
 | .......^`},
	{"rule that is no condition", `{type: integer, x-kubernetes-validations: [{rule: self + 1}]}`, `1`, `spec.v: Invalid value: "integer": rule compile error: cel expression must evaluate to a bool`},
	{"rule that costs too much", `{type: array, items: {type: integer}, x-kubernetes-validations: [{rule: "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d > 0))))"}]}`, `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30]`, `spec.v: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d > 0))))`},
	{"rules blocked by an error", `{type: object, required: [b], properties: {a: {type: integer}, b: {type: string}}, x-kubernetes-validations: [{rule: self.a > 1}]}`, `{a: 1}`, `spec.v.b: Required value
<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`},
	{"rules not blocked by a bad pattern", `{type: string, pattern: "^a", x-kubernetes-validations: [{rule: self != 'b'}]}`, `b`, `spec.v: Invalid value: "b": spec.v in body should match '^a'
spec.v: Invalid value: "b": failed rule: self != 'b'`},
	{"rule at a field that rules can't name", `{type: object, properties: {"a b": {type: integer, x-kubernetes-validations: [{rule: self > 1}]}}}`, `{"a b": 1}`, `spec.v.a b: Invalid value: 1: failed rule: self > 1`},
}

func TestValidate(t *testing.T) {
	for _, tt := range createTests {
		t.Run(tt.name, func(t *testing.T) {
			s := compile(t, withSpec(tt.v))
			got := lines(s.Validate(context.Background(), thing(t, "{spec: {v: "+tt.value+"}}"), ExtraErrors{}))
			if got != tt.want {
				t.Errorf("of %s with\n%s\ngot\n%s\nwant\n%s", tt.value, tt.v, got, tt.want)
			}
		})
	}
}

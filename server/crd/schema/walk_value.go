package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// checkType checks the type of a value, which may be null.
func checkType(n *node, p *location, value any) (out findings) {
	wrong := func(want, got string) findings {
		out.add(errors.InvalidType(p.String(), inBody, want, got))
		return out
	}
	types := strings.Join(n.Type, ",")
	if value == nil {
		if len(n.Type) > 0 && !n.Type.Contains("null") && !n.Nullable {
			return wrong(types, "null")
		}
		out.matched = 1
		return out
	}
	name, format := typeOf(value)
	fits := n.Type.Contains(name)
	switch name {
	case "number":
		fits = fits || n.Type.Contains("integer") && whole(value.(float64))
	case "integer":
		fits = fits || n.Type.Contains("number")
	}
	formatted := name == "string" || name == "array"
	switch {
	case !formatted && n.Format != "" && !fits && format != n.Format:
		return wrong(n.Format, format)
	case formatted && n.Format != "" && !n.Type.Contains("number") && !n.Type.Contains("integer"):
	case !fits:
		return wrong(types, name)
	}
	out.matched = 1
	return out
}

func typeOf(value any) (name, format string) {
	switch value.(type) {
	case bool:
		return "boolean", ""
	case string:
		return "string", ""
	case int64:
		return "integer", "int64"
	case float64:
		return "number", "float64"
	case []any:
		return "array", ""
	case map[string]any:
		return "object", ""
	}
	return "", ""
}

// whole reports whether a number counts as an integer.
func whole(f float64) bool { return validate.MultipleOf("", "", f, 1) == nil }

// number checks the range of a number, in the library's order.
func number(n *node, p *location, value any) (out findings) {
	out.matched = 1
	typeName, format := numberType(n)
	inRange := func(v any, what string) bool {
		if validate.IsValueValidAgainstRange(v, typeName, format, what, "") == nil {
			return true
		}
		out.add(validate.IsValueValidAgainstRange(v, typeName, format, what, p.String()))
		return false
	}
	if _, isInt := value.(int64); !isInt || format == "int32" {
		inRange(value, "Checked")
	}
	bound := func(limit *float64, what string, native func(path string) *errors.Validation, general func(path string) *errors.Validation) {
		if limit == nil {
			return
		}
		check := native
		if !inRange(*limit, what) {
			check = general
		}
		if check("") != nil {
			out.addOf(check(p.String()))
		}
	}
	bound(n.MultipleOf, "MultipleOf",
		func(path string) *errors.Validation {
			return validate.MultipleOfNativeType(path, inBody, value, *n.MultipleOf)
		},
		func(path string) *errors.Validation {
			return validate.MultipleOf(path, inBody, asFloat(value), *n.MultipleOf)
		})
	bound(n.Minimum, "Minimum boundary",
		func(path string) *errors.Validation {
			return validate.MinimumNativeType(path, inBody, value, *n.Minimum, n.ExclusiveMinimum)
		},
		func(path string) *errors.Validation {
			return validate.Minimum(path, inBody, asFloat(value), *n.Minimum, n.ExclusiveMinimum)
		})
	bound(n.Maximum, "Maximum boundary",
		func(path string) *errors.Validation {
			return validate.MaximumNativeType(path, inBody, value, *n.Maximum, n.ExclusiveMaximum)
		},
		func(path string) *errors.Validation {
			return validate.Maximum(path, inBody, asFloat(value), *n.Maximum, n.ExclusiveMaximum)
		})
	return out
}

// numberType returns the type and the format that determine a number's range, if the schema has one type.
func numberType(n *node) (name, format string) {
	if len(n.Type) != 1 {
		return "", ""
	}
	var formats []string
	switch n.Type[0] {
	case "integer":
		formats = []string{"int32", "int64"}
	case "number":
		formats = []string{"float", "double"}
	default:
		return "", ""
	}
	if slices.Contains(formats, n.Format) {
		format = n.Format
	}
	return n.Type[0], format
}

func asFloat(value any) float64 {
	if i, ok := value.(int64); ok {
		return float64(i)
	}
	return value.(float64)
}

// enum checks that a value is one of the allowed values.
func (w *walk) enum(n *node, p *location, value any, out *findings) {
	if len(n.Enum) == 0 || w.err != nil {
		return
	}
	is := reflect.ValueOf(value)
	for _, allowed := range n.Enum {
		if text, ok := allowed.(string); ok {
			if value == text {
				return
			}
			if _, ok := value.(string); ok {
				continue
			}
		}
		kind := reflect.TypeOf(allowed)
		if kind != nil && is.IsValid() && is.Type().ConvertibleTo(kind) && reflect.DeepEqual(is.Convert(kind).Interface(), allowed) {
			return
		}
	}
	out.add(errors.EnumFail(p.String(), inBody, value, n.Enum))
}

const compositeError = errors.CompositeErrorCode

// branches validates a value by allOf, anyOf, oneOf and not.
func (w *walk) branches(n *node, p *location, value any) (out findings) {
	out.matched = 1
	if len(n.anyOf) > 0 {
		out.merge(w.anyOf(n, p, value))
	}
	if len(n.oneOf) > 0 {
		out.merge(w.oneOf(n, p, value))
	}
	if len(n.allOf) > 0 {
		out.merge(w.allOf(n, p, value))
	}
	if n.not != nil && w.err == nil {
		if held := w.value(n.not, p, value, nil); len(held.errs) == 0 && w.err == nil {
			out.add(errors.New(compositeError, validate.MustNotValidateSchemaError, p.String()))
		}
	}
	return out
}

func (w *walk) anyOf(n *node, p *location, value any) (out findings) {
	var best findings
	for i, branch := range n.anyOf {
		if w.err != nil {
			return out
		}
		result := w.value(branch, p, value, nil)
		if len(result.errs) == 0 {
			return result
		}
		if i == 0 || result.matched > best.matched {
			best = result
		}
	}
	out.add(errors.New(compositeError, validate.MustValidateAtLeastOneSchemaError, p.String()))
	out.merge(best)
	return out
}

func (w *walk) oneOf(n *node, p *location, value any) (out findings) {
	var best, first findings
	valid := 0
	for i, branch := range n.oneOf {
		if w.err != nil {
			return out
		}
		result := w.value(branch, p, value, nil)
		switch {
		case len(result.errs) == 0:
			if valid == 0 {
				first = result
			}
			valid++
		case valid == 0 && (i == 0 || result.matched > best.matched):
			best = result
		}
	}
	switch valid {
	case 1:
		return first
	case 0:
		out.add(errors.New(compositeError, validate.MustValidateOnlyOneSchemaError, p.String(), "Found none valid"))
		out.merge(best)
	default:
		out.add(errors.New(compositeError, validate.MustValidateOnlyOneSchemaError, p.String(),
			fmt.Sprintf("Found %d valid alternatives", valid)))
	}
	return out
}

func (w *walk) allOf(n *node, p *location, value any) (out findings) {
	valid := 0
	for _, branch := range n.allOf {
		if w.err != nil {
			return out
		}
		result := w.value(branch, p, value, nil)
		if len(result.errs) == 0 {
			valid++
		}
		out.merge(result)
	}
	if valid != len(n.allOf) {
		more := ""
		if valid == 0 {
			more = ". None validated"
		}
		out.add(errors.New(compositeError, validate.MustValidateAllSchemasError, p.String(), more))
	}
	return out
}

package filter

import "slices"

// Asks says whether the filter uses one of these fields, named as in [Fields]. A text without a field uses all text
// fields.
func (f Filter) Asks(fields ...string) bool { return f.root != nil && asks(f.root, fields, true) }

// AsksFor is Asks but for texts without a field: these look only where there is a value.
func (f Filter) AsksFor(fields ...string) bool { return f.root != nil && asks(f.root, fields, false) }

func asks(n node, fields []string, words bool) bool {
	within := func(part node) bool { return asks(part, fields, words) }
	switch n := n.(type) {
	case orNode:
		return slices.ContainsFunc(n.parts, within)
	case andNode:
		return slices.ContainsFunc(n.parts, within)
	case notNode:
		return within(n.node)
	case stepNode:
		return within(n.condition)
	case chainNode:
		return slices.ContainsFunc(n.conditions, within)
	case countNode:
		return slices.Contains(fields, n.count.field.Name) || within(n.condition)
	case anywhereNode:
		return (words || n.ofStep) && (overlap(stepTexts, fields) || !n.ofStep && overlap(requestTexts, fields))
	case *textNode:
		return slices.Contains(fields, n.field.Name)
	case *regexpNode:
		return slices.Contains(fields, n.field.Name)
	case numberNode:
		return slices.Contains(fields, n.field.Name)
	case afterNode:
		return slices.Contains(fields, "after")
	}
	return false
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

// Names says whether the filter asks for a value of a field by its name: not by a pattern, nor for anything but it.
func (f Filter) Names(field, value string) bool { return f.root != nil && names(f.root, field, value) }

func names(n node, field, value string) bool {
	within := func(part node) bool { return names(part, field, value) }
	switch n := n.(type) {
	case orNode:
		return slices.ContainsFunc(n.parts, within)
	case andNode:
		return slices.ContainsFunc(n.parts, within)
	case *textNode:
		return n.field.Name == field && slices.ContainsFunc(n.patterns, func(p pattern) bool { return p.canonical == value })
	}
	return false
}

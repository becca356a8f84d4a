package filter

import "slices"

// Asks says whether the filter uses one of these fields, named as in [Fields]. A text without a field uses all text fields.
func (f Filter) Asks(fields ...string) bool { return f.root != nil && asks(f.root, fields) }

func asks(n node, fields []string) bool {
	within := func(part node) bool { return asks(part, fields) }
	switch n := n.(type) {
	case orNode:
		return slices.ContainsFunc(n, within)
	case andNode:
		return slices.ContainsFunc(n, within)
	case notNode:
		return within(n.node)
	case anywhereNode:
		return slices.ContainsFunc(textFields, func(name string) bool { return slices.Contains(fields, name) })
	case textNode:
		return slices.Contains(fields, n.field)
	case regexpNode:
		return slices.Contains(fields, n.field)
	case numberNode:
		return slices.Contains(fields, n.field.Name)
	}
	return false
}

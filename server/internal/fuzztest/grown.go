package fuzztest

import (
	"maps"
	"slices"
	"strings"
)

// maxDepth limits the nesting of what grows from a schema: schemas may contain themselves.
const maxDepth = 6

// grown is an object with some of the fields of its schema, some of them of the wrong type.
func (g *Generator) grown() map[string]any {
	schemas := g.surface.Schema(g.resource.Group, g.resource.Version)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s, _ := schemas[name].(map[string]any)
		if isKind(s, g.resource) {
			object, _ := g.grow(schemas, s, 0).(map[string]any)
			if object != nil {
				return object
			}
			break
		}
	}
	return map[string]any{}
}

func isKind(s map[string]any, r Resource) bool {
	kinds, _ := s["x-kubernetes-group-version-kind"].([]any)
	return slices.ContainsFunc(kinds, func(k any) bool {
		kind, _ := k.(map[string]any)
		return kind["group"] == r.Group && kind["version"] == r.Version && kind["kind"] == r.Kind
	})
}

// grow returns a value for a schema.
func (g *Generator) grow(schemas, s map[string]any, depth int) any {
	if g.once(16) {
		return g.value()
	}
	if all, ok := s["allOf"].([]any); ok && len(all) > 0 {
		inner, _ := all[0].(map[string]any)
		return g.grow(schemas, inner, depth)
	}
	if ref, ok := s["$ref"].(string); ok {
		inner, _ := schemas[ref[strings.LastIndex(ref, "/")+1:]].(map[string]any)
		return g.grow(schemas, inner, depth)
	}
	switch s["type"] {
	case "object":
		return g.growObject(schemas, s, depth)
	case "array":
		items, _ := s["items"].(map[string]any)
		list := []any{}
		for range g.number(3) {
			if depth < maxDepth {
				list = append(list, g.grow(schemas, items, depth+1))
			}
		}
		return list
	case "integer", "number":
		return pick[any](g, 1, 0, -1, 80, 65536, 2147483648, 1.5)
	case "boolean":
		return g.number(2) == 1
	}
	return g.growText(s)
}

func (g *Generator) growObject(schemas, s map[string]any, depth int) any {
	object := map[string]any{}
	if depth >= maxDepth {
		return object
	}
	properties, _ := s["properties"].(map[string]any)
	fields := slices.Sorted(maps.Keys(properties))
	required, _ := s["required"].([]any)
	for _, field := range required {
		if name, ok := field.(string); ok && !g.once(8) {
			inner, _ := properties[name].(map[string]any)
			object[name] = g.grow(schemas, inner, depth+1)
		}
	}
	if len(fields) > 0 {
		for range 1 + g.number(4) {
			field := pick(g, fields...)
			inner, _ := properties[field].(map[string]any)
			object[field] = g.grow(schemas, inner, depth+1)
		}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		for range g.number(3) {
			object[pick(g, "a", "b/c", "", "memory", "x.y")] = g.grow(schemas, more, depth+1)
		}
	}
	return object
}

func (g *Generator) growText(s map[string]any) any {
	if all, ok := s["enum"].([]any); ok && len(all) > 0 {
		return pick(g, all...)
	}
	switch s["format"] {
	case "date-time":
		return pick(g, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000Z", "9999-99-99T00:00:00Z", "0001-01-01T00:00:00Z")
	case "byte":
		return pick(g, "eA==", "", "!")
	case "int-or-string":
		return pick[any](g, 80, "http", "50%", "-1%", -1)
	}
	return pick(g, "a", "", "v1", "ConfigMap", "apps", "TCP", "*", "100m", "10.96.0.7", "fd00::1", "x/y", "Always", "known", "near", "A_B",
		"metadata.name", "system:masters", "0 * * * *", "{.a}", "\u0000", strings.Repeat("y", 254))
}

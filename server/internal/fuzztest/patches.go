package fuzztest

import (
	"encoding/json"
	"slices"
	"strings"
)

func patches() []production[struct{}] {
	patch := func(name, contentType string, body func(*Generator) []byte) production[struct{}] {
		return production[struct{}]{name, func(g *Generator) struct{} {
			g.request.Body = body(g)
			g.set("Content-Type", contentType)
			return struct{}{}
		}}
	}
	return []production[struct{}]{
		patch("merge", "application/merge-patch+json", (*Generator).mergePatch),
		patch("strategic merge", "application/strategic-merge-patch+json", (*Generator).strategicPatch),
		patch("JSON", "application/json-patch+json", (*Generator).jsonPatch),
		patch("apply", "application/apply-patch+yaml", (*Generator).applied),
		patch("apply an object", "application/apply-patch+yaml", func(g *Generator) []byte {
			g.query = append(g.query,
				"fieldManager=m")
			return g.body()
		}),
		patch("apply CBOR", "application/apply-patch+cbor", func(g *Generator) []byte { return []byte("\xd9\xd9\xf7\xa0") }),
		patch("no patch", "application/json", (*Generator).mergePatch),
		patch("wrong type", "application/json-patch+json", (*Generator).mergePatch),
		patch("wrong type too", "application/merge-patch+json", (*Generator).jsonPatch),
	}
}

func (g *Generator) marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // the grammar has a value that is no JSON
	}
	return data
}

// applied is an apply of an object by a manager of the grammar.
func (g *Generator) applied() []byte {
	g.query = append(g.query, "fieldManager="+pick(g, "m", "n", ""), "force="+pick(g, "true", "false"))
	object := g.withMetadata(g.sample())
	if m, ok := object["metadata"].(map[string]any); ok {
		delete(m, "managedFields") // an apply with them is always refused
	}
	return g.damaged(object)
}

func (g *Generator) mergePatch() []byte {
	p := choose(g, "merge patch", mergePatches)
	return g.damaged(p)
}

func mergePatches() []production[map[string]any] {
	return []production[map[string]any]{
		{"data", constant(map[string]any{"data": map[string]any{"a": "b", "c": nil}})},
		{"metadata", func(g *Generator) map[string]any { return g.withMetadata(map[string]any{"metadata": map[string]any{}}) }},
		{"grown", func(g *Generator) map[string]any { return g.grown() }},
		{"value in spec", func(g *Generator) map[string]any {
			return map[string]any{pick(g, "spec", "status", "data", "metadata", "rules", "webhooks"): g.value()}
		}},
		{"nulls", constant(map[string]any{"spec": nil, "data": nil, "metadata": nil, "status": nil, "kind": nil})},
		{"kind", constant(map[string]any{"kind": "Pod", "apiVersion": "v1"})},
		{"finalizers", func(g *Generator) map[string]any {
			return map[string]any{"metadata": map[string]any{"finalizers": pick[any](g, nil, []any{"fuzz.example.com/stay"}, []any{})}}
		}},
	}
}

func (g *Generator) strategicPatch() []byte {
	return g.damaged(choose(g, "strategic patch", strategicPatches))
}

func strategicPatches() []production[map[string]any] {
	containers := func(name string, spec map[string]any) production[map[string]any] {
		return production[map[string]any]{name, func(g *Generator) map[string]any {
			if g.number(2) == 1 {
				return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": spec}}}
			}
			return map[string]any{"spec": spec}
		}}
	}
	text := func(name string, v any) production[map[string]any] {
		return production[map[string]any]{name, func(g *Generator) map[string]any {
			return map[string]any{pick(g, "metadata", "spec", "data", "subsets", "secrets", "webhooks"): v}
		}}
	}
	return append([]production[map[string]any]{
		containers("a container", map[string]any{"containers": []any{map[string]any{"name": "main", "image": "b"}}}),
		containers("no merge key", map[string]any{"containers": []any{map[string]any{"image": "b"}}}),
		containers("no maps", map[string]any{"containers": []any{"a", nil, 1}}),
		containers("delete", map[string]any{"containers": []any{map[string]any{"name": "main", "$patch": "delete"}}}),
		containers("replace", map[string]any{"containers": []any{map[string]any{"$patch": "replace"}, map[string]any{"name": "x",
			"image": "y"}}}),
		containers("order", map[string]any{"$setElementOrder/containers": []any{map[string]any{"name": "b"},
			map[string]any{"name": "main"}},
			"containers": []any{map[string]any{"name": "b", "image": "c"}}}),
		containers("order of nothing", map[string]any{"$setElementOrder/containers": []any{nil, "x", map[string]any{}}}),
		containers("order that contradicts", map[string]any{"$setElementOrder/containers": []any{},
			"containers": []any{map[string]any{"name": "z"}}}),
		containers("retain", map[string]any{"volumes": []any{map[string]any{"$retainKeys": []any{"name", "emptyDir"}, "name": "v",
			"emptyDir": map[string]any{}}}}),
		containers("retain wrongly", map[string]any{"$retainKeys": []any{1, nil}, "volumes": []any{map[string]any{"$retainKeys": "x",
			"name": "v"}}}),
		containers("no retained key", map[string]any{"$retainKeys": []any{"a"}, "restartPolicy": "x"}),
		text("delete a map", map[string]any{"$patch": "delete"}),
		text("replace a map", map[string]any{"$patch": "replace", "a": "b"}),
		text("unknown directive", map[string]any{"$patch": "x"}),
		text("directive of a wrong type", map[string]any{"$patch": 1}),
		text("delete from a primitive list", map[string]any{"$deleteFromPrimitiveList/finalizers": []any{"x"}, "finalizers": []any{"y"}}),
		text("delete from no list", map[string]any{"$deleteFromPrimitiveList/finalizers": "x", "$deleteFromPrimitiveList/": nil}),
		text("order of primitives", map[string]any{"$setElementOrder/finalizers": []any{"b", "a"}, "finalizers": []any{"a"}}),
		text("list of directives", []any{map[string]any{"$patch": "replace"}, map[string]any{"$patch": "delete"}, nil}),
	}, mergePatches()...)
}

func (g *Generator) jsonPatch() []byte {
	all := []any{}
	for range 1 + g.number(4) {
		all = append(all, choose(g, "json patch", operations))
	}
	if g.once(8) { // each copy doubles what is there
		all = append(all, map[string]any{"op": "add", "path": "/metadata/annotations",
			"value": map[string]any{"a": strings.Repeat("x", 1000)}})
		all = append(all, slices.Repeat([]any{map[string]any{"op": "copy", "from": "/metadata", "path": "/metadata/annotations/b"}}, 30)...)
	}
	data := g.marshal(all)
	if g.once(8) {
		return choose(g, "damage", damages)(g, data)
	}
	return data
}

// operations are operations of a JSON patch.
func operations() []production[any] {
	path := func(g *Generator) string {
		return pick(g, "/data/a", "/metadata/labels/a", "/spec/replicas", "/spec/containers/0/image", "/spec/containers/-", "/metadata",
			"", "/",
			"/data/~1~0~2", "/spec/template/spec/containers/-1",
			"/metadata/finalizers/0", "/a/b/c/d", "/metadata/name", "/data/99999999999999999999", "x", "//")
	}
	op := func(name, verb string) production[any] {
		return production[any]{name, func(g *Generator) any {
			return map[string]any{"op": verb, "path": path(g), "from": path(g), "value": g.value()}
		}}
	}
	raw := func(name, text string) production[any] {
		return production[any]{name, constant[any](json.RawMessage(text))}
	}
	return []production[any]{
		op("add", "add"), op("remove", "remove"), op("replace", "replace"), op("move", "move"), op("copy", "copy"), op("test", "test"),
		op("unknown", "x"),
		raw("add data", `{"op":"add","path":"/data","value":{"a":"b"}}`),
		raw("no value", `{"op":"add","path":"/data/b"}`),
		raw("no path", `{"op":"test"}`),
		raw("null", `null`),
		raw("wrong types", `{"op":1,"path":[],"value":{}}`),
		raw("test null", `{"op":"test","path":"/data/none","value":null}`),
		raw("copy into itself", `{"op":"copy","from":"","path":"/data/x"}`),
		raw("move into itself", `{"op":"move","from":"/metadata","path":"/metadata/labels/x"}`),
	}
}

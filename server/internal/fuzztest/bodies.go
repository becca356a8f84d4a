package fuzztest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/request"
)

// body draws an object of the resource that was drawn, and may damage its JSON.
func (g *Generator) body() []byte {
	return g.damaged(choose(g, "body", bodies))
}

func (g *Generator) damaged(object map[string]any) []byte {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // the grammar has a value that is no JSON
	}
	if g.once(8) {
		return choose(g, "damage", damages)(g, data)
	}
	return data
}

func bodies() []production[map[string]any] {
	return []production[map[string]any]{
		{"sample", func(g *Generator) map[string]any { return g.sample() }},
		{"sample with metadata", func(g *Generator) map[string]any { return g.withMetadata(g.sample()) }},
		{"sample with grown fields", func(g *Generator) map[string]any {
			object := g.sample()
			for field, value := range g.grown() {
				if field != "metadata" {
					object[field] = g.graft(object[field], value)
				}
			}
			return object
		}},
		{"grown", func(g *Generator) map[string]any { return g.withMetadata(g.identified(g.grown())) }},
		{"sample with strange fields", func(g *Generator) map[string]any {
			object := g.sample()
			for range 1 + g.number(3) {
				g.plant(object)
			}
			return object
		}},
		{"other kind", func(g *Generator) map[string]any {
			object := g.sample()
			object["kind"], object["apiVersion"] = pick(g, "Status", "List", "Pod", "", "x"), pick(g, "v1", "none/v1", "", "a/b/c")
			return object
		}},
		{"list", func(g *Generator) map[string]any {
			return map[string]any{"apiVersion": g.resource.APIVersion(), "kind": g.resource.Kind + "List", "items": []any{g.sample(), nil}}
		}},
		{"nothing", constant[map[string]any](nil)},
	}
}

// sample is a valid object, if there is one for the kind.
func (g *Generator) sample() map[string]any {
	object := map[string]any{}
	body, _ := request.Sample(request.Kind{Group: g.resource.Group, Version: g.resource.Version, Kind: g.resource.Kind})
	name := g.plainName()
	body = strings.NewReplacer("NAMESPACE", g.surface.Namespaces[0], "NAME", name).Replace(body)
	if err := yaml.Unmarshal([]byte(body), &object); err != nil {
		panic(err) // samples are files of kx
	}
	if object == nil {
		object = map[string]any{}
	}
	if object["metadata"] == nil {
		object["metadata"] = map[string]any{"name": name}
	}
	return g.identified(object)
}

func (g *Generator) plainName() string {
	return pick(g, "fresh-0", "fresh-1", "fresh-2", pick(g, g.surface.Names...))
}

func (g *Generator) identified(object map[string]any) map[string]any {
	object["apiVersion"], object["kind"] = g.resource.APIVersion(), g.resource.Kind
	return object
}

func (g *Generator) withMetadata(object map[string]any) map[string]any {
	m, ok := object["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{"name": g.plainName()}
		object["metadata"] = m
	}
	for range 1 + g.number(3) {
		choose(g, "metadata", metadata)(m)
	}
	return object
}

// metadata are edits of an object's metadata.
func metadata() []production[func(map[string]any)] {
	field := func(name string, values ...any) production[func(map[string]any)] {
		return production[func(map[string]any)]{name, func(g *Generator) func(map[string]any) {
			v := pick(g, values...)
			return func(m map[string]any) { m[name] = v }
		}}
	}
	owner := func(kind, name, uid string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": true, "blockOwnerDeletion": true}
	}
	managed := func(fields any) []any {
		return []any{map[string]any{"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}}
	}
	return []production[func(map[string]any)]{
		{"generateName", func(g *Generator) func(map[string]any) {
			prefix := pick(g, "made-", "", strings.Repeat("g", 300), "UP_", "-")
			return func(m map[string]any) { delete(m, "name"); m["generateName"] = prefix }
		}},
		{"learned revision", func(g *Generator) func(map[string]any) {
			return func(m map[string]any) { m["resourceVersion"], m["uid"] = g.revision, g.uid }
		}},
		{"other name", func(g *Generator) func(map[string]any) {
			name := choose(g, "name", objectNames)
			return func(m map[string]any) { m["name"] = name }
		}},
		field("namespace", "far", "near", "none", "", "a/b"),
		field("finalizers", []any{"fuzz.example.com/stay"}, []any{"foregroundDeletion"}, []any{"orphan", "orphan"}, []any{""},
			[]any{"x", nil},
			"x"),
		field("ownerReferences", []any{owner("ConfigMap", "known", "x")}, []any{owner("ConfigMap", "", "")}, []any{owner("Node", "x", "y"),
			owner("Node", "z", "z")}, []any{nil}, "x"),
		field("managedFields", managed(map[string]any{"f:data": map[string]any{"f:a": map[string]any{}}}), managed("x"),
			managed(map[string]any{"k:{\"a\":": nil}), []any{nil}, []any{}),
		field("labels", map[string]any{"a": "b"}, map[string]any{"": "", "a/b/c": "x"}, map[string]any{"a": 1}, []any{}, nil),
		field("annotations", map[string]any{"a": "b\x1b[2J\u202e"}, map[string]any{"a": strings.Repeat("x", 300<<10)},
			map[string]any{"a": nil}),
		field("deletionTimestamp", "2020-01-01T00:00:00Z", "x", nil),
		field("creationTimestamp", "2020-01-01T00:00:00Z", "99999-01-01", 1, nil),
		field("deletionGracePeriodSeconds", -1, 1e18),
		field("generation", -1, "x", 9.5),
		field("resourceVersion", "1", "x", "-1", 1),
		field("uid", "x", "", 1),
		field("selfLink", "/x", 1),
	}
}

// plant puts a value of any type somewhere into an object.
func (g *Generator) plant(object map[string]any) {
	fields := slices.Sorted(maps.Keys(object))
	if len(fields) == 0 {
		object["x"] = g.value()
		return
	}
	field := pick(g, fields...)
	if inner, ok := object[field].(map[string]any); ok && g.number(4) != 3 {
		g.plant(inner)
		return
	}
	if list, ok := object[field].([]any); ok && len(list) > 0 && g.number(4) != 3 {
		if inner, ok := list[0].(map[string]any); ok {
			g.plant(inner)
			return
		}
	}
	if g.once(4) {
		field = "unknown"
	}
	object[field] = g.value()
}

// graft lays one value over another.
func (g *Generator) graft(old, value any) any {
	below, ok := old.(map[string]any)
	above, isMap := value.(map[string]any)
	if !ok || !isMap {
		return value
	}
	for field, v := range above {
		below[field] = g.graft(below[field], v)
	}
	return below
}

// values are values of any type.
func values() []production[any] {
	deep := func(n int) (v any) {
		for range n {
			v = []any{v}
		}
		return v
	}
	value := func(name string, v any) production[any] { return production[any]{name, constant(v)} }
	return []production[any]{
		value("null", nil), value("true", true), value("empty text", ""), value("text", "x"), value("zero", 0), value("negative", -1),
		value("max", json.Number("9223372036854775807")), value("over max", json.Number("9223372036854775808")),
		value("fraction", 0.5), value("huge", json.Number("1e400")), value("long number", json.Number(strings.Repeat("9", 400))),
		value("empty list", []any{}), value("empty map", map[string]any{}), value("null list", []any{nil}), value("null map",
			map[string]any{"": nil}),
		value("deep", deep(200)), value("long text", strings.Repeat("x", 70000)), value("hostile text", "\x00\x1b[2J\u202e\ufffd"),
		value("many", slices.Repeat([]any{"a"}, 2000)), value("date", "2026-01-01T00:00:00Z"), value("duration", "-1h"), value("quantity",
			"1Ei"),
		value("huge quantity", "1e999999999"), value("address", "10.0.0.1"), value("range", "10.0.0.0/40"), value("base64", "!!"),
		value("template", "$(A){{.b}}"), value("expression", "self.x > oldSelf.x"), value("path", "../../etc"), value("pattern", "(a+)+$"),
		value("named list", []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}),
	}
}

// damages are changes of an object's JSON that no tree can have.
func damages() []production[func(*Generator, []byte) []byte] {
	type change = func(*Generator, []byte) []byte
	made := func(name string, c change) production[change] { return production[change]{name, constant(c)} }
	return []production[change]{
		made("cut", func(g *Generator, b []byte) []byte { return b[:len(b)*g.number(16)/16] }),
		made("duplicate key", func(_ *Generator, b []byte) []byte {
			return bytes.Replace(b, []byte("{"), []byte(`{"kind":"X","metadata":{"name":"x"},"metadata":null,`), 1)
		}),
		made("other case", func(_ *Generator, b []byte) []byte {
			return bytes.Replace(b, []byte(`"metadata"`), []byte(`"Metadata"`), 1)
		}),
		made("more behind", func(_ *Generator, b []byte) []byte { return append(b, "{}x"...) }),
		made("byte order mark", func(_ *Generator, b []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) }),
		made("invalid UTF-8", func(_ *Generator, b []byte) []byte { return bytes.Replace(b, []byte(`"`), []byte("\"\xff"), 3) }),
		made("lone surrogate", func(_ *Generator, b []byte) []byte { return bytes.Replace(b, []byte(`"`), []byte(`"\ud800`), 3) }),
		made("deep lists", func(g *Generator, _ []byte) []byte {
			n := pick(g, 100, 9999, 10001, 100000)
			return []byte(strings.Repeat("[", n) + strings.Repeat("]", g.number(2)*n))
		}),
		made("deep maps", func(g *Generator, b []byte) []byte {
			n := pick(g, 100, 9998, 20000)
			return bytes.Replace(b, []byte("{"), []byte(`{"x":`+strings.Repeat(`{"x":`, n)+"1"+strings.Repeat("}", n)+","), 1)
		}),
		made("aliases", func(g *Generator, _ []byte) []byte {
			g.set("Content-Type", "application/yaml")
			text := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
			for i := range 9 {
				text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
			}
			return []byte(text)
		}),
		made("YAML", func(g *Generator, b []byte) []byte {
			g.set("Content-Type", "application/yaml")
			text, err := yaml.JSONToYAML(b)
			if err != nil {
				return b
			}
			return append(text, pick(g, "", "---\n", "a: !!binary x\n", "? [a]\n: b\n", "<<: {a: b}\n", "1: 2\ntrue: no\n")...)
		}),
		made("wrapped protobuf", func(g *Generator, b []byte) []byte {
			g.set("Content-Type", "application/vnd.kubernetes.protobuf")
			return append([]byte("k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12"), b[:min(len(b), 40)]...)
		}),
		made("protobuf of lengths", func(g *Generator, _ []byte) []byte {
			g.set("Content-Type", "application/vnd.kubernetes.protobuf")
			return []byte("k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\xff\xff\xff\xff\x07\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
		}),
		made("CBOR", func(g *Generator, _ []byte) []byte {
			g.set("Content-Type", "application/cbor")
			return []byte(pick(g, "\xd9\xd9\xf7\xa2\x44kind\x49ConfigMap\x4aapiVersion\x42v1", "\xd9\xd9\xf7\xbf",
				"\xd9\xd9\xf7\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
				strings.Repeat("\x81", 20000)+"\x80", "\xd9\xd9\xf7\xa1\x61a\xfb\x7f\xf8\x00\x00\x00\x00\x00\x00"))
		}),
		made("garbage", func(g *Generator, _ []byte) []byte {
			return []byte(pick(g, "", "null", "[]", "1", `"x"`, "{", "\x00", "a: b: c"))
		}),
	}
}

// value draws a value of any type, which the caller may change.
func (g *Generator) value() any { return clone(choose(g, "value", values)) }

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		copied := maps.Clone(v)
		for name, inner := range v {
			copied[name] = clone(inner)
		}
		return copied
	case []any:
		copied := slices.Clone(v)
		for i, inner := range v {
			copied[i] = clone(inner)
		}
		return copied
	}
	return v
}

package fuzztest

import (
	_ "embed"
	"strings"
)

// specialWrites has writes of objects whose meaning goes beyond their fields. A paragraph has the name of its
// production and the path, then the bodies; a line that begins with a tab continues the one before. The placeholders
// are in [Generator.fill].
//
//go:embed specials.txt
var specialWrites string

// specials are requests about objects whose meaning goes beyond their fields.
func specials() []production[string] {
	all := []production[string]{
		{"change of a definition", func(g *Generator) string {
			g.request.Method = pick(g, "PATCH", "PATCH", "DELETE")
			g.json([]byte(g.fill(`{"spec":{"versions":[VERSION,VERSION2]}}`)))
			g.set("Content-Type", "application/merge-patch+json")
			return "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.fuzz.example.com" + pick(g, "", "/status")
		}},
		{"dead API", func(g *Generator) string {
			g.request.Method = pick(g, "GET", "POST", "DELETE")
			const root = "/apis/dead.example.com"
			return pick(g, root+"/v1", root+"/v1/namespaces/near/things/x", root)
		}},
	}
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(specialWrites, "\n\t", ""), "\n\n") {
		lines := strings.Split(strings.TrimSpace(paragraph), "\n")
		name, path, _ := strings.Cut(lines[0], ": ")
		all = append(all, production[string]{name, func(g *Generator) string {
			g.request.Method = "POST"
			g.ask()
			g.json(g.damagedText(g.fill(pick(g, lines[1:]...))))
			return g.fill(path)
		}})
	}
	return all
}

// fill replaces the placeholders in a body by draws.
func (g *Generator) fill(text string) string {
	for _, p := range []struct {
		name string
		make func() string
	}{
		{"DEFINITION", func() string { return choose(g, "definition", definitions) }},
		{"VERSION2", func() string { return g.version("v2", g.number(2) == 1) }},
		{"VERSION", func() string { return g.version("v1", true) }},
		{"MATCH", func() string {
			return `"matchConstraints":` + pick(g,
				`{"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],"resources":["configmaps","widgets"]}]}`,
				`{"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*/*"]}],`+
					`"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In","values":["near"]}]}}`,
				`{}`)
		}},
		{"HOOK", func() string {
			return `{"name":"` + pick(g, "a.example.com", "b.example.com",
				"x") + `","sideEffects":"None","timeoutSeconds":1,"failurePolicy":"` + pick(g, "Ignore", "Fail") +
				`","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/x"},"rules":[{"apiGroups":[""],` +
				`"apiVersions":["v1"],"operations":["CREATE","CONNECT"],"resources":["configmaps/*","pods/*"]}],"matchConditions":[{"name":"a",` +
				`"expression":"` + choose(g, "expression", expressions) + `"}]}`
		}},
		{"EXPRESSION", func() string { return choose(g, "expression", expressions) }},
		{"NS", func() string { return pick(g, g.surface.Namespaces...) }},
		{"TOKEN", func() string { return g.token }},
	} {
		for strings.Contains(text, p.name) {
			text = strings.Replace(text, p.name, p.make(), 1)
		}
	}
	return text
}

func (g *Generator) damagedText(text string) []byte {
	if g.once(8) {
		return choose(g, "damage", damages)(g, []byte(text))
	}
	return []byte(text)
}

// expressions are of CEL.
func expressions() []production[string] {
	return append([]production[string]{
		{"long", constant(strings.Repeat("true && ", 3000) + "true")},
		{"nested", constant(strings.Repeat("(", 400) + "1" + strings.Repeat(")", 400) + " == 1")},
		{"costly", constant("[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, " +
			"[1,2,3,4,5,6,7,8,9].all(e, a+b+c+d+e > 0)))))")},
	}, constants("true", "false", "has(object.data)", "object.spec.x > 1", "self.size() < 100", "oldSelf == self", "self.x == oldObject.y",
		"1/0 == 1", "dyn({}).a", "'a' + 1", "(",
		"request.userInfo.username == 'editor'", "authorizer.group('').resource('secrets').check('get').allowed()",
		"namespaceObject.metadata.name == 'near'", "object.metadata.name.matches('(a+)+$')",
		"variables.v", "params.data.a == 'b'", "self.all(x, self.all(y, x == y))", "quantity('1Ei').isGreaterThan(quantity('x'))",
		"url('x').getHost()", "'x'.replace('', 'xxxxxxxx').size() > 0", "cidr('10.0.0.0/8').containsIP(ip('x'))")...)
}

// definitions are definitions of the custom resource widgets.fuzz.example.com.
func definitions() []production[string] {
	crd := func(name, spec string) production[string] {
		return production[string]{name,
			constant(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",` +
				`"metadata":{"name":"widgets.fuzz.example.com"},"spec":{"group":"fuzz.example.com",` +
				`"names":{"plural":"widgets","singular":"widget","kind":"Widget","shortNames":["wi"],"categories":["all"]},"scope":"Namespaced",` +
				spec + `}}`)}
	}
	return []production[string]{
		crd("one version", `"versions":[VERSION]`),
		crd("two versions", `"versions":[VERSION,VERSION2]`),
		crd("dead conversion",
			`"versions":[VERSION,VERSION2],"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],`+
				`"clientConfig":{"url":"https://127.0.0.1:1/x"}}}`),
		crd("unknown fields preserved", `"preserveUnknownFields":true,"versions":[VERSION]`),
		crd("no versions", `"versions":[]`),
		crd("other names", `"scope":"Cluster","names":{"plural":"x","kind":"Widget","listKind":"Widget"},"versions":[VERSION]`),
	}
}

// version is a version of the definition, with a schema that grows from draws.
func (g *Generator) version(name string, storage bool) string {
	stored := "false"
	if storage {
		stored = "true"
	}
	return `{"name":"` + name + `","served":` + pick(g, "true", "true", "true",
		"false") + `,"storage":` + stored + `,"schema":{"openAPIV3Schema":` + g.rootSchema() + `}` +
		pick(g, "", `,"subresources":{"status":{}}`,
			`,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n",`+
				`"labelSelectorPath":".status.s"}}`) +
		pick(g, "", `,"additionalPrinterColumns":[{"name":"x","type":"string","jsonPath":".spec.a"},{"name":"y","type":"date",`+
			`"jsonPath":".spec..[*]"}]`, `,"selectableFields":[{"jsonPath":".spec.a"}]`) + `}`
}

func (g *Generator) rootSchema() string {
	return pick(g, `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`,
		`{"type":"object","properties":{"spec":`+g.schema(0)+`,"status":{"type":"object","properties":{"n":{"type":"integer"},`+
			`"s":{"type":"string"}}}}}`,
		`{"type":"object","properties":{"spec":`+g.schema(0)+`,"metadata":{"type":"object","properties":{"name":{"type":"string",`+
			`"maxLength":7}}}},"x-kubernetes-validations":[{"rule":"`+choose(g, "expression", expressions)+`"}]}`,
		`{"type":"string"}`, `{}`)
}

func (g *Generator) schema(depth int) string {
	rules := ""
	if g.once(4) {
		rules = `,"x-kubernetes-validations":[{"rule":"` + choose(g, "expression",
			expressions) + `","messageExpression":"'x' + string(self)","optionalOldSelf":` + pick(g, "true", "false") + `}]`
	}
	inner := func() string {
		if depth > 3 {
			return `{"type":"integer"}`
		}
		return g.schema(depth + 1)
	}
	switch g.number(9) {
	case 1:
		return `{"type":"string","pattern":"` + pick(g, "^a", "(a+)+$", "(", "[") + `","maxLength":5,"default":"a"` + rules + `}`
	case 2:
		return `{"type":"array","items":` + inner() + `,"default":[]` + pick(g, "", `,"maxItems":3`, `,"x-kubernetes-list-type":"set"`,
			`,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]`) + rules + `}`
	case 3:
		return `{"type":"object","additionalProperties":` + inner() + rules + `}`
	case 4:
		return `{"x-kubernetes-int-or-string":true,"default":` + pick(g, "1", `"a"`, "1.5") + rules + `}`
	case 5:
		return `{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true` + rules + `}`
	case 6:
		return `{"type":"integer","minimum":0,"maximum":` + pick(g, "5", "1e400", "-1") + `,"format":"` + pick(g, "int32", "int64",
			"x") + `","nullable":true,"default":null` + rules + `}`
	case 7:
		return `{"type":"object","oneOf":[{"required":["a"]},{"not":{"required":["b"]}}],"properties":{"a":` + inner() +
			`},"default":{"a":1}` +
			rules + `}`
	case 8:
		return `{"type":"number","enum":[1,"a",null,2.5],"multipleOf":` + pick(g, "0", "0.1", "2") + rules + `}`
	}
	return `{"type":"object","properties":{"a":` + inner() + `,"b":{"type":"string"},"n":{"type":"integer"}},"required":["` + pick(g, "a",
		"b", "z") + `"]` + rules + `}`
}

// customs are requests for the custom resource.
func customs() []production[string] {
	request := func(name, path string, methods ...string) production[string] {
		return production[string]{name, func(g *Generator) string {
			version := pick(g, "v1", "v1", "v2", "v3")
			g.resource = Resource{Group: "fuzz.example.com", Version: version, Kind: "Widget", Name: "widgets", Namespaced: true}
			g.request.Method = pick(g, methods...)
			g.ask()
			if g.request.Method == "PATCH" {
				choose(g, "patch", patches)
			} else if g.request.Method != "GET" {
				object := g.withMetadata(g.identified(map[string]any{"metadata": map[string]any{"name": "fresh-0"},
					"spec": g.customValue(0)}))
				g.json(g.damaged(object))
			}
			return "/apis/fuzz.example.com/" + version + path
		}}
	}
	const all = "/namespaces/near/widgets"
	return []production[string]{
		request("create", all, "POST"),
		request("list", all, "GET"),
		request("list everywhere", "/widgets", "GET"),
		request("read", all+"/fresh-0", "GET"),
		request("update", all+"/fresh-0", "PUT"),
		request("patch", all+"/fresh-0", "PATCH"),
		request("status", all+"/fresh-0/status", "GET", "PUT", "PATCH"),
		request("scale", all+"/fresh-0/scale", "GET", "PUT", "PATCH"),
		request("delete", all+"/fresh-0", "DELETE"),
		request("delete all", all, "DELETE"),
	}
}

// customValue is a value that may fit a schema of the definition.
func (g *Generator) customValue(depth int) any {
	if depth > 3 || g.number(4) == 3 {
		return g.value()
	}
	if g.number(4) == 3 {
		return []any{g.customValue(depth + 1), g.customValue(depth + 1)}
	}
	return map[string]any{"a": g.customValue(depth + 1), "b": "x", "n": g.number(5)}
}

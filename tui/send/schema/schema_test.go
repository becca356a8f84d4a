package schema

import (
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kx-apiserver/kx/core/request"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// documents are what a server said.
var documents = sync.OnceValues(func() (map[string]*Document, error) {
	all := map[string]*Document{}
	for _, name := range []string{"core", "apps", "stable", "apiextensions"} {
		f, err := os.Open(filepath.Join("testdata", name+".json.gz"))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(z)
		if err != nil {
			return nil, err
		}
		if all[name], err = Read(data); err != nil {
			return nil, err
		}
	}
	return all, nil
})

func document(t testing.TB, name string) *Document {
	t.Helper()
	all, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	return all[name]
}

var (
	configMap  = request.Kind{Version: "v1", Kind: "ConfigMap"}
	deployment = request.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}
	cronTab    = request.Kind{Group: "stable.example.com", Version: "v1", Kind: "CronTab"}
)

// TestTemplates compares templates with golden files, and checks each with what would check it if it were typed.
func TestTemplates(t *testing.T) {
	for _, test := range []struct {
		file, doc string
		of        Description
	}{
		{"configmap", "core", Description{Kind: configMap, Namespace: "default"}},
		{"secret", "core", Description{Kind: request.Kind{Version: "v1", Kind: "Secret"}, Namespace: "default", Name: "s"}},
		{"pod", "core", Description{Kind: request.Kind{Version: "v1", Kind: "Pod"}, Namespace: "default"}},
		{"service", "core", Description{Kind: request.Kind{Version: "v1", Kind: "Service"}, Namespace: "default", Name: "web"}},
		{"event", "core", Description{Kind: request.Kind{Version: "v1", Kind: "Event"}, Namespace: "default"}},
		{"namespace", "core", Description{Kind: request.Kind{Version: "v1", Kind: "Namespace"}, Name: "n"}},
		{"serviceaccount", "core", Description{Kind: request.Kind{Version: "v1", Kind: "ServiceAccount"}, Namespace: "default"}},
		{"deployment", "apps", Description{Kind: deployment, Namespace: "default", Name: "web"}},
		{"scale", "apps", Description{Kind: request.Kind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, Namespace: "default", Name: "web"}},
		{"crontab", "stable", Description{Kind: cronTab, Namespace: "default"}},
		{"crd", "apiextensions", Description{Kind: request.Kind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}}},
		{"unknown", "core", Description{Kind: cronTab, Namespace: "default"}},
		{"merge-patch", "core", Description{Kind: configMap, Patch: request.MergePatch}},
		{"json-patch", "core", Description{Kind: configMap, Patch: request.JSONPatch}},
		{"apply", "core", Description{Kind: configMap, Namespace: "default", Name: "a", Patch: request.ApplyPatch}},
	} {
		d := document(t, test.doc)
		got := d.Template(test.of)
		golden(t, test.file+".yaml", got)
		if problems := d.Check(got, test.of); len(problems) > 0 {
			t.Errorf("%s: %v in\n%s", test.file, problems, got)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s: %v, got\n%s", name, err, got)
	}
}

// TestGenerated makes objects of schemas that nobody knows.
func TestGenerated(t *testing.T) {
	const doc = `{"components":{"schemas":{"T":{"type":"object","required":["spec"],
		"x-kubernetes-group-version-kind":[{"group":"g","version":"v1","kind":"T"}],
		"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object"},"status":{"type":"object"},
		"spec":{"type":"object","required":["a","deep","list","when","size"],"properties":{
			"a":{"type":"string","minLength":9},"size":{"type":"integer","minimum":3,"maximum":5},"when":{"type":"string","format":"date-time"},
			"list":{"type":"array","minItems":1,"items":{"type":"object","required":["n"],"properties":{"n":{"type":"number"},"self":{"$ref":"#/components/schemas/T"}}}},
			"deep":{"type":"object","required":["mode"],"properties":{"mode":{"type":"string","enum":["fast","slow"]},"other":{"type":"string"}}},
			"maybe":{"type":"string","pattern":"^x+$"},"port":{"x-kubernetes-int-or-string":true},"flag":{"type":"boolean","default":true},
			"tree":{"allOf":[{"$ref":"#/components/schemas/T"}],"description":"Another. And more."}}}}}}}}`
	d, err := Read([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	of := Description{Kind: request.Kind{Group: "g", Version: "v1", Kind: "T"}}
	got := d.Template(of)
	golden(t, "generated.yaml", got)
	if problems := d.Check(got, of); len(problems) > 0 {
		t.Errorf("%v", problems)
	}
	if _, err := Read([]byte("[")); err == nil {
		t.Error("that is no document")
	}
}

func TestCheck(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n"
	const cron = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a}\n"
	of := Description{Kind: configMap, Namespace: "default"}
	for _, test := range []struct {
		doc  string
		of   Description
		body string
		want string // the problems, one a line
	}{
		{"core", of, head + "data: {k: v}\n", ""},
		{"core", of, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, ""},
		{"core", of, "", "1:1 there is nothing in it"},
		{"core", of, "# only\n", "1:1 there is nothing in it"},
		{"core", of, head + "data: [a\n", "4:1 did not find expected ',' or ']'"},
		{"core", of, "data:\n\tk: v\n", "2:1 found character that cannot start any token"},
		{"core", of, "{\n  \"a\" 1\n}", "2:7 invalid character '1' after object key"},
		{"core", of, head + "---\na: b\n", "5:1 a second object: a request has one"},
		{"core", of, "- a\n", "1:1 an object is wanted, with apiVersion, kind and so on"},
		{"core", of, head + "dat: {}\n", "4:1 dat: unknown field: is it data?"},
		{"core", of, head + "nothing: {}\n", "4:1 nothing: unknown field"},
		{"core", of, head + "data: {k: 3}\n", "4:11 data.k: string is wanted, not integer: quote it"},
		{"core", of, head + "data: {k: on}\n", "4:11 data.k: string is wanted, not on, which the server reads as a boolean: quote it"},
		{"core", of, head + "data: {k: \"on\", l: 2026-01-01, m: null}\n", ""},
		{"core", of, head + "data: {k: {a: b}}\n", "4:11 data.k: string is wanted, not object"},
		{"core", of, head + "data: []\n", "4:7 data: object is wanted, not array"},
		{"core", of, head + "data: {k: v}\ndata: {}\n", "5:1 data: it is there twice"},
		{"core", of, head + "immutable: 1\nbinaryData: {k: '%'}\n",
			"4:12 immutable: boolean is wanted, not integer\n5:17 binaryData.k: base64 is wanted: illegal base64 data at input byte 0"},
		{"core", of, "kind: Pod\nmetadata: {namespace: other, labels: {a b: c, d: 'e f'}}\n",
			"1:1 apiVersion: it is required\n1:7 kind: the request is about ConfigMap, not Pod\n2:11 metadata.name: it is required, or generateName is\n" +
				"2:23 metadata.namespace: the request is about default, not other\n2:39 metadata.labels: *\n2:50 metadata.labels.d: *"},
		{"core", of, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_b}\n", "3:18 metadata.name: a lowercase RFC 1123 subdomain *"},
		{"core", Description{Kind: configMap, Name: "b"}, head, "3:18 metadata.name: the request is about b, not a"},
		{"core", Description{Kind: request.Kind{Version: "v1", Kind: "Service"}}, "apiVersion: v1\nkind: Service\nmetadata: {name: 1a}\n", "3:18 metadata.name: a DNS-1035 label *"},
		{"apps", Description{Kind: deployment}, web + "  replicas: x\n  template: {}\n",
			"5:3 spec.selector: it is required (object)\n5:13 spec.replicas: integer is wanted, not string"},
		{"apps", Description{Kind: deployment}, web + "  selector: {}\n  template: {spec: {containers: [{image: x, ports: [{containerPort: 99999999999}]}]}}\n",
			"6:34 spec.template.spec.containers[0].name: it is required (string)\n" +
				"6:69 spec.template.spec.containers[0].ports[0].containerPort: it does not fit into 32 bits"},
		{"apps", Description{Kind: deployment}, web + "  selector: {}\n  template: {spec: {containers: [{name: x, resources: {limits: {cpu: 1, memory: 1Gi}}}]}}\n", ""},
		{"apps", Description{Kind: deployment, Patch: request.MergePatch}, "spec: {replicas: null, paused: 3}", "1:32 spec.paused: boolean is wanted, not integer"},
		{"apps", Description{Kind: deployment, Patch: request.StrategicPatch}, "spec: {template: {spec: {containers: [{name: a, $patch: delete}]}}}", ""},
		{"apps", Description{Kind: deployment, Patch: request.JSONPatch}, "- {op: add, path: /a, value: 1}\n- {op: put, path: a}\n- {path: /a}\n- x\n- {op: move, path: /a}",
			"2:8 [1].op: there are add, remove, replace, move, copy, test\n2:19 [1].path: a path begins with /, such as /data/key\n" +
				"3:3 [2]: op is required: add, remove, replace, move, copy or test\n4:3 [3]: an operation is wanted, such as {op: remove, path: /data/key}\n5:3 [4].from: it is required"},
		{"apps", Description{Kind: deployment, Patch: request.JSONPatch}, "a: b", "1:1 a list of operations is wanted, such as - {op: remove, path: /data/key}"},
		{"stable", Description{Kind: cronTab}, cron + "spec: {cronSpec: '* *', image: x, replicas: many}\n", "4:25 spec.image: unknown field\n4:45 spec.replicas: integer is wanted, not string"},
		{"", of, head + "anything: 3\nanything: 4\n", "5:1 anything: it is there twice"},
	} {
		var d *Document
		if test.doc != "" {
			d = document(t, test.doc)
		}
		var got []string
		for _, p := range d.Check(test.body, test.of) {
			got = append(got, p.String())
		}
		if !same(strings.Join(got, "\n"), test.want) {
			t.Errorf("%q: got\n%s\nwant\n%s", test.body, strings.Join(got, "\n"), test.want)
		}
	}
}

// same compares lines; what is behind a * may be anything.
func same(got, want string) bool {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		if prefix, any := strings.CutSuffix(w[i], "*"); any && strings.HasPrefix(g[i], prefix) || g[i] == w[i] {
			continue
		}
		return false
	}
	return true
}

func FuzzCheck(f *testing.F) {
	f.Add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: &a {k: *a}\n", "")
	f.Add("- {op: add}", "json")
	f.Add("{\"a\": ", "merge")
	f.Fuzz(func(t *testing.T, body, patch string) {
		d := document(t, "core")
		lines := 2 // YAML ends lines with more than \n
		for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
			lines += strings.Count(body, end)
		}
		for _, p := range d.Check(body, Description{Kind: configMap, Patch: request.PatchType(patch)}) {
			if p.Line < 1 || p.Line > lines || p.Column < 1 {
				t.Errorf("%q: %v", body, p)
			}
		}
	})
}

package blame

import (
	"strings"
	"testing"
)

// TestOwners has fields with one owner, with two, with none, in lists with keys, of values and without, and below what is owned as a
// whole.
func TestOwners(t *testing.T) {
	const object = `{"kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"},"finalizers":["a.example.com/x","b.example.com/y"],"managedFields":[
	{"manager":"kubectl","operation":"Apply","time":"2026-11-01T00:00:00Z","fieldsV1":{"f:metadata":{"f:labels":{"f:app":{}},"f:finalizers":{"v:\"b.example.com/y\"":{}}},
		"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"side\"}":{".":{},"f:name":{},"f:image":{}}}}}}}},
	{"manager":"scaler","operation":"Update","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{},"f:selector":{}}}},
	{"manager":"old","operation":"Update","fieldsV1":{"f:spec":{"f:args":{"i:1":{}}}}},
	{"manager":"odd","operation":"Update"}]},
	"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"args":["a","b"],"template":{"spec":{"containers":[{"name":"main","image":"a"},{"name":"side","image":"b"}]}}}}`
	for path, want := range map[string]string{
		"spec.replicas":                          "3 kubectl Apply, scaler Update scale",
		"metadata.labels.app":                    `"web" kubectl Apply`,
		"spec.template.spec.containers[1].image": `"b" kubectl Apply`,
		"spec.template.spec.containers[0].image": `"a" `,
		"spec.template.spec.containers[7].image": " ",
		"spec.selector.matchLabels.app":          `"web" scaler Update scale`,
		"metadata.finalizers[1]":                 `"b.example.com/y" kubectl Apply`,
		"metadata.finalizers[0]":                 `"a.example.com/x" `,
		"spec.args[1]":                           `"b" old Update`,
		"spec.nothing":                           " ",
	} {
		value, owners, err := Owners([]byte(object), path)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, o := range owners {
			said = append(said, strings.TrimSpace(o.Manager+" "+o.Operation+" "+o.Subresource))
		}
		if got := value + " " + strings.Join(said, ", "); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for _, wrong := range [][2]string{{object, "spec["}, {"no object", "spec"}} {
		if _, _, err := Owners([]byte(wrong[0]), wrong[1]); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}

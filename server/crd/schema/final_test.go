package schema

import (
	"context"
	"strings"
	"testing"
)

// TestIsFinal tells objects that are read as they were written from those of which that is not known.
func TestIsFinal(t *testing.T) {
	const schema = `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {d: {type: string, default: x}}}}}`
	s := compile(t, schema)
	for _, tt := range []struct {
		obj  string
		want bool
	}{
		{`{}`, true},
		{`{spec: {d: y, n: 1, f: 1.5, b: true, list: [a, {k: [v]}]}}`, true},
		{`{spec: {}}`, false},                       // a default is missing
		{`{spec: {d: y, n: null}}`, false},          // a null may be dropped
		{`{spec: {d: y, list: [null]}}`, false},     //
		{`{metadata: {labels: {}}}`, false},         // it is written without
		{`{metadata: {name: one, what: 1}}`, false}, // so is that
	} {
		obj := thing(t, tt.obj)
		if got := checkFinal(t, s, obj); got != tt.want {
			t.Errorf("%s: %t", tt.obj, got)
		}
	}
	obj := thing(t, `{spec: {d: y}}`)
	if s.IsFinal(obj) {
		t.Error("a generation will be added")
	}
	for _, value := range []any{1.0, "\xff", 1, map[string]any{"\xff": "x"}} {
		obj := thing(t, `{metadata: {name: one, generation: 1}, spec: {d: y}}`)
		obj["spec"].(map[string]any)["v"] = value
		if s.IsFinal(obj) {
			t.Errorf("%#v is read as something else", value)
		}
	}
	embedded := compile(t, withSpec(`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`))
	if checkFinal(t, embedded, thing(t, `{spec: {}}`)) {
		t.Error("embedded resources are not looked at")
	}
	// What comes out of the other stages is nearly always final, and must be: writes are answered by it.
	route := compile(t, strings.ReplaceAll(routeSchema, "\t", " "))
	obj = thing(t, `{spec: {}}`)
	if _, err := route.Prune(context.Background(), obj, PruneOptions{}); err != nil {
		t.Fatal(err)
	}
	route.Default(context.Background(), obj)
	if !checkFinal(t, route, obj) {
		t.Errorf("%v is not final", obj)
	}
}

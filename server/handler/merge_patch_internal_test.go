package handler

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kjson "sigs.k8s.io/json"
)

var merges = []struct{ object, patch string }{
	{`{"a":1,"b":{"c":"d"}}`, `{"a":2,"b":{"e":[1,null,{"f":null}]}}`},
	{`{"a":1}`, `{"a":null,"b":null}`},
	{`{"a":{"b":{"c":1,"d":2}}}`, `{"a":{"b":{"c":null}}}`},
	{`{}`, `{"a":{"b":null,"c":{"d":null}}}`},
	{`{"a":[1]}`, `{"a":{"b":null}}`},
	{`{"a":null}`, `{"a":{"b":null}}`},
	{`{"a":{"b":1}}`, `{"a":[{"b":null}]}`},
	{`{"a":"x"}`, `{"a":[{"b":null,"c":[{"d":null}]}]}`},
	{`{"a":{"b":1}}`, `{"a":"x"}`},
	{`{"a":{"b":1}}`, `{"a":{}}`},
	{`{"a":1}`, `{}`},
}

// sameMerge compares with the library, which merges JSON.
func sameMerge(t *testing.T, object, patch string) {
	t.Helper()
	var content, changes map[string]any
	if kjson.UnmarshalCaseSensitivePreserveInts([]byte(object), &content) != nil || content == nil {
		return
	}
	if kjson.UnmarshalCaseSensitivePreserveInts([]byte(patch), &changes) != nil || changes == nil {
		return
	}
	merged, err := jsonpatch.MergePatch([]byte(object), []byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(merged, &want); err != nil {
		t.Fatal(err)
	}
	mergeContent(content, changes)
	if got, want := asJSON(t, content), asJSON(t, want); got != want {
		t.Errorf("%s with %s:\nwant %s\ngot  %s", object, patch, want, got)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMergeContent(t *testing.T) {
	for _, tt := range merges {
		sameMerge(t, tt.object, tt.patch)
	}
}

func FuzzMergeContent(f *testing.F) {
	for _, tt := range merges {
		f.Add(tt.object, tt.patch)
	}
	f.Fuzz(sameMerge)
}

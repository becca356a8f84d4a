package customresource

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
)

// TestCells prints a value as a column of each type. What is not of its type is no value.
func TestCells(t *testing.T) {
	for _, tc := range []struct {
		columnType string
		value      any
		want       string
	}{
		{"integer", int64(3), `3`}, {"integer", 3.7, `3`}, {"integer", "3", `null`}, {"integer", nil, `null`},
		{"number", int64(3), `3`}, {"number", 3.5, `3.5`}, {"number", true, `null`},
		{"boolean", true, `true`}, {"boolean", "true", `null`},
		{"string", "a", `"a"`}, {"string", int64(3), `"3"`}, {"string", 0.5, `"0.5"`}, {"string", false, `"false"`},
		{"string", map[string]any{"a": []any{int64(1)}}, `"{\"a\":[1]}"`}, {"string", nil, `"\u003cno value\u003e"`},
		{"date", "soon", `"\u003cinvalid\u003e"`}, {"date", int64(5), `null`}, {"date", "", `"\u003cunknown\u003e"`},
		{"other", "a", `null`},
	} {
		c := newColumns([]apiextensionsv1.CustomResourceColumnDefinition{{Name: "X", Type: tc.columnType, JSONPath: ".x"}})
		got, err := json.Marshal(cell(c.paths[0], tc.columnType, map[string]any{"x": tc.value}))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s of %v: want %s, got %s, %v", tc.columnType, tc.value, tc.want, got, err)
		}
	}
}

// TestCostlyColumns has columns whose paths validation accepts. None may end the process or take its memory.
func TestCostlyColumns(t *testing.T) {
	content := map[string]any{"x": []any{[]any{"a"}}, "y": map[string]any{"y": map[string]any{"y": "a"}}}
	for path, want := range map[string]any{
		".x[0][0]":     "a",
		".x[0,0][0,0]": "a",
		".x[0][0]" + strings.Repeat(" ", maxPathBytes):          nil,
		".x[" + strings.Repeat("0,", maxAlternatives) + "0][0]": nil,
		"..y..y":                      nil,
		".x[*]}{range .x[*]}{@}{end}": `["a"]`,
	} {
		c := newColumns([]apiextensionsv1.CustomResourceColumnDefinition{
			{Name: "X", Type: "string", JSONPath: path}, {Name: "Y", Type: "string", JSONPath: ".y.y.y"},
		})
		for range 2 {
			cells := c.cells("n", content)
			if len(cells) != 3 || cells[1] != want || cells[2] != "a" {
				t.Errorf("%.40s: want %v, got %v", path, want, cells)
			}
		}
	}
}

func TestFieldsThatCanNotBeSelectedBy(t *testing.T) {
	fields := newSelectableFields([]apiextensionsv1.SelectableField{{JSONPath: ".a["}, {JSONPath: ".a[*]"}, {JSONPath: ".b"}})
	content := map[string]any{"a": []any{"x", "y"}, "b": nil}
	for i, want := range []string{"unexpected error parsing jsonPath", "more than one JSON path result", ""} {
		value, err := fields[i].value(content)
		if value != "" || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", fields[i].name, value, err)
		}
	}
	s := &strategy{selectable: fields}
	if _, _, err := s.GetAttrs(&unstructured.Unstructured{Object: content}); err == nil {
		t.Error("an object whose fields can't be read was selected by them")
	}
	if _, _, err := s.GetAttrs(&metav1.Status{}); err == nil {
		t.Error("a Status has no such fields")
	}
}

// TestCodecWritesOneVersion makes sure that nothing else comes to lie on disk.
func TestCodecWritesOneVersion(t *testing.T) {
	c := benchCodec(t)
	for want, obj := range map[string]*unstructured.Unstructured{
		"it is stored as stable.example.com/v1, and came as stable.example.com/v2": {Object: map[string]any{"apiVersion": "stable.example.com/v2", "kind": "CronTab"}},
		"it is stored as stable.example.com/v1, and came as ":                      {},
	} {
		var out bytes.Buffer
		if err := c.Encode(obj, &out); err == nil || !strings.HasSuffix(err.Error(), want) || out.Len() > 0 {
			t.Errorf("want %q, got %v and %s", want, err, &out)
		}
	}
	if err := c.Encode(&metav1.Status{}, &bytes.Buffer{}); err == nil {
		t.Error("a Status was stored")
	}
	if _, _, err := c.Decode([]byte(`{}`), nil, &metav1.Status{}); err == nil {
		t.Error("a Status was read")
	}
	if id := c.Identifier(); id != "custom resource in stable.example.com/v1" {
		t.Errorf("got %s", id)
	}
}

// TestEncodersAreToldApart by version and form, for bytes are kept by them.
func TestEncodersAreToldApart(t *testing.T) {
	s := &serializer{}
	seen := map[string]bool{}
	for _, info := range s.SupportedMediaTypes() {
		for _, version := range []string{"v1", "v2"} {
			id := string(s.EncoderForVersion(info.Serializer, apischema.GroupVersion{Group: "g", Version: version}).Identifier())
			if seen[id] {
				t.Errorf("two encoders are called %s", id)
			}
			seen[id] = true
		}
	}
}

func FuzzStored(f *testing.F) {
	c := benchCodec(f)
	f.Add(benchObject())
	f.Add([]byte("\xd9\xd9\xf7\xa0"))
	f.Add([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"labels":{"a":1},"generation":"x"},"spec":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		obj, _, err := c.Decode(data, nil, nil)
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := c.Encode(obj, &first); err != nil {
			t.Fatalf("%q was read and can't be written: %v", data, err)
		}
		again, _, err := c.Decode(first.Bytes(), nil, nil)
		if err != nil {
			t.Fatalf("%q was written and can't be read: %v", &first, err)
		}
		if err := c.Encode(again, &second); err != nil || first.String() != second.String() {
			t.Errorf("%q: %v: %s became %s", data, err, &first, &second)
		}
	})
}

package request

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const sample = `# what a person may write
verb: create
resource: deploy
namespace: 007
query: {dryRun: All, x: [1, 2]}
headers: {kx-hold: "off"}
body:
  kind: Deployment # a comment stays
  metadata: {name: web}
---
# nothing
---
method: GET
path: /version
---
verb: patch
patch: merge
resource: v1/configmaps
namespace: default
name: a
body: |
  data: {k: v}
`

func TestParse(t *testing.T) {
	got, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := []Request{
		{Verb: Create, Resource: "deploy", Namespace: "007", Query: map[string][]string{"dryRun": {"All"}, "x": {"1", "2"}},
			Header: map[string][]string{"Kx-Hold": {"off"}}, Body: "kind: Deployment # a comment stays\nmetadata: {name: web}\n"},
		{Method: "GET", Path: "/version"},
		{Verb: Patch, Patch: MergePatch, Resource: "v1/configmaps", Namespace: "default", Name: "a", Body: "data: {k: v}\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	written, err := Format(got...)
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("testdata/formatted.yaml")
	if string(written) != string(golden) {
		t.Errorf("%v, written:\n%s", err, written)
	}
}

func TestParseErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "there is no request in it",
		"# nothing":                             "there is no request in it",
		"- a":                                   "line 1: a request is a mapping",
		"verb: [a":                              "request 1: ",
		"verb: get\nverb: list":                 "line 2: verb is said twice",
		"verb: get\nkind: Pod":                  `line 2: "kind": there are verb, patch, resource`,
		"verb: {a: b}":                          "line 1: one word is wanted",
		"verb: get\nresource: v1/pods":          "line 1: get which one?",
		"method: GET\npath: /x\nquery: x":       "line 3: names and values",
		"method: GET\npath: /x\nquery: {}\n":    "",
		"method: GET\npath: /x\nquery: {a: []}": "a has no value",
		"method: GET\npath: /x\nheaders: {\"a b\": c}":   "can't be a header",
		"method: GET\npath: /x\nheaders: {a: \"b\\nc\"}": "can't be a header",
		"method: GET\npath: /x\nheaders: {a: b, A: c}":   "A is said twice",
		"method: GET\npath: /x\nbody: [&a [x], *a]":      "anchors and aliases",
		"method: GET\npath: /x\nbody: !!binary '%'":      "read the body",
	} {
		_, err := Parse([]byte(in))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
	if _, err := Parse(make([]byte, FileBytesMost+1)); err == nil {
		t.Error("a file may be of any size")
	}
	if _, err := Parse([]byte(strings.Repeat("method: GET\npath: /x\n---\n", requestsMost+1))); err == nil {
		t.Error("a file may have any number of requests")
	}
}

// TestKept writes bodies that YAML does not like, and reads them again.
func TestKept(t *testing.T) {
	for _, body := range []string{"a", "a\n", " a\n b\n", "\n\na\n", "a\r\nb", "a\tb\n\tc\n", "---\na\n", "\xff\x00", "true", "null", "a: b # c\n\n\n", "x \ny\n", "\u2028", "é\u0085\n"} {
		r := Request{Method: "POST", Path: "/x", Body: body}
		kept(t, r)
	}
}

func kept(t *testing.T, r Request) {
	t.Helper()
	data, err := Format(r, r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	again, err := Parse(data)
	if err != nil {
		t.Fatalf("%+v\nis written as\n%s\nand then: %v", r, data, err)
	}
	if diff := cmp.Diff([]Request{r, r}, again, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("written as\n%s\nit is another:\n%s", data, diff)
	}
	line, err := FormatLine(r)
	if err != nil || strings.Contains(line, "\n") {
		t.Fatalf("%+v as a line: %q, %v", r, line, err)
	}
	if again, err = Parse([]byte(line)); err != nil || cmp.Diff([]Request{r}, again, cmpopts.EquateEmpty()) != "" {
		t.Fatalf("%s: %+v, %v", line, again, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("method: GET\npath: /x?a=b\nbody: |2\n   a\n"))
	f.Add([]byte("method: POST\npath: /x\nbody: !!binary AAE="))
	f.Add([]byte("verb: get\nresource: v1/pods\nname: \"\\x00\"\nheaders: {a: 'b'}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Parse(data)
		if err != nil {
			return
		}
		for _, r := range all {
			kept(t, r)
			_, _ = r.Build(nil)
		}
	})
}

func FuzzFrom(f *testing.F) {
	f.Add("GET", "/api/v1/namespaces/a/pods/b/log?x=y", "", []byte(nil))
	f.Add("PATCH", "/apis/apps/v1/namespaces/a%2Fb/deployments/c", "application/merge-patch+json; charset=utf-8", []byte("{}"))
	f.Fuzz(func(t *testing.T, method, uri, contentType string, body []byte) {
		r := ParseHTTP(method, uri, contentType, body)
		if r.Raw() && (r.Method != method || r.Path != uri) {
			t.Errorf("%s %s became %+v", method, uri, r)
		}
	})
}

package customresource_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWritesAnswerWithWhatIsRead compares the answer of each write with that of a GET after it: the one may be the bytes that
// were stored, the other is read.
func TestWritesAnswerWithWhatIsRead(t *testing.T) {
	eachStorage(t, func(t *testing.T) {
		s := serve(t, definition(t, crontabs))
		merge := []string{"Content-Type", "application/merge-patch+json"}
		for _, tc := range []struct{ name, spec, patch string }{
			{"plain", `{"cronSpec":"x"}`, `{"spec":{"replicas":2}}`},
			{"default", `{"cronSpec":"x","image":"y"}`, `{"spec":{"image":null}}`},
			{"numbers", `{"cronSpec":"x","anything":{"a":1.0,"b":-0.0,"c":1e3,"d":0.5}}`, `{"spec":{"anything":{"a":2.0}}}`},
			{"nulls", `{"cronSpec":"x","anything":{"a":null},"image":null}`, `{"spec":{"anything":{"b":[null]}}}`},
			{"text", `{"cronSpec":"<&>","anything":{"\u2028":"\ud800"}}`, `{"spec":{"anything":{"e":"\u00e9"}}}`},
			{"embedded", `{"cronSpec":"x","template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","more":1}}}`, `{"spec":{"template":{"metadata":{"x":1}}}}`},
			{"nothing", `{"cronSpec":"x"}`, `{}`},
			{"unknown", `{"cronSpec":"x","who":1}`, `{"spec":{"who":2,"suspend":true}}`},
			{"same", `{"cronSpec":"x"}`, `{"metadata":{"labels":{"a":"b"}}}`},
		} {
			check := func(what string, got *answer) {
				t.Helper()
				read := s.send(t, "GET", path("v1", "/"+tc.name), "").want(t, 200)
				if diff := cmp.Diff(read.body, got.body); diff != "" {
					t.Errorf("%s %s: %s", tc.name, what, diff)
				}
			}
			check("create", s.send(t, "POST", path("v1", ""), crontab("v1", tc.name, tc.spec)).want(t, 201))
			check("patch", s.send(t, "PATCH", path("v1", "/"+tc.name), tc.patch, merge...).want(t, 200))
			patched := s.send(t, "PATCH", path("v1", "/"+tc.name), tc.patch, merge...).want(t, 200)
			check("the same patch", patched)
			check("update", s.send(t, "PUT", path("v1", "/"+tc.name), strings.Replace(patched.body, `"cronSpec"`, `"suspend":false,"cronSpec"`, 1)).want(t, 200))
			check("status", s.send(t, "PATCH", path("v1", "/"+tc.name+"/status"), `{"status":{"replicas":1}}`, merge...).want(t, 200))
			beta := s.send(t, "PATCH", path("v1beta1", "/"+tc.name), `{"spec":{"cronSpec":"z"}}`, merge...).want(t, 200)
			if read := s.send(t, "GET", path("v1beta1", "/"+tc.name), "").want(t, 200); read.body != beta.body {
				t.Errorf("%s in v1beta1: %s", tc.name, cmp.Diff(read.body, beta.body))
			}
		}
	})
}

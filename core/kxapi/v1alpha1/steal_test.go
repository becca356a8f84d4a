package v1alpha1

import "testing"

// TestSteal patches the object that a request is about, and nothing behind it.
func TestSteal(t *testing.T) {
	for _, test := range []struct{ verb, uri, subresource, want string }{
		{"update", "/api/v1/namespaces/a/pods/b?timeout=1s", "", "/api/v1/namespaces/a/pods/b"},
		{"patch", "/api/v1/namespaces/a/pods/b/status/", "status", "/api/v1/namespaces/a/pods/b"},
		{"get", "/api/v1/namespaces/a/pods/b/proxy/admin", "proxy", ""},
		{"list", "/api/v1/namespaces/a/pods", "", ""},
	} {
		j := &Journey{Spec: JourneySpec{Verb: test.verb, URI: test.uri, Resource: "pods", Subresource: test.subresource, Name: "b"}}
		if _, path, _, _, ok := Steal(j); path != test.want || ok != (test.want != "") {
			t.Errorf("%s %s: %q, %v; want %q", test.verb, test.uri, path, ok, test.want)
		}
	}
}

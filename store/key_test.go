package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/store"
)

func TestPrepareKey(t *testing.T) {
	for _, test := range []struct {
		prefix, key string
		recursive   bool
		want, err   string
	}{
		{prefix: "/pods/", key: "/pods/ns/a", want: "/pods/ns/a"},
		{prefix: "/pods/", key: "/pods/ns", recursive: true, want: "/pods/ns/"},
		{prefix: "/pods/", key: "/pods/ns/", recursive: true, want: "/pods/ns/"},
		{prefix: "/pods/", key: "/pods", recursive: true, want: "/pods/"},
		{prefix: "/pods", key: "/pods", want: "/pods"},
		{prefix: "/pods/", key: "/pods/a..b/..c/d../.e/f.", want: "/pods/a..b/..c/d../.e/f."},
		{prefix: "/pods/", key: "/pods", err: `invalid key: "/pods" lacks resource prefix: "/pods/"`},
		{prefix: "/pods/", key: "/podsecurity/a", err: `lacks resource prefix`},
		{prefix: "/pods/", key: "pods/a", err: `lacks resource prefix`},
		{prefix: "/pods/", key: "", err: `empty key: ""`},
		{prefix: "/pods/", key: "/", err: `empty key: "/"`},
		{prefix: "/pods/", key: "/pods/..", err: `invalid key: "/pods/.."`},
		{prefix: "/pods/", key: "/pods/../a", err: `invalid key: "/pods/../a"`},
		{prefix: "/pods/", key: "../a", err: `invalid key: "../a"`},
		{prefix: "/pods/", key: "..", err: `invalid key: ".."`},
		{prefix: "/pods/", key: "/pods/.", err: `invalid key: "/pods/."`},
		{prefix: "/pods/", key: "/pods/./a", err: `invalid key: "/pods/./a"`},
		{prefix: "/pods/", key: "./a", err: `invalid key: "./a"`},
		{prefix: "/pods/", key: ".", err: `invalid key: "."`},
	} {
		got, err := store.PrepareKey(test.prefix, test.key, test.recursive)
		switch {
		case test.err == "" && (err != nil || got != test.want):
			t.Errorf("PrepareKey(%q, %q): %q, %v; want %q", test.prefix, test.key, got, err, test.want)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("PrepareKey(%q, %q): error %v, want %q", test.prefix, test.key, err, test.err)
		}
	}
}

// FuzzPrepareKey looks for a key that leads out of the resource.
func FuzzPrepareKey(f *testing.F) {
	f.Add("/pods/ns/a", true)
	f.Add("/pods/../x", false)
	f.Fuzz(func(t *testing.T, key string, recursive bool) {
		got, err := store.PrepareKey("/pods/", key, recursive)
		if err != nil {
			return
		}
		parts := strings.Split(got, "/")
		if !strings.HasPrefix(got, "/pods/") || slices.Contains(parts, "..") || slices.Contains(parts, ".") {
			t.Errorf("%q became %q", key, got)
		}
		if recursive && !strings.HasSuffix(got, "/") {
			t.Errorf("%q became %q, which is not below anything", key, got)
		}
	})
}

package v1alpha1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

func TestKeyName(t *testing.T) {
	for key, want := range map[string]string{
		"/registry/configmaps/default/settings": ":registry:configmaps:default:settings",
		"/registry/pods/":                       ":registry:pods:",
		"compact_rev_key":                       "compact_rev_key",
		"/registry/clusterroles/system:node":    ":registry:clusterroles:system=3Anode",
		"a=b%c d\x00\xff~":                      "a=3Db=25c=20d=00=FF=7E",
		".":                                     "=2E",
		"..":                                    "=2E=2E",
		"/":                                     ":",
	} {
		if got := KeyName(key); got != want {
			t.Errorf("%q is named %q, want %q", key, got, want)
		}
		if got, err := KeyOfName(want); err != nil || got != key {
			t.Errorf("%q names %q (%v), want %q", want, got, err, key)
		}
	}
	for _, name := range []string{"", "=", "=4", "=4g", "=3a", "a b", "a/b", "é", "a%2Fb"} {
		if key, err := KeyOfName(name); err == nil {
			t.Errorf("%q names %q", name, key)
		}
	}
}

func FuzzKeyName(f *testing.F) {
	for _, seed := range []string{"/registry/pods/a/b", "..", "\x00=:/%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		name := KeyName(key)
		if key == "" {
			return
		}
		if problems := content.IsPathSegmentName(name); len(problems) > 0 {
			t.Fatalf("%q: the name %q can't be in a path: %s", key, name, strings.Join(problems, ", "))
		}
		if back, err := KeyOfName(name); err != nil || back != key {
			t.Fatalf("%q is named %q, which names %q (%v)", key, name, back, err)
		}
		if back, err := KeyOfName(key); err == nil && KeyName(back) != key {
			t.Fatalf("%q and %q name the same key", key, KeyName(back))
		}
	})
}

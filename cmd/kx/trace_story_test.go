package main

import (
	"strings"
	"testing"
)

// TestTraceStory tells of a request that was answered, and of one that was refused.
func TestTraceStory(t *testing.T) {
	p := newTyping(t)
	for _, test := range []struct {
		typed []string
		code  int
		tells []string
	}{
		{[]string{"create", "configmap", "told"}, 0, []string{
			"asks for POST /api/v1/namespaces/default/configmaps", "filters let it pass: system:masters may do all.",
			"  etcd gets a transaction on /registry/configmaps/default/told — the key was free.", "The answer is 201", "etcd's revision ",
		}},
		{[]string{"create", "configmap", "told"}, 1, []string{"it fails", "already exists", "The answer is 409"}},
	} {
		if a := typeCommand(append(test.typed, "--trace")...); a.code != test.code {
			t.Fatalf("%v: exit code %d: %s", test.typed, a.code, a.err)
		} else {
			p.remember(a)
		}
		shown := typeCommand("trace", "show", p.values["ID"], "--story")
		for _, text := range test.tells {
			if shown.code != 0 || !strings.Contains(shown.out, text) {
				t.Errorf("%v: %q is not told (exit code %d): %s%s", test.typed, text, shown.code, shown.err, shown.out)
			}
		}
		if first, _, _ := strings.Cut(shown.out, "\n"); strings.HasPrefix(first, " ") {
			t.Errorf("the story begins with %q", first)
		}
	}
	if a := typeCommand("trace", "show", "--story", "--source", p.values["ID"]); a.code == 0 || !strings.Contains(a.err, "source") {
		t.Errorf("both at once: exit code %d: %s", a.code, a.err)
	}
}

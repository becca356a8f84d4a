//go:build unix

package main

import (
	"strings"
	"testing"
)

// TestTUIBelowInATerminal goes below the API in a terminal: to a key in etcd, its revisions and what they changed, to the
// request that wrote one, and to the watch cache, from before whose window a watch would begin that etcd has compacted.
func TestTUIBelowInATerminal(t *testing.T) {
	t.Parallel()
	user := newMachine(t)
	// Another server writes first, so that the caches of this one do not begin where etcd does.
	for _, words := range [][]string{
		{"create", "configmap", "settings", "--from-literal=color=red"},
		{"patch", "configmap", "settings", "--type=merge", `-p={"data":{"color":"green"}}`},
	} {
		if a := user.run("", words...); a.code != 0 {
			t.Fatalf("%v: %s", words, a.err)
		}
	}
	m := mux(t, user.command("tui", "--listen=127.0.0.1:0"))
	m.see("[1 Capture]", "live")
	if a := user.run("", "patch", "configmap", "settings", "--type=merge", `-p={"data":{"color":"blue"}}`); a.code != 0 {
		t.Fatal(a.err)
	}

	m.press("3")
	m.see("[3 etcd]", "- /registry/", "+ configmaps/", "follow on")
	m.press("f", "configmaps", "Enter", "l")
	m.see("- configmaps/", "+ default/")
	m.press("l", "l")
	m.see("- default/", "kube-root-ca.crt", "settings")
	m.press("l", "j")
	m.see("/registry/configmaps/default/settings", "update", "create", "color: blue", "kx etcd get /registry/configmaps/default/settings")
	m.press("Enter", "d")
	m.see("[diff]", "-   color: green", "+   color: blue")
	if a := user.run("", "patch", "configmap", "settings", "--type=merge", `-p={"data":{"color":"black"}}`); a.code != 0 {
		t.Fatal(a.err)
	}
	m.see("* ", "+   color: black") // it follows
	m.press("Enter")
	m.see("[1 Capture]", "patch", "default/settings", "Steps")
	m.press("3", "j", "j", "j", "@")
	m.see("as at which revision")
	m.press("Enter")
	m.see("AS AT REVISION", "(later)")
	m.press("H")
	m.see("[4 Cache]", "Watches configmaps", "comes from etcd", "lag 0")
	m.press("d")
	m.see("The same: all 7 objects") // two are made by every server, and one in each namespace
	if a := user.run("", "etcd", "compact"); a.code != 0 {
		t.Fatal(a.err)
	}
	m.press("@")
	m.see("from which revision")
	m.press("C-u", "2", "Enter")
	m.see("410 Gone: too old resource version: 2", "list again", "watch from there")
	m.press("I")
	m.see("the present state ends here", "default/settings", "live")

	a := user.run("", "get", "key", ":registry:configmaps:default:settings", "-o", "jsonpath={.status.version} {.status.value.format} {.status.value.object.data.color}")
	if a.out != "4 protobuf black" {
		t.Errorf("kubectl says %q %s", a.out, a.err)
	}
	if a := user.run("", "get", "keys"); !strings.Contains(a.out, ":registry:") || !strings.Contains(a.out, "/registry/") {
		t.Errorf("kubectl lists %q %s", a.out, a.err)
	}
	m.press("q")
	m.see("left with 0")
}

//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPluginsOfAStranger gives commands a kubeconfig whose credentials come from a program. It runs, as with kubectl, but where the
// user's kuberc forbids it.
func TestPluginsOfAStranger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	plugin := filepath.Join(dir, "plugin")
	if err := os.WriteFile(plugin, fmt.Appendf(nil, "#!/bin/sh\n: > %s\n", ran), 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users:
- name: u
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}}
`, plugin), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		policy string
		runs   bool
		says   string
	}{
		{"", true, ""},
		{"credentialPluginPolicy: AllowAll", true, ""},
		{"credentialPluginPolicy: DenyAll", false, "DenyAll"},
		{"credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{name: another}]", false, "allowlist"},
		{"credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{name: " + plugin + "}]", true, ""},
		{"credentialPluginPolicy: Allowlist", false, "no credential plugin is run: kuberc: "},
		{"credentialPluginPolicy: Sometimes", false, "no credential plugin is run: kuberc: "},
	} {
		m := newMachine(t)
		if err := os.MkdirAll(filepath.Join(m.home, ".kube"), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n" + test.policy
		if err := os.WriteFile(filepath.Join(m.home, ".kube", "kuberc"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"get", "configmaps"}, {"trace", "list"}} {
			_ = os.Remove(ran)
			answer := m.run("", append(command, "--kubeconfig", kubeconfig)...)
			if _, err := os.Stat(ran); (err == nil) != test.runs {
				t.Errorf("%q: kx %s ran the plugin: %v", test.policy, command[0], err == nil)
			}
			if answer.code == 0 || !strings.Contains(answer.err, test.says) {
				t.Errorf("%q: kx %s ended with %d and said %s, want %q", test.policy, command[0], answer.code, answer.err, test.says)
			}
		}
	}
}

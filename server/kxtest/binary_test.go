package kxtest

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// program writes a script, and returns its path.
func program(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVersions: a kx that does not serve is named with its version if that is another one.
func TestVersions(t *testing.T) {
	old := program(t, t.TempDir(), "kx", "echo 'kx 0.1.0, Kubernetes v1.30.0+kx'")
	other := program(t, t.TempDir(), "kx", "exit 1")
	for _, test := range []struct{ path, version, want string }{
		{old, "v0.5.0", old + " serve ended; its version is 0.1.0, and that of this package v0.5.0: have the variable KX name"},
		{other, "v0.5.0", "its version is unknown"},
		{old, "v0.1.0", ""},
		{old, "", ""}, // a checkout has no version
	} {
		said := unfit(test.path, test.version, "ended").Error()
		if !strings.Contains(said, test.want) || test.want == "" && said != test.path+" serve ended" {
			t.Errorf("%q lacks %q", said, test.want)
		}
	}
}

// TestBuild: a build that was killed leaves nothing that passes for a kx, and of two at once one builds.
func TestBuild(t *testing.T) {
	path := os.Getenv("PATH")
	cache, tools := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("PATH", tools+string(os.PathListSeparator)+path)
	program(t, tools, "go", `mkdir -p "$GOBIN"; printf half >"$GOBIN/kx"; kill -9 $$`)
	if _, err := build("", "v0.5.0"); err == nil {
		t.Error("a build that was killed is none")
	}
	program(t, tools, "go", `mkdir -p "$GOBIN"; printf whole >>"$GOBIN/kx"; echo "$@" >>`+tools+"/calls")
	var both sync.WaitGroup
	for range 2 {
		both.Add(1)
		go func() {
			defer both.Done()
			kx, err := build("", "v0.5.0")
			if text, _ := os.ReadFile(kx); err != nil || string(text) != "whole" {
				t.Errorf("%s has %q: %v", kx, text, err)
			}
		}()
	}
	both.Wait()
	calls, err := os.ReadFile(filepath.Join(tools, "calls"))
	if err != nil || strings.Count(string(calls), "\n") != 1 || !strings.HasSuffix(string(calls), kxCommand+"@v0.5.0\n") {
		t.Errorf("%v: %s", err, calls)
	}
}

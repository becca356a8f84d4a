package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/steps"
)

// TestEveryStep finds what every step is called upstream in the modules that this program is built with, where they are on
// this machine.
func TestEveryStep(t *testing.T) {
	m := localModules()
	for _, module := range []string{"k8s.io/apiserver", "go.etcd.io/etcd/client/v3", "k8s.io/apiextensions-apiserver"} {
		if m.Versions[module] == "" {
			m.Versions[module] = required(t, module) // a test has no build info
		}
	}
	found := map[string]int{}
	for _, id := range steps.All() {
		up := steps.InfoOf(id.String()).Upstream
		s := upstreamSymbol{Name: up.Symbol, File: up.File, Release: up.Release}
		module, _ := s.module()
		if module == "" || !strings.HasPrefix(s.link(7), "https://github.com/") || !strings.HasSuffix(s.link(7), up.File+"#L7") {
			t.Errorf("%s: %+v is in %q, published at %s", id, s, module, s.link(7))
		}
		if m.Versions[module] == "" {
			continue // not a module of which there is source here for sure
		}
		c, err := m.Find(s)
		if err != nil {
			t.Logf("%s: %v", id, err) // a build from a vendored tree has no module cache
			continue
		}
		_, last, _ := strings.Cut(up.Symbol, ".")
		if last == "" {
			last = up.Symbol
		}
		line := strings.Split(c.Text, "\n")[c.Line-1]
		if !strings.Contains(line, last) {
			t.Errorf("%s: line %d of %s is %q: %s is not declared there", id, c.Line, c.File, line, up.Symbol)
		}
		found[module]++
	}
	t.Logf("found: %v", found)
}

// required is the version of a module in go.mod.
func required(t *testing.T, module string) string {
	t.Helper()
	data, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == module {
			return f[1]
		}
	}
	t.Fatalf("go.mod does not require %s", module)
	return ""
}

func TestFindUpstream(t *testing.T) {
	root := filepath.Join(t.TempDir(), "mod")
	write := func(file, text string) {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("k8s.io/apiserver@v0.9.2/pkg/a.go", "package a\n\ntype Store[T any] struct{}\n\nfunc (s *Store[T]) Get() {}\n\nfunc Get() {}\n\ntype Reader interface {\n\tRead()\n}\n")
	write("k8s.io/kubernetes@v1.9.1/pkg/b.go", "not Go")
	write("../out/secret", "not for a capture to choose")
	m := modules{Root: root, Versions: map[string]string{"k8s.io/apiserver": "v0.9.2"}}
	for _, test := range []struct {
		symbol  upstreamSymbol
		line    int
		release string
		err     string
	}{
		{upstreamSymbol{"Store.Get", "staging/src/k8s.io/apiserver/pkg/a.go", "v1.9.1"}, 5, "v1.9.2", ""},
		{upstreamSymbol{"Get", "staging/src/k8s.io/apiserver/pkg/a.go", "v1.9.1"}, 7, "v1.9.2", ""},
		{upstreamSymbol{"Reader.Read", "staging/src/k8s.io/apiserver/pkg/a.go", "v1.9.1"}, 10, "v1.9.2", ""},
		{upstreamSymbol{"Gone", "staging/src/k8s.io/apiserver/pkg/a.go", "v1.9.1"}, 1, "v1.9.2", ""},
		{upstreamSymbol{"Anything", "pkg/b.go", "v1.9.1"}, 1, "v1.9.1", ""},
		{upstreamSymbol{"Get", "staging/src/k8s.io/client-go/a.go", "v1.9.1"}, 0, "", "k8s.io/client-go v0.9.1 is not on this machine: go mod download k8s.io/client-go@v0.9.1 gets it"},
		{upstreamSymbol{"Get", "staging/src/k8s.io/apiserver/../../../secret", "v1.9.1"}, 0, "", "no module publishes"},
		{upstreamSymbol{"Get", "secret", "/../../../out"}, 0, "", "no module publishes"},
		{upstreamSymbol{"Get", "staging/src/../../secret/x", "v1.9.1"}, 0, "", "no module publishes"},
		{upstreamSymbol{"Get", "server/mvcc/kv.go", "v3.6.0"}, 0, "", "no module publishes"},
		{upstreamSymbol{}, 0, "", "no module publishes"},
	} {
		c, err := m.Find(test.symbol)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%+v: %v, want %s", test.symbol, err, test.err)
			}
		case err != nil || c.Line != test.line || c.Release != test.release:
			t.Errorf("%+v: %+v, %v; want line %d of %s", test.symbol, c, err, test.line, test.release)
		}
	}
}

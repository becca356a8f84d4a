package trace_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// TestStepless: what does the work of a function is in the file that the table names, and the steps that its text names exist.
func TestStepless(t *testing.T) {
	named := regexp.MustCompile(`\b[a-z0-9]+\.[a-z][a-z-]+\b`)
	names := map[string]bool{}
	for _, s := range steps.AllStepless() {
		declared := false
		ast.Inspect(parse(t, token.NewFileSet(), filepath.Join(moduleRoot, s.File), nil).file, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			declared = declared || ok && name.Name == s.Function
			return !declared
		})
		if !declared {
			t.Errorf("%s has no %s", s.File, s.Function)
		}
		if !strings.HasSuffix(s.Text, ".") {
			t.Errorf("%q is no sentence", s.Text)
		}
		for _, step := range named.FindAllString(s.Text, -1) {
			if _, ok := steps.Lookup(step); !ok {
				t.Errorf("%q: there is no step %s", s.Text, step)
			}
		}
		for _, name := range s.Names {
			if names[strings.ToLower(name)] || steps.LookupStepless(strings.ToUpper(name)) == nil {
				t.Errorf("%s is there twice, or not found", name)
			}
			names[strings.ToLower(name)] = true
		}
	}
	for _, id := range steps.All() {
		for _, name := range steps.Functions(id.String()) {
			if names[strings.ToLower(name)] {
				t.Errorf("%s is a function of %s, so no filter may refuse it", name, id)
			}
		}
	}
}

// TestSteplessInFilters: a filter refuses a word that finds nothing, and reads the same word in quotes as a text, also from its own form.
func TestSteplessInFilters(t *testing.T) {
	for _, text := range []string{"LogIfLong", "verb:get !logiflong", "a | (b LogIfLong)", "trace.LogIfLong"} {
		if _, err := filter.Parse(text, trace.Names); err == nil || !strings.Contains(err.Error(), "annotateLatency, server/filter/latency.go") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`"LogIfLong"`, "LogIfLonger", "step:etcd.txn", "name:LogIfLong"} {
		f, err := filter.Parse(text, trace.Names)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if again, err := filter.Parse(f.String(), trace.Names); err != nil || again.String() != f.String() {
			t.Errorf("%s became %s: %v", text, f, err)
		}
	}
}

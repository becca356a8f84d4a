package main

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/docs"
	"github.com/kx-apiserver/kx/server"
)

// TestFlagsAreDocumented holds docs/serve.md against the flags, both ways.
func TestFlagsAreDocumented(t *testing.T) {
	text, err := fs.ReadFile(docs.Files, "serve.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("`--([a-z0-9-]+)`").FindAllSubmatch(text, -1) {
		documented[string(m[1])] = true
	}
	newServeCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if !documented[f.Name] {
			t.Errorf("--%s is not in docs/serve.md", f.Name)
		}
		delete(documented, f.Name)
	})
	for name := range documented {
		t.Errorf("docs/serve.md has --%s, which is no flag", name)
	}
}

// TestFiltersOfDocuments: each step, layer, reason and verb that a filter of the documents asks for exists.
func TestFiltersOfDocuments(t *testing.T) {
	files, err := fs.Glob(docs.Files, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	term := regexp.MustCompile(`\b(step|layer|reason|verb|phase|method):[a-zA-Z][a-zA-Z0-9.*,-]*[a-z0-9A-Z*]`)
	terms := 0
	for _, name := range files {
		text, err := fs.ReadFile(docs.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, asked := range term.FindAll(text, -1) {
			terms++
			if _, err := filter.Parse(string(asked), server.Reasons().Names); err != nil {
				t.Errorf("docs/%s: %s: %v", name, asked, err)
			}
		}
	}
	if terms == 0 {
		t.Error("the documents have no filter: this test reads them wrongly")
	}
}

// TestJourneyOfTheReadme sends the request that the README shows, until its bytes are cached, and compares what is said of it.
func TestJourneyOfTheReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```console\n\\$ kx ([^\n]*) > /dev/null\n(GET .*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("the README shows no journey")
	}
	p := serve(t, "--data-dir", t.TempDir())
	ask := func(args ...string) string {
		t.Helper()
		cmd := kx(t, append(args, "--kubeconfig", p.kubeconfig)...)
		var said strings.Builder
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, &said)
		}
		return said.String()
	}
	ask("create", "configmap", "hello", "--from-literal=who=world")
	changes := regexp.MustCompile(`\d+(\.\d+)?[µm]?s|\d+ bytes|journey \S+|at \d+| +`)
	want := changes.ReplaceAllString(string(block[2]), " ")
	got := ""
	for range 100 { // until the cache has begun
		if got = changes.ReplaceAllString(ask(strings.Fields(string(block[1]))...), " "); got == want {
			return
		}
	}
	t.Errorf("kx says\n%s\nand not, as the README has it,\n%s", got, want)
}

package main

import (
	"io/fs"
	"regexp"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kx-apiserver/kx/docs"
	"github.com/kx-apiserver/kx/server/options"
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
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	options.New().AddFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if !documented[f.Name] {
			t.Errorf("--%s is not in docs/serve.md", f.Name)
		}
		delete(documented, f.Name)
	})
	for name := range documented {
		t.Errorf("docs/serve.md has --%s, which is no flag", name)
	}
}

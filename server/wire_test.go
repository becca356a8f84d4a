package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/wiretest"
)

// tokens writes a token file.
func tokens(t testing.TB, lines string) func(*options.Options) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.csv")
	must(t, os.WriteFile(file, []byte(lines), 0o600))
	return func(o *options.Options) { o.Access.TokenAuthFile = file }
}

// TestWire sends the requests of the transcripts, in the order of the files. -rewrite accepts what comes back. The module
// in testdata/upstream sends the same to the library of Kubernetes and compares.
func TestWire(t *testing.T) {
	t.Parallel()
	r := start(t, tokens(t, "somebody,ann,1\n"))
	c := &wiretest.Client{URL: r.URL, Admin: r.httpClient(t), Anyone: r.anyone(t)}
	datadriven.Walk(t, filepath.Join("testdata", "wire"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "ask" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return c.Ask(t, d.Input)
		})
	})
}

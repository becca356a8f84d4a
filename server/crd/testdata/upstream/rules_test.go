package upstream

import (
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kx-apiserver/kx/server/internal/crdtest"
)

// TestRules tries kx's good and bad definitions on upstream.
func TestRules(t *testing.T) {
	up := startUpstream(t)
	c := &crdtest.Client{URL: up.URL, HTTP: up.Admin, Settle: func(t testing.TB, name string) { crdtest.Wait(t, up, name, "Established=True") }}
	datadriven.RunTest(t, filepath.Join("..", "..", "definition", "testdata", "rules.txt"), func(t *testing.T, d *datadriven.TestData) string {
		got := c.Try(t, d.Cmd, d.Input)
		if got != d.Expected {
			t.Errorf("%s\n%s\nupstream answers\n%s\nwant\n%s", d.Pos, d.Input, got, d.Expected)
		}
		return d.Expected // go on with the next one
	})
}

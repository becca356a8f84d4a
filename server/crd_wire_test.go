package server_test

import (
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/kx-apiserver/kx/server/internal/crdtest"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
)

// TestCRDWire sends the requests of crd's transcripts, whose answers are those of upstream's server: the module in
// crd/testdata/upstream recorded them.
func TestCRDWire(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := &wiretest.Client{URL: r.URL, Admin: r.httpClient(t), Anyone: r.anyone(t)}
	datadriven.Walk(t, filepath.Join("crd", "testdata", "wire"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if got := crdtest.Wire(t, c, d); got != d.Expected && !d.HasArg("kx") {
				t.Errorf("%s\n%s\n-upstream +kx\n%s", d.Pos, d.Input, cmp.Diff(d.Expected, got))
			}
			return d.Expected // kx's answers are not what is to be recorded
		})
	})
}

package definition_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestRules tries the definitions of a transcript. -rewrite accepts what comes back. The module in
// server/crd/testdata/upstream tries the same on upstream's server.
func TestRules(t *testing.T) {
	s := start(t)
	datadriven.RunTest(t, "testdata/rules.txt", func(t *testing.T, d *datadriven.TestData) string {
		return s.Try(t, d.Cmd, d.Input)
	})
}

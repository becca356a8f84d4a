package journey

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
)

func TestCompare(t *testing.T) {
	a, b := journey(), journey()
	b.Status.Steps = append(b.Status.Steps[:7:7], b.Status.Steps[7:]...)
	b.Status.Steps[4].Why, b.Status.Steps[1].ID = "other "+escapetest.Any(), "filter.c"
	var out strings.Builder
	Compare(&out, a, b, Plain)
	for _, want := range []string{
		"8 steps in both", "1 of them went otherwise; 1 in the first alone, 1 in the second alone",
		"<      2µs        -  filter.b  second", ">        -      2µs  filter.c  second",
		"~      6µs      6µs    handler.mutate  admit\n", "< two of \uFFFD them\n", "> other a\uFFFD[2Jb a\uFFFD[31", "       1µs      1µs  filter.a  first\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	if escapetest.Find(out.String(), "\n") != "" {
		t.Errorf("%q", &out)
	}
}

package trace_test

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/trace"
)

func maker() func() int { n := len("x"); return func() int { return n } }

func TestSiteOf(t *testing.T) {
	for _, test := range []struct {
		of       any
		function string
		line     int
	}{
		{maker, "core/trace_test.maker", 10},
		{maker(), "core/trace_test.", 10},
		{TestSiteOf, "core/trace_test.TestSiteOf", 12},
	} {
		site := trace.SiteOf(test.of)
		if !strings.HasPrefix(site.Function, test.function) || site.File != "core/trace/site_test.go" || site.Line != test.line {
			t.Errorf("%+v, want %s in line %d", site, test.function, test.line)
		}
	}
}

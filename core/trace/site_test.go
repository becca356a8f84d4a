package trace_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/trace"
)

func maker() func() int { n := len("x"); return func() int { return n } }

type embedded struct{ n int }

func (e *embedded) Own() int { return e.n }

type embedding struct{ *embedded }

type embeddingValue struct{ embedded }

type owner interface{ Own() int }

type embeddingInterface struct{ owner }

type generic[T any] struct{ of T }

func (g *generic[T]) Own() T { return g.of }

// TestMethodOf finds methods where they are declared: of the type itself, and of what it embeds.
func TestMethodOf(t *testing.T) {
	for _, test := range []struct {
		of       any
		name     string
		function string
	}{
		{&embedded{}, "Own", "core/trace_test.(*embedded).Own"},
		{embedding{}, "Own", "core/trace_test.(*embedded).Own"},
		{&embedding{}, "Own", "core/trace_test.(*embedded).Own"},
		{&embeddingValue{}, "Own", "core/trace_test.(*embedded).Own"},
		{&generic[int]{}, "Own", "core/trace_test.(*generic[...]).Own"},
		{&embeddingInterface{}, "Own", ""},
		{&embedded{}, "Other", ""},
	} {
		site := trace.MethodOf(reflect.TypeOf(test.of), test.name)
		if site.Function != test.function || (site.File == "core/trace/site_test.go") != (test.function != "") {
			t.Errorf("%T.%s: %+v, want %s", test.of, test.name, site, test.function)
		}
	}
}

func TestSiteOf(t *testing.T) {
	for _, test := range []struct {
		of       any
		function string
		line     int
	}{
		{maker, "core/trace_test.maker", 11},
		{maker(), "core/trace_test.", 11},
		{TestSiteOf, "core/trace_test.TestSiteOf", 51},
	} {
		site := trace.SiteOf(test.of)
		if !strings.HasPrefix(site.Function, test.function) || site.File != "core/trace/site_test.go" || site.Line != test.line {
			t.Errorf("%+v, want %s in line %d", site, test.function, test.line)
		}
	}
}

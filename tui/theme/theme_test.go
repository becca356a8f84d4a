package theme

import (
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/muesli/termenv"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Name{"": Auto, "auto": Auto, "Light": Light, "dark": Dark} {
		if got, err := Parse(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	if _, err := Parse("pink"); err == nil || !strings.Contains(err.Error(), "light") {
		t.Errorf("pink: %v", err)
	}
}

// luminance is WCAG's relative luminance of #RRGGBB.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil || len(hex) != 7 {
		t.Fatalf("%q is no colour", hex)
	}
	channel := func(shift int) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}

func contrast(t *testing.T, a, b string) float64 {
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func TestContrast(t *testing.T) {
	for name, p := range palettes {
		for _, text := range []string{p.text, p.dim, p.focus, p.key, p.good, p.bad, p.notice, p.layer} {
			if c := contrast(t, text, backgrounds[name]); c < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.1f", name, text, backgrounds[name], c)
			}
		}
		if c := contrast(t, p.text, p.selectedBack); c < 4.5 {
			t.Errorf("%s: the selected row has a contrast of %.1f", name, c)
		}
	}
}

func TestStyles(t *testing.T) {
	for _, test := range []struct {
		theme    Theme
		coloured bool
	}{
		{Plain(), false},
		{New(Dark, io.Discard), false}, // not a terminal
		{Fixed(Light, termenv.ANSI), true},
		{Fixed(Dark, termenv.TrueColor), true},
	} {
		v := reflect.ValueOf(test.theme)
		for i := range v.NumField() {
			style, ok := v.Field(i).Interface().(Style)
			if !ok {
				continue
			}
			if got := style("x"); (got != "x") != test.coloured {
				t.Errorf("%s paints %q", v.Type().Field(i).Name, got)
			}
		}
	}
}

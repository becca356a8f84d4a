package theme

import (
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"github.com/kx-apiserver/kx/core/steps"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Name{"": "", "auto": Auto, "None": None, "high-contrast": HighContrast, "Light": Light, "dark": Dark} {
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
	for name, byGround := range palettes {
		least := 4.5
		if name == HighContrast {
			least = 7
		}
		for ground, p := range byGround {
			for _, back := range grounds[ground] {
				for _, text := range []string{p.text, p.dim, p.border, p.focus, p.key, p.good, p.bad, p.notice, p.layer, p.lanes[0], p.lanes[1], p.lanes[2], p.lanes[3], p.lanes[4], p.lanes[5]} {
					if c := contrast(t, text, back); c < least {
						t.Errorf("%s: %s on %s has a contrast of %.1f", name, text, back, c)
					}
				}
			}
			if c := contrast(t, p.text, p.selectedBack); c < least {
				t.Errorf("%s: the selected row has a contrast of %.1f", name, c)
			}
		}
	}
}

// seen is a colour as it is seen without red cones, or without green ones (Viénot, Brettel and Mollon 1999), in linear
// light.
func seen(t *testing.T, hex string, noRed bool) [3]float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	var c [3]float64
	for i := range c {
		c[i] = math.Pow(float64(n>>(16-8*i)&0xff)/255, 2.2)
	}
	if noRed {
		mixed := 0.112*c[0] + 0.888*c[1]
		return [3]float64{mixed, mixed, 0.004*c[0] - 0.004*c[1] + c[2]}
	}
	mixed := 0.293*c[0] + 0.707*c[1]
	return [3]float64{mixed, mixed, -0.021*c[0] + 0.021*c[1] + c[2]}
}

// TestColourBlind looks at good and bad as who sees no red, or no green, does.
func TestColourBlind(t *testing.T) {
	for ground, p := range palettes[ColourBlind] {
		for _, noRed := range []bool{true, false} {
			good, bad := seen(t, p.good, noRed), seen(t, p.bad, noRed)
			// What is left is yellow against blue: it must lean the one way for good, the other for bad.
			if good[2] <= good[0] || bad[2] >= bad[0] {
				t.Errorf("dark %v, no red %v: good is seen as %v, bad as %v", ground, noRed, good, bad)
			}
		}
	}
}

// linear is a colour as everybody else sees it, in linear light.
func linear(t *testing.T, hex string) [3]float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	var c [3]float64
	for i := range c {
		c[i] = math.Pow(float64(n>>(16-8*i)&0xff)/255, 2.2)
	}
	return c
}

// TestLanes: no two lanes have colours that are taken for each other, in colour-blind neither without red or green cones.
func TestLanes(t *testing.T) {
	for name, byGround := range palettes {
		for ground, p := range byGround {
			looks := []func(string) [3]float64{func(hex string) [3]float64 { return linear(t, hex) }}
			if name == ColourBlind {
				looks = append(looks, func(hex string) [3]float64 { return seen(t, hex, true) }, func(hex string) [3]float64 { return seen(t, hex, false) })
			}
			for l, look := range looks {
				for i, a := range p.lanes {
					for _, b := range p.lanes[i+1:] {
						x, y := look(a), look(b)
						far := 0.0
						for k := range x {
							far += math.Pow(math.Pow(max(x[k], 0), 1/2.2)-math.Pow(max(y[k], 0), 1/2.2), 2)
						}
						if far = math.Sqrt(far); far < 0.15 {
							t.Errorf("%s, dark %v, look %d: %s and %s are %.2f apart", name, ground, l, a, b, far)
						}
					}
				}
			}
		}
	}
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		said, kept    Name
		noColor, term string
		want          Name
	}{
		{"", "", "", "xterm", Auto}, {"", Light, "", "xterm", Light}, {Dark, Light, "", "xterm", Dark},
		{"", Light, "1", "xterm", None}, {"", "", "", "dumb", None}, {Dark, "", "1", "xterm", Dark},
	} {
		t.Setenv("NO_COLOR", test.noColor)
		t.Setenv("TERM", test.term)
		if got := DetectTerminal(io.Discard).Choose(test.said, test.kept); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

func TestStyles(t *testing.T) {
	type look struct {
		theme    Theme
		coloured bool
	}
	tests := []look{{Plain(), false}, {DetectTerminal(io.Discard).Theme(Dark), false}} // the latter is no terminal
	for _, name := range []Name{Auto, Dark, Light, HighContrast, ColourBlind} {
		for _, profile := range []termenv.Profile{termenv.ANSI, termenv.ANSI256, termenv.TrueColor} {
			tests = append(tests, look{NewTheme(name, profile), true})
		}
	}
	for _, test := range tests {
		v := reflect.ValueOf(test.theme)
		for i := range v.NumField() {
			var styles []Style
			switch f := v.Field(i).Interface().(type) {
			case Style:
				styles = []Style{f}
			case [len(steps.Lanes)]Style:
				styles = f[:]
			}
			for _, style := range styles {
				if got := style("x"); (got != "x") != test.coloured {
					t.Errorf("%s: %s paints %q", test.theme.Name, v.Type().Field(i).Name, got)
				}
			}
		}
	}
}

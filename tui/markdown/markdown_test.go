package markdown

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/cockroachdb/datadriven"
	"github.com/muesli/termenv"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/theme"
)

// TestLines lays out what stands in the files, at the width that each case names. A bar at the left marks where a paragraph begins.
func TestLines(t *testing.T) {
	datadriven.RunTest(t, "testdata/lines", func(t *testing.T, td *datadriven.TestData) string {
		var w int
		td.ScanArgs(t, "w", &w)
		var b strings.Builder
		for _, line := range Lines(td.Input, w, theme.Plain()) {
			mark := " "
			if line.First {
				mark = "|"
			}
			b.WriteString(strings.TrimRight(mark+line.Text, " ") + "\n")
		}
		return b.String()
	})
}

// TestPrivateCharacters: no text is lost around a character that stands for a hyphen while a text is wrapped, and it is
// no hyphen of the text's.
func TestPrivateCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"a \uE000b then the rest": "a \uFFFDb then the rest",
		"`a\uE000b-c` and d-e":    "`a\uFFFDb-c` and d-e",
		"icons \uE0A0 stay":       "icons \uE0A0 stay",
	} {
		if lines := Lines(text, 40, theme.Plain()); len(lines) != 1 || lines[0].Text != want {
			t.Errorf("%q is laid out as %+v", text, lines)
		}
	}
}

// TestColours: painted, the text is the same.
func TestColours(t *testing.T) {
	text := "# A **head**\n\nSome `code` and *more*, [a link](https://kx.dev/x) too.\n\n| a | b |\n|---|---|\n| `x` | y |\n\n> quoted\n"
	plain, painted := Lines(text, 30, theme.Plain()), Lines(text, 30, theme.NewTheme(theme.Dark, termenv.TrueColor))
	if len(plain) != len(painted) {
		t.Fatalf("%d lines, and %d painted", len(plain), len(painted))
	}
	colours := false
	for i := range plain {
		colours = colours || painted[i].Text != plain[i].Text
		if ansi.Strip(painted[i].Text) != plain[i].Text {
			t.Errorf("%q, painted %q", plain[i].Text, painted[i].Text)
		}
	}
	if !colours {
		t.Error("nothing is painted")
	}
}

func FuzzLines(f *testing.F) {
	f.Add("# a\n\n- b `c`\n  d\n\n|x|y|\n|-|-|\n|1|2|\n```\n\tcode\n```\n> q", 12)
	f.Add("**a*b**`c\x1b[31m"+escapetest.Any(), 1)
	f.Add("中文段落，\n第二行 `code` 结尾。", 7)
	f.Fuzz(func(t *testing.T, text string, w int) {
		w = w&0x7f + 1
		for _, line := range Lines(text, w, theme.Plain()) {
			if raw := escapetest.Find(line.Text, ""); raw != "" {
				t.Fatalf("%q has %s", line.Text, raw)
			}
			if n := draw.Width(line.Text); n > max(w, 12) {
				t.Fatalf("%d cells in %d: %q", n, w, line.Text)
			}
		}
	})
}

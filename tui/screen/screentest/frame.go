package screentest

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/cockroachdb/datadriven" // it has the flag -rewrite, which is one for all tests

	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/draw"
)

// colours matches the escape codes that the program itself writes.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Exact fails the test unless a frame has h lines of w cells each, of visible characters. It ignores colours, so a
// test for foreign escape codes has to draw without a theme.
func Exact(t testing.TB, lines []string, w, h int) {
	t.Helper()
	if len(lines) != h {
		t.Fatalf("%dx%d: the frame has %d lines", w, h, len(lines))
	}
	for i, l := range lines {
		if n := draw.Width(l); n != w {
			t.Fatalf("%dx%d: line %d has %d cells: %q", w, h, i, n, l)
		}
		if raw := escapetest.Find(colours.ReplaceAllString(l, ""), ""); raw != "" {
			t.Fatalf("%dx%d: line %d has %s", w, h, i, raw)
		}
	}
}

// Frame draws the screen at a size and returns its lines without colours.
func (h *Host) Frame(width, height int) []string {
	h.t.Helper()
	h.screen.SetSize(width, height)
	lines := h.screen.Render()
	Exact(h.t, lines, width, height)
	seen := make([]string, len(lines)) // the screen may keep its own
	for i, l := range lines {
		seen[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return seen
}

// sizes lists the usual sizes of a terminal, with the cells that a screen gets of each.
var sizes = []struct {
	name string
	w, h int
}{{"80x24", 80, 20}, {"120x40", 120, 36}, {"200x60", 200, 56}}

// seen draws the screen and its foot at each usual size of a terminal.
func (h *Host) seen() map[string][]string {
	h.t.Helper()
	all := map[string][]string{}
	for _, size := range sizes {
		lines := h.Frame(size.w, size.h)
		same, state := h.screen.Foot()
		all[size.name] = append(lines, strings.TrimRight(ansi.Strip(same), " "), strings.TrimRight(ansi.Strip(state), " "))
	}
	return all
}

// Golden compares the screen and its foot on a terminal of 120x40 with a file under testdata/golden. At the other
// sizes it applies the checks of Shows. A screen has few goldens, for people to look at: each is recorded anew
// whenever a word in it changes. With -rewrite it writes them.
func (h *Host) Golden(name string) {
	h.t.Helper()
	h.GoldenAt(name, "120x40")
}

// GoldenAt is Golden on a terminal of another size.
func (h *Host) GoldenAt(name, size string) {
	h.t.Helper()
	all := h.seen()
	Golden(h.t, filepath.Join("testdata", "golden", name+"-"+size), strings.Join(all[size], "\n")+"\n")
	Grows(h.t, all["80x24"], all["120x40"], all["200x60"])
}

// Shows fails the test unless the screen shows all texts on a terminal of each usual size, and larger sizes keep the
// words of smaller ones. A text may wrap to the next line.
func (h *Host) Shows(texts ...string) {
	h.t.Helper()
	all := h.seen()
	for size, lines := range all {
		Has(h.t, size, lines, texts...)
	}
	Grows(h.t, all["80x24"], all["120x40"], all["200x60"])
}

// borders matches the characters that frame panes.
var borders = regexp.MustCompile(`[┃│┏┓┗┛┌┐└┘├┤━─╌]+`)

// Has fails the test unless lines have all texts.
func Has(t testing.TB, what string, lines []string, texts ...string) {
	t.Helper()
	all := strings.Join(strings.Fields(borders.ReplaceAllString(strings.Join(lines, "\n"), " ")), " ")
	for _, text := range texts {
		if !strings.Contains(all, strings.Join(strings.Fields(text), " ")) {
			t.Errorf("%s: %q is not shown:\n%s", what, text, strings.Join(lines, "\n"))
		}
	}
}

// Grows fails the test if frames, from the smallest to the largest, lose words. A larger frame may be scrolled
// differently, but shows most words of a smaller one.
func Grows(t testing.TB, frames ...[]string) {
	t.Helper()
	for i := 1; i < len(frames); i++ {
		small, large := words(frames[i-1]), strings.Join(frames[i], "\n")
		var lost []string
		for _, word := range small {
			if !strings.Contains(large, word) {
				lost = append(lost, word)
			}
		}
		if len(lost) > len(small)/3 {
			t.Errorf("the larger frame has lost %q:\n%s\nthe smaller one is\n%s", lost, large, strings.Join(frames[i-1], "\n"))
		}
	}
}

var word = regexp.MustCompile(`[A-Za-z]{5,}`)

// words lists the words of a frame that no pane border cuts off.
func words(frame []string) (all []string) {
	for _, line := range frame {
		for _, part := range borders.Split(line, -1) {
			fields := strings.Fields(part)
			for _, field := range fields[min(1, len(fields)):max(len(fields)-1, min(1, len(fields)))] {
				if !strings.Contains(field, "…") {
					all = append(all, word.FindAllString(field, -1)...)
				}
			}
		}
	}
	return all
}

// Golden compares text with a file. With -rewrite it writes the file.
func Golden(t testing.TB, file, got string) {
	t.Helper()
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (-rewrite writes it)", err)
	}
	if string(want) != got {
		t.Errorf("%s is not what it was (-rewrite writes it); now it is:\n%s", file, got)
	}
}

// Sizes draws the screen at many sizes from 1x1 to 300x100, in English and in Chinese, and fails unless every frame
// is exact. Each call picks other sizes, except the smallest and the largest.
func (h *Host) Sizes() {
	h.t.Helper()
	h.sizes()
	english := h.Look
	h.Look.Words, h.Look.Name = lang.Chinese, english.Name+" in Chinese" // a frame of another look must be drawn anew
	h.sizes()
	h.Look = english
}

func (h *Host) sizes() {
	h.t.Helper()
	for w := 1 + h.swept%17; w <= 300; w += 17 {
		for height := 1 + h.swept%7; height <= 100; height += 7 {
			h.exactAt(w, height)
		}
	}
	h.swept++
	for _, size := range [][2]int{{1, 1}, {60, 11}, {59, 10}, {80, 20}, {99, 19}, {100, 20}, {120, 36},
		{160, 40}, {161, 41}, {200, 56}, {300, 96}, {300, 100}} {
		h.exactAt(size[0], size[1])
	}
}

func (h *Host) exactAt(w, height int) {
	h.t.Helper()
	h.screen.SetSize(w, height)
	Exact(h.t, h.screen.Render(), w, height)
	h.screen.Foot()
}

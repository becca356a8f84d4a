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

// colours are the escape codes that the program itself writes.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Exact fails the test unless a frame has h lines of w cells each, of characters that can be seen. Colours are let pass, so what
// looks for those of others has to draw without.
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

// Frame is what the screen shows at a size, without colours.
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

// sizes are those of which goldens are kept: what a screen has of a terminal of 80x24, 120x40 and 200x60.
var sizes = []struct {
	name string
	w, h int
}{{"80x24", 80, 20}, {"120x40", 120, 36}, {"200x60", 200, 56}}

// Golden compares what the screen shows, and its foot, with files under testdata/golden, one for each usual size of a
// terminal. With -rewrite it writes them.
func (h *Host) Golden(name string) {
	h.t.Helper()
	for _, size := range sizes {
		lines := h.Frame(size.w, size.h)
		same, state := h.screen.Foot()
		lines = append(lines, strings.TrimRight(ansi.Strip(same), " "), strings.TrimRight(ansi.Strip(state), " "))
		Golden(h.t, filepath.Join("testdata", "golden", name+"-"+size.name), strings.Join(lines, "\n")+"\n")
	}
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

// Sizes draws the screen at many sizes from 1x1 to 300x100, each time at others but for the smallest and the largest, in English and
// in Chinese: every frame is exact.
func (h *Host) Sizes() {
	h.t.Helper()
	h.sizes()
	english := h.Look
	h.Look.Words, h.Look.Name = lang.Chinese, english.Name+" in Chinese" // what was drawn with another look is drawn anew
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
	for _, size := range [][2]int{{1, 1}, {60, 11}, {59, 10}, {80, 20}, {99, 19}, {100, 20}, {120, 36}, {160, 40}, {161, 41}, {200, 56}, {300, 96}, {300, 100}} {
		h.exactAt(size[0], size[1])
	}
}

func (h *Host) exactAt(w, height int) {
	h.t.Helper()
	h.screen.SetSize(w, height)
	Exact(h.t, h.screen.Render(), w, height)
	h.screen.Foot()
}

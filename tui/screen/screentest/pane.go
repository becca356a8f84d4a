package screentest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
)

// Journey returns a recorded journey.
func Journey(t testing.TB, name string) *v1alpha1.Journey {
	t.Helper()
	for _, file := range []string{filepath.Join("..", "testdata", "journeys.json"),
		filepath.Join("..", "..", "testdata", "admission.json")} {
		for _, j := range tuitest.Recorded(t, file) {
			if j.Name == name {
				return j
			}
		}
	}
	t.Fatalf("no journey %s is recorded", name)
	return nil
}

// GoldenPane compares a frame with the file of that name in testdata. -rewrite writes it anew.
func GoldenPane(t *testing.T, name string, frame []string) {
	t.Helper()
	Golden(t, filepath.Join("testdata", name+".txt"), strings.Join(frame, "\n")+"\n")
}

// Shows fails the test unless a frame has all texts. A text may wrap to the next line.
func Shows(t *testing.T, what string, frame []string, texts ...string) {
	t.Helper()
	if len(texts) == 0 {
		t.Fatalf("%s: there is nothing to look for", what)
	}
	Has(t, what, frame, texts...)
}

// PaneSizes draws a pane at many sizes, from one cell to a large screen. It fails unless every frame has that size, and
// nothing in it can control a terminal.
func PaneSizes(t *testing.T, what string, draws func(w, h int) []string) {
	t.Helper()
	for _, w := range []int{1, 2, 3, 7, 20, 34, 58, 60, 68, 80, 99, 110, 120, 161, 200, 300} {
		for _, h := range []int{1, 2, 3, 4, 7, 8, 10, 11, 24, 60, 100} {
			frame := draws(w, h)
			if len(frame) != h {
				t.Fatalf("%s at %dx%d has %d lines", what, w, h, len(frame))
			}
			for i, line := range frame {
				if n := draw.Width(line); n != w {
					t.Fatalf("%s at %dx%d: line %d has %d cells: %q", what, w, h, i, n, line)
				}
				if raw := escapetest.Find(line, ""); raw != "" {
					t.Fatalf("%s at %dx%d: line %d has %s", what, w, h, i, raw)
				}
			}
		}
	}
}

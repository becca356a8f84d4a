package layout

import "testing"

func TestCapture(t *testing.T) {
	tests := []struct {
		name                string
		w, h                int
		mode                Mode
		list, steps, detail Rect
	}{
		{name: "usual", w: 80, h: 20, list: Rect{0, 1, 80, 6}, steps: Rect{0, 7, 80, 13}},
		{name: "usual, detail", w: 80, h: 20, mode: Mode{Body: Detail}, list: Rect{0, 1, 80, 6}, detail: Rect{0, 7, 80, 13}},
		{name: "low", w: 80, h: 16, list: Rect{0, 1, 80, 4}, steps: Rect{0, 5, 80, 11}},
		{name: "smallest", w: 60, h: 11, list: Rect{0, 1, 60, 4}, steps: Rect{0, 5, 60, 6}},
		{name: "wide", w: 120, h: 36, list: Rect{0, 1, 120, 11}, steps: Rect{0, 12, 68, 24}, detail: Rect{68, 12, 52, 24}},
		{name: "odd", w: 121, h: 36, list: Rect{0, 1, 121, 11}, steps: Rect{0, 12, 69, 24}, detail: Rect{69, 12, 52, 24}},
		{name: "zoomed", w: 120, h: 36, mode: Mode{Zoom: Steps}, steps: Rect{0, 1, 120, 35}},
		{name: "zoomed list", w: 80, h: 20, mode: Mode{Zoom: List, Body: Detail}, list: Rect{0, 1, 80, 19}},
	}
	for _, test := range tests {
		s := ForCapture(test.w, test.h, test.mode)
		if got := s.Panes[List]; got != test.list {
			t.Errorf("%s: list at %v, want %v", test.name, got, test.list)
		}
		if got := s.Panes[Steps]; got != test.steps {
			t.Errorf("%s: steps at %v, want %v", test.name, got, test.steps)
		}
		if got := s.Panes[Detail]; got != test.detail {
			t.Errorf("%s: detail at %v, want %v", test.name, got, test.detail)
		}
	}
}

// TestTerminal counts who has each cell of a terminal: exactly one.
func TestTerminal(t *testing.T) {
	for w := 1; w <= 220; w += 3 {
		for h := 1; h <= 70; h++ {
			f := Terminal(w, h)
			if f.TooSmall != (w < MinWidth || h < MinHeight) {
				t.Fatalf("%dx%d: too small: %v", w, h, f.TooSmall)
			}
			if !f.TooSmall {
				covered(t, w, h, f.Header, f.Screen, f.SameAs, f.State, f.Hint)
			}
		}
	}
}

// TestCovered counts, for every size and mode, who has each cell of Capture.
func TestCovered(t *testing.T) {
	for w := 1; w <= 220; w += 3 {
		for h := 1; h <= 70; h++ {
			for _, zoom := range []Pane{None, List, Steps, Detail} {
				for _, body := range []Pane{None, Steps, Detail} {
					c := ForCapture(w, h, Mode{Zoom: zoom, Body: body})
					covered(t, w, h, append(c.Panes[:], c.Filter)...)
				}
			}
		}
	}
}

func covered(t *testing.T, w, h int, rects ...Rect) {
	t.Helper()
	area := 0
	for i, r := range rects {
		if r.X < 0 || r.Y < 0 || r.X+r.W > w || r.Y+r.H > h {
			t.Fatalf("%dx%d: %v is outside of %v", w, h, r, rects)
		}
		area += r.W * r.H
		for _, o := range rects[:i] {
			if r.X < o.X+o.W && o.X < r.X+r.W && r.Y < o.Y+o.H && o.Y < r.Y+r.H {
				t.Fatalf("%dx%d: %v and %v overlap", w, h, r, o)
			}
		}
	}
	if area != w*h {
		t.Fatalf("%dx%d: %d cells of %d are covered by %v", w, h, area, w*h, rects)
	}
	if !rects[0].Has(rects[0].X, rects[0].Y) && rects[0].W > 0 && rects[0].H > 0 || rects[0].Has(rects[0].X+rects[0].W, rects[0].Y) {
		t.Fatalf("%v does not know its edges", rects[0])
	}
}

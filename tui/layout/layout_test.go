package layout

import "testing"

func TestCompute(t *testing.T) {
	tests := []struct {
		name                string
		w, h                int
		mode                Mode
		list, steps, detail Rect
	}{
		{name: "usual", w: 80, h: 24, list: Rect{0, 2, 80, 6}, steps: Rect{0, 8, 80, 13}},
		{name: "usual, detail", w: 80, h: 24, mode: Mode{Body: Detail}, list: Rect{0, 2, 80, 6}, detail: Rect{0, 8, 80, 13}},
		{name: "low", w: 80, h: 20, list: Rect{0, 2, 80, 4}, steps: Rect{0, 6, 80, 11}},
		{name: "smallest", w: 60, h: 15, list: Rect{0, 2, 60, 4}, steps: Rect{0, 6, 60, 6}},
		{name: "wide", w: 120, h: 40, list: Rect{0, 2, 120, 11}, steps: Rect{0, 13, 68, 24}, detail: Rect{68, 13, 52, 24}},
		{name: "odd", w: 121, h: 40, list: Rect{0, 2, 121, 11}, steps: Rect{0, 13, 69, 24}, detail: Rect{69, 13, 52, 24}},
		{name: "zoomed", w: 120, h: 40, mode: Mode{Zoom: Steps}, steps: Rect{0, 2, 120, 35}},
		{name: "zoomed list", w: 80, h: 24, mode: Mode{Zoom: List, Body: Detail}, list: Rect{0, 2, 80, 19}},
	}
	for _, test := range tests {
		s := Compute(test.w, test.h, test.mode)
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

// TestCovered counts, for every size and mode, who has each cell: exactly one.
func TestCovered(t *testing.T) {
	for w := 1; w <= 220; w += 3 {
		for h := 1; h <= 70; h++ {
			for _, zoom := range []Pane{None, List, Steps, Detail} {
				for _, body := range []Pane{None, Steps, Detail} {
					covered(t, w, h, Mode{Zoom: zoom, Body: body})
				}
			}
		}
	}
}

func covered(t *testing.T, w, h int, mode Mode) {
	t.Helper()
	s := Compute(w, h, mode)
	if s.TooSmall != (w < MinWidth || h < MinHeight) {
		t.Fatalf("%dx%d: too small: %v", w, h, s.TooSmall)
	}
	if s.TooSmall {
		return
	}
	area := 0
	rects := append([]Rect{s.Header, s.Filter, s.SameAs, s.State, s.Hints}, s.Panes[:]...)
	for i, r := range rects {
		if r.X < 0 || r.Y < 0 || r.X+r.W > w || r.Y+r.H > h {
			t.Fatalf("%dx%d %+v: %v is outside", w, h, mode, r)
		}
		area += r.W * r.H
		for _, o := range rects[:i] {
			if r.X < o.X+o.W && o.X < r.X+r.W && r.Y < o.Y+o.H && o.Y < r.Y+r.H {
				t.Fatalf("%dx%d %+v: %v and %v overlap", w, h, mode, r, o)
			}
		}
	}
	if area != w*h {
		t.Fatalf("%dx%d %+v: %d cells of %d are covered", w, h, mode, area, w*h)
	}
}

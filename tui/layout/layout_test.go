package layout

import (
	"slices"
	"testing"
)

func TestCapture(t *testing.T) {
	tests := []struct {
		name                string
		w, h                int
		body, wanted        int
		list, steps, detail Rect
	}{
		{name: "usual", w: 80, h: 19, body: Steps, list: Rect{0, 0, 80, 6}, steps: Rect{0, 6, 80, 13}},
		{name: "usual, detail", w: 80, h: 19, body: Detail, list: Rect{0, 0, 80, 6}, detail: Rect{0, 6, 80, 13}},
		{name: "low", w: 80, h: 15, body: Steps, list: Rect{0, 0, 80, 4}, steps: Rect{0, 4, 80, 11}},
		{name: "smallest", w: 60, h: 10, body: Steps, list: Rect{0, 0, 60, 4}, steps: Rect{0, 4, 60, 6}},
		{name: "wide", w: 120, h: 35, body: Steps, list: Rect{0, 0, 120, 11}, steps: Rect{0, 11, 68, 24}, detail: Rect{68, 11, 52, 24}},
		{name: "wide, code", w: 120, h: 35, body: Detail, wanted: 90,
			list: Rect{0, 0, 120, 11}, steps: Rect{0, 11, 30, 24}, detail: Rect{30, 11, 90, 24}},
		{name: "too narrow for code beside steps", w: 110, h: 35, body: Detail, wanted: 90,
			list: Rect{0, 0, 110, 11}, detail: Rect{0, 11, 110, 24}},
		{name: "steps while code is open", w: 110, h: 35, body: Steps, wanted: 90,
			list: Rect{0, 0, 110, 11}, steps: Rect{0, 11, 62, 24}, detail: Rect{62, 11, 48, 24}},
		{name: "odd", w: 121, h: 35, body: Detail, list: Rect{0, 0, 121, 11}, steps: Rect{0, 11, 69, 24}, detail: Rect{69, 11, 52, 24}},
	}
	for _, test := range tests {
		got := ForCapture(test.w, test.h, test.body, test.wanted, Borders{})
		if want := []Rect{test.list, test.steps, test.detail}; !slices.Equal(got, want) {
			t.Errorf("%s: the panes are at %v, want %v", test.name, got, want)
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

// TestWithLesson: from a width on, the lesson and the screen share the terminal, and each can be read. Below it the lesson is above the
// screen, or on a low terminal both have all of it.
func TestWithLesson(t *testing.T) {
	for w := 1; w <= 300; w += 3 {
		for _, moved := range []int{-100, -10, 0, 10, 100} {
			for _, alone := range []bool{false, true} {
				for _, h := range []int{MinHeight, above - 1, above, 40} {
					f := Terminal(w, h).WithLesson(Borders{Across: moved}, alone)
					if f.OneSide() != (f.TooSmall || alone || w < Beside && h < above) || f.Stacked() != (!f.OneSide() && w < Beside) {
						t.Fatalf("%dx%d, alone: %v: one side: %v, stacked: %v", w, h, alone, f.OneSide(), f.Stacked())
					}
					if f.TooSmall || f.OneSide() {
						continue
					}
					covered(t, w, h, f.Header, f.Lesson, f.Screen, f.SameAs, f.State, f.Hint)
					if f.Lesson.W < 48 || f.Screen.W < MinWidth || f.Stacked() && (f.Lesson.H < 12 || f.Screen.H < 8) {
						t.Errorf("%dx%d: %+v and %+v", w, h, f.Lesson, f.Screen)
					}
				}
			}
		}
	}
}

// TestCovered counts, for every size, who has each cell of Capture.
func TestCovered(t *testing.T) {
	for w := 1; w <= 220; w += 3 {
		for h := 1; h <= 70; h++ {
			for _, body := range []int{Steps, Detail} {
				for _, wanted := range []int{0, 90, 150} {
					covered(t, w, h, ForCapture(w, h, body, wanted, Borders{})...)
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

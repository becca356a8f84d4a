package layout

import "testing"

// TestResize moves the borders of Capture by way of each pane, and back.
func TestResize(t *testing.T) {
	for _, test := range []struct {
		name    string
		w, h    int
		pane    int
		larger  bool
		borders Borders
	}{
		{name: "the list, larger", w: 120, h: 35, pane: List, larger: true, borders: Borders{Down: 5}},
		{name: "the list, smaller", w: 120, h: 35, pane: List, borders: Borders{Down: -5}},
		{name: "the steps, larger", w: 120, h: 35, pane: Steps, larger: true, borders: Borders{Across: 5}},
		{name: "the detail, larger", w: 120, h: 35, pane: Detail, larger: true, borders: Borders{Across: -5}},
		{name: "the detail, smaller", w: 120, h: 35, pane: Detail, borders: Borders{Across: 5}},
		{name: "shared, larger", w: 80, h: 35, pane: Steps, larger: true, borders: Borders{Down: -5}},
		{name: "low", w: 80, h: 15, pane: List, larger: true, borders: Borders{Down: 10}}, // 5 of 100 are less than a line
	} {
		var b Borders
		at := func() Rect { return ForCapture(test.w, test.h, Steps, 0, b)[test.pane] }
		was := at()
		if !b.Resize(test.larger, at) || b != test.borders {
			t.Errorf("%s: %+v, want %+v", test.name, b, test.borders)
		}
		if now := at(); now.W*now.H > was.W*was.H != test.larger {
			t.Errorf("%s: from %v to %v", test.name, was, now)
		}
	}
}

// TestResizeEnds resizes until nothing moves any more. From there it leads back at once, also on a smaller screen than the
// one on which the border was moved.
func TestResizeEnds(t *testing.T) {
	var b Borders
	w := 200
	at := func() Rect { return ForCapture(w, 49, Steps, 0, b)[Steps] }
	times := 0
	for b.Resize(true, at) {
		if times++; times > 100 {
			t.Fatal("it never ends")
		}
	}
	if got, want := at(), (Rect{0, 4, 200 - leastWide, 45}); got != want {
		t.Errorf("at its largest it is %v, want %v", got, want)
	}
	w = 110
	was := at()
	if !b.Resize(false, at) || at().W >= was.W {
		t.Errorf("from %v to %v", was, at())
	}
	kept := b
	zoomed := func() Rect { return NewRect(0, 0, w, 49) }
	if b.Resize(true, zoomed) || b != kept {
		t.Errorf("zoomed: %+v, before %+v", b, kept)
	}
	wild := Borders{Across: 1 << 40, Down: -1 << 40}
	if wild.Clamp(); wild != (Borders{Across: borderMost, Down: -borderMost}) {
		t.Errorf("%+v", wild)
	}
}

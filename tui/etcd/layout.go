package etcd

import "github.com/kx-apiserver/kx/tui/layout"

const (
	// narrow is the width below which revisions and value share one place below the tree.
	narrow = 100
	// low is the height below which only what has the focus is seen.
	low = 9
	// leastWide and leastHigh are what a border that the user moves leaves on both sides.
	leastWide = 30
	leastHigh = 4
)

// arrange says where the parts are on a screen whose first line is taken. A part that is not seen has an empty Rect.
func arrange(w, h int, focus, body part, zoomed bool, borders layout.Borders) (areas [parts]layout.Rect) {
	all := layout.At(0, 1, w, max(h-1, 0))
	if zoomed || h < low {
		areas[focus] = all
		return areas
	}
	if w < narrow {
		top := layout.Split(all.H, all.H*2/5, borders.Down, leastHigh, leastHigh)
		areas[keysPart] = layout.At(0, 1, w, top)
		areas[body] = layout.At(0, 1+top, w, all.H-top)
		return areas
	}
	left := layout.Split(w, w*2/5, borders.Across, leastWide, leastWide)
	top := layout.Split(all.H, max(all.H*2/5, 6), borders.Down, leastHigh, leastHigh)
	areas[keysPart] = layout.At(0, 1, left, all.H)
	areas[revisionsPart] = layout.At(left, 1, w-left, top)
	areas[valuePart] = layout.At(left, 1+top, w-left, all.H-top)
	return areas
}

// SetSize implements screen.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.layout()
}

// Borders implements screen.Resizer.
func (s *Screen) Borders() *layout.Borders { return &s.borders }

// Place implements screen.Resizer.
func (s *Screen) Place() layout.Rect {
	s.layout()
	return s.areas[s.focus]
}

func (s *Screen) layout() {
	s.areas = arrange(s.w, s.h, s.focus, s.body, s.zoomed, s.borders)
	for p := range parts {
		s.pane(p).SetSize(s.areas[p].W, s.areas[p].H)
	}
}

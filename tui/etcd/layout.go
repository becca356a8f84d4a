package etcd

// area is a place on the screen.
type area struct{ x, y, w, h int }

func (a area) has(x, y int) bool { return x >= a.x && x < a.x+a.w && y >= a.y && y < a.y+a.h }

const (
	// narrow is the width below which revisions and value share one place below the tree.
	narrow = 100
	// low is the height below which only what has the focus is seen.
	low = 9
)

// arrange says where the parts are on a screen whose first line is taken. A part that is not seen has an empty area.
func arrange(w, h int, focus, body part, zoomed bool) (areas [parts]area) {
	all := area{0, 1, w, max(h-1, 0)}
	if zoomed || h < low {
		areas[focus] = all
		return areas
	}
	if w < narrow {
		top := all.h * 2 / 5
		areas[keysPart] = area{0, 1, w, top}
		areas[body] = area{0, 1 + top, w, all.h - top}
		return areas
	}
	left, top := w*2/5, max(all.h*2/5, 6)
	areas[keysPart] = area{0, 1, left, all.h}
	areas[revisionsPart] = area{left, 1, w - left, top}
	areas[valuePart] = area{left, 1 + top, w - left, all.h - top}
	return areas
}

// SetSize implements screen.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.layout()
}

func (s *Screen) layout() {
	s.areas = arrange(s.w, s.h, s.focus, s.body, s.zoomed)
	for p := range parts {
		s.pane(p).SetSize(s.areas[p].w, s.areas[p].h)
	}
}

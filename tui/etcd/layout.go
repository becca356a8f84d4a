package etcd

import "github.com/kx-apiserver/kx/tui/layout"

const (
	// narrow is the width below which revisions and value share one place below the tree.
	narrow = 100
	// low is the height below which only the pane with the focus is in view.
	low = 8
	// leastWide and leastHigh are the least sizes on both sides of a border that the user moves.
	leastWide = 30
	leastHigh = 4
)

// arrange places the panes.
func (s *Screen) arrange(w, h int) []layout.Rect {
	if h < low {
		return nil
	}
	areas, borders := make([]layout.Rect, parts), s.Borders()
	if w < narrow {
		top := layout.Border(h, h*2/5, borders.Down, leastHigh, leastHigh)
		areas[keysPart] = layout.NewRect(0, 0, w, top)
		areas[s.Behind()] = layout.NewRect(0, top, w, h-top)
		return areas
	}
	left := layout.Border(w, w*2/5, borders.Across, leastWide, leastWide)
	top := layout.Border(h, max(h*2/5, 6), borders.Down, leastHigh, leastHigh)
	areas[keysPart] = layout.NewRect(0, 0, left, h)
	areas[revisionsPart] = layout.NewRect(left, 0, w-left, top)
	areas[valuePart] = layout.NewRect(left, top, w-left, h-top)
	return areas
}

package layout

// Borders holds the user's shifts of the borders between a screen's panes: in hundredths of the screen's width to the
// right, or of its height down.
type Borders struct {
	// Across shifts the border between panes side by side.
	Across int `json:"across,omitempty"`
	// Down shifts the first border between panes one below the other, Lower the next.
	Down  int `json:"down,omitempty"`
	Lower int `json:"lower,omitempty"`
}

// resizeStep is one shift of a border; borderMost limits the sum.
const (
	resizeStep = 5
	borderMost = 100
)

// Resize moves one of the borders so that a pane becomes larger, or smaller. place lays the screen out and returns
// the pane's rectangle. Resize reports whether there was such a border; if not, the borders stay as they were.
func (b *Borders) Resize(larger bool, place func() Rect) bool {
	was := place()
	for _, border := range []*int{&b.Across, &b.Down, &b.Lower} {
		for _, step := range []int{resizeStep, -resizeStep} {
			if moved(border, step, was, larger, place) {
				return true
			}
		}
	}
	place()
	return false
}

// moved shifts a border until the pane's size changes: a shift from a larger screen may have no effect on a smaller
// one. A border that changes the size the wrong way is put back.
func moved(border *int, step int, was Rect, larger bool, place func() Rect) bool {
	old := *border
	for *border += step; *border >= -borderMost && *border <= borderMost; *border += step {
		now := place()
		if size := now.W * now.H; size != was.W*was.H {
			if larger == (size > was.W*was.H) {
				return true
			}
			break
		}
	}
	*border = old
	return false
}

// Clamp limits values that another program wrote.
func (b *Borders) Clamp() {
	for _, border := range []*int{&b.Across, &b.Down, &b.Lower} {
		*border = max(min(*border, borderMost), -borderMost)
	}
}

// Border returns the cell of total for a border at a cell, after a shift by hundredths of total. It leaves at least
// before and after cells on its sides; where both do not fit, the border does not move.
func Border(total, at, moved, before, after int) int {
	if moved == 0 || total < before+after {
		return at
	}
	return max(min(at+total*moved/100, total-after), before)
}

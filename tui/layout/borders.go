package layout

// Borders are those between the panes of a screen, as the user moved them from where they would be: by how many hundredths of
// the screen's width to the right, or of its height down.
type Borders struct {
	// Across is the one between what stands side by side.
	Across int `json:"across,omitempty"`
	// Down is the first between what stands one below the other, and Lower the next.
	Down  int `json:"down,omitempty"`
	Lower int `json:"lower,omitempty"`
}

// resizeStep is how far a border is moved at once, and borderMost how far at most.
const (
	resizeStep = 5
	borderMost = 100
)

// Resize moves one of the borders so that a pane becomes larger, or smaller. place lays the screen out and says where the
// pane is then. It says whether there was such a border; if not, they are as they were.
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

// moved moves a border until the pane has another size: what was moved on a larger screen, a smaller one may not show. A
// border that does not lead where the user wants is put back.
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

// Clamp brings what another program wrote to what may be.
func (b *Borders) Clamp() {
	for _, border := range []*int{&b.Across, &b.Down, &b.Lower} {
		*border = max(min(*border, borderMost), -borderMost)
	}
}

// Border is the cell of total at which a border stands that was moved from a cell by hundredths of total. It leaves at least
// so many cells before and after it; where there is no room for both, it is not moved.
func Border(total, at, moved, before, after int) int {
	if moved == 0 || total < before+after {
		return at
	}
	return max(min(at+total*moved/100, total-after), before)
}

package layout

// The smallest terminal that there is a layout for.
const (
	MinWidth  = 60
	MinHeight = 15
)

// FootHeight is how many lines there are below a screen.
const FootHeight = 3

const (
	// narrow is the width below which Steps and Detail share one place.
	narrow = 100
	// wide is the width above which Detail has room for two things side by side.
	wide = 160
	// low is the height below which the list shows the selected row alone.
	low = 20
	// leastWide and leastHigh are what a border that the user moves leaves on both sides.
	leastWide = 24
	leastHigh = 4
)

// Rect is a place on the screen. The upper left corner is 0, 0.
type Rect struct{ X, Y, W, H int }

// At is the place with a corner at x, y.
func At(x, y, w, h int) Rect { return Rect{x, y, w, h} }

// Has says whether a cell is in it.
func (r Rect) Has(x, y int) bool { return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H }

// Frame is where everything goes on a terminal.
type Frame struct {
	W, H int
	// TooSmall says that there is room for one message alone.
	TooSmall bool

	Header Rect
	// Screen is the place of the screen that is seen.
	Screen              Rect
	SameAs, State, Hint Rect
}

// Terminal lays out a terminal of w by h.
func Terminal(w, h int) Frame {
	f := Frame{W: w, H: h}
	if w < MinWidth || h < MinHeight {
		f.TooSmall = true
		return f
	}
	line := func(y int) Rect { return Rect{0, y, w, 1} }
	f.Header = line(0)
	f.Screen = Rect{0, 1, w, h - 1 - FootHeight}
	f.SameAs, f.State, f.Hint = line(h-3), line(h-2), line(h-1)
	return f
}

// Mode is what the user wants of the layout of Capture.
type Mode struct {
	// Zoom is the pane that has the place of all, if any.
	Zoom Pane
	// Body is which of Steps and Detail is seen where they share one place.
	Body Pane
	// Borders are as the user moved them.
	Borders Borders
}

// Pane names a part of Capture that can have the focus.
type Pane uint8

// The panes.
const (
	None Pane = iota
	List
	Steps
	Detail
)

// Capture is where everything goes on the screen Capture. A pane that is not seen has an empty Rect.
type Capture struct {
	// Shared says that Steps and Detail share one place.
	Shared bool

	Filter Rect
	Panes  [Detail + 1]Rect
}

// ForCapture lays out a screen of w by h.
func ForCapture(w, h int, mode Mode) Capture {
	w, h = max(w, 0), max(h, 1)
	c := Capture{Filter: Rect{0, 0, w, 1}, Shared: w < narrow}
	all := Rect{0, 1, w, h - 1}
	if mode.Zoom != None {
		c.Panes[mode.Zoom] = all
		return c
	}
	top := (h - 1) / 3
	if h < low {
		top = min(4, h-1) // the frame, the columns' names and one row
	}
	top = Split(all.H, top, mode.Borders.Down, leastHigh, leastHigh)
	c.Panes[List] = Rect{0, all.Y, w, top}
	body := Rect{0, all.Y + top, w, all.H - top}
	if c.Shared {
		if mode.Body != Detail {
			mode.Body = Steps
		}
		c.Panes[mode.Body] = body
		return c
	}
	left := w * 4 / 7 // the lanes need more
	if w > wide {
		left = w * 2 / 5 // Diff and Source are side by side in Detail
	}
	left = Split(w, left, mode.Borders.Across, leastWide, leastWide)
	c.Panes[Steps] = Rect{0, body.Y, left, body.H}
	c.Panes[Detail] = Rect{left, body.Y, w - left, body.H}
	return c
}

package layout

// The smallest screen that there is a layout for.
const (
	MinWidth  = 60
	MinHeight = 15
)

const (
	// narrow is the width below which Steps and Detail share one place.
	narrow = 100
	// low is the height below which the list shows the selected row alone.
	low = 24
	// lines above and below the panes.
	linesAbove, linesBelow = 2, 3
)

// Rect is a place on the screen. The upper left corner is 0, 0.
type Rect struct{ X, Y, W, H int }

// Mode is what the user wants of the layout.
type Mode struct {
	// Zoom is the pane that has the place of all, if any.
	Zoom Pane
	// Body is which of Steps and Detail is seen where they share one place.
	Body Pane
}

// Pane names a part of the screen that can have the focus.
type Pane uint8

// The panes.
const (
	None Pane = iota
	List
	Steps
	Detail
)

// Screen is where everything goes. A pane that is not seen has an empty Rect.
type Screen struct {
	W, H int
	// TooSmall says that there is room for one message alone.
	TooSmall bool
	// Shared says that Steps and Detail share one place.
	Shared bool

	Header, Filter, SameAs, State, Hints Rect
	Panes                                [Detail + 1]Rect
}

// Compute lays out a screen of w by h.
func Compute(w, h int, mode Mode) Screen {
	s := Screen{W: w, H: h}
	if w < MinWidth || h < MinHeight {
		s.TooSmall = true
		return s
	}
	line := func(y int) Rect { return Rect{0, y, w, 1} }
	s.Header, s.Filter = line(0), line(1)
	s.SameAs, s.State, s.Hints = line(h-3), line(h-2), line(h-1)
	all := Rect{0, linesAbove, w, h - linesAbove - linesBelow}
	s.Shared = w < narrow
	if mode.Zoom != None {
		s.Panes[mode.Zoom] = all
		return s
	}
	top := all.H / 3
	if h < low {
		top = 4 // the frame, the columns' names and one row
	}
	s.Panes[List] = Rect{0, all.Y, w, top}
	body := Rect{0, all.Y + top, w, all.H - top}
	if s.Shared {
		if mode.Body != Detail {
			mode.Body = Steps
		}
		s.Panes[mode.Body] = body
		return s
	}
	left := w * 4 / 7 // the tree is indented: it needs more
	s.Panes[Steps] = Rect{0, body.Y, left, body.H}
	s.Panes[Detail] = Rect{left, body.Y, w - left, body.H}
	return s
}

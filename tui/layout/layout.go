package layout

// The smallest terminal with a layout.
const (
	MinWidth  = 60
	MinHeight = 15
)

// Beside is the least width of a terminal for a lesson beside the screen. A narrower terminal with at least Above
// lines has the lesson above the screen. A smaller one shows one of them at a time.
const (
	Beside = 120
	above  = 24
)

// footHeight is the number of lines below a screen.
const footHeight = 3

const (
	// Narrow is the width below which Steps and Detail of Capture share one place.
	Narrow = 100
	// wide is the width above which Detail has room for two things side by side.
	wide = 160
	// detailWide is the width of Detail then: Steps gets the rest.
	detailWide = 102
	// low is the height below which the list of Capture is only a few rows.
	low = 19
	// lessonLeast and lessonMost bound the width of a lesson beside the screen, unless the user moved the border.
	lessonLeast = 48
	lessonMost  = 72
	// belowHigh is the height of the screen below a lesson: the newest request, and the step under the cursor.
	belowHigh = 8
	// leastWide and leastHigh are the least sizes on both sides of a border that the user moves.
	leastWide = 24
	leastHigh = 4
)

// Rect is a rectangle of cells. The upper left cell of the screen is 0, 0.
type Rect struct{ X, Y, W, H int }

// NewRect returns the rectangle with its upper left corner at x, y.
func NewRect(x, y, w, h int) Rect { return Rect{x, y, w, h} }

// Has reports whether a cell is in the rectangle.
func (r Rect) Has(x, y int) bool { return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H }

// Frame is where everything goes on a terminal.
type Frame struct {
	W, H int
	// TooSmall reports that there is only room for one message.
	TooSmall bool

	Header Rect
	// Screen is the rectangle of the current screen.
	Screen Rect
	// Lesson is the rectangle of the lesson; it equals Screen where one of them is shown at a time. Empty without a
	// lesson.
	Lesson              Rect
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
	f.Screen = Rect{0, 1, w, h - 1 - footHeight}
	f.SameAs, f.State, f.Hint = line(h-3), line(h-2), line(h-1)
	return f
}

// WithLesson makes room for a lesson at the left of the screen, with the border that the user moved, or above it.
// With alone, and where both do not fit, both get the whole place.
func (f Frame) WithLesson(borders Borders, alone bool) Frame {
	f.Lesson = f.Screen
	if f.TooSmall || alone || f.W < Beside && f.H < above {
		return f
	}
	if f.W < Beside {
		f.Lesson.H = f.Screen.H - belowHigh
		f.Screen.Y, f.Screen.H = f.Screen.Y+f.Lesson.H, belowHigh
		return f
	}
	f.Lesson.W = Border(f.W, max(min(f.W*2/5, lessonMost), lessonLeast), borders.Across, lessonLeast, MinWidth)
	f.Screen.X, f.Screen.W = f.Lesson.W, f.W-f.Lesson.W
	return f
}

// Stacked reports whether the lesson is above the screen.
func (f Frame) Stacked() bool { return f.Lesson.Y != f.Screen.Y }

// OneSide reports whether the lesson and the screen share one place, so that only one of them is shown.
func (f Frame) OneSide() bool { return f.Lesson == f.Screen }

// The panes of Capture.
const (
	List = iota
	Steps
	Detail
)

// ForCapture places the panes of Capture on w by h cells. Where Steps and Detail share one place, body is the one
// that gets it; the other has an empty Rect. Detail gets wanted cells in width if Steps has room beside it; if not, it
// gets the whole place while it is body.
func ForCapture(w, h, body, wanted int, borders Borders) []Rect {
	w, h = max(w, 0), max(h, 0)
	top := h / 3
	if h < low {
		top = min(4, h) // the frame, the columns' names and one row
	}
	top = Border(h, top, borders.Down, leastHigh, leastHigh)
	areas := []Rect{List: {W: w, H: top}, Detail: {}}
	if w < Narrow || body == Detail && w < wanted+leastWide {
		areas[body] = Rect{0, top, w, h - top}
		return areas
	}
	left := w * 4 / 7 // the lanes need more
	if w > wide {
		left = max(w*2/5, w-detailWide)
	}
	if wanted+leastWide <= w {
		left = min(left, w-wanted)
	}
	left = Border(w, left, borders.Across, leastWide, leastWide)
	areas[Steps] = Rect{0, top, left, h - top}
	areas[Detail] = Rect{left, top, w - left, h - top}
	return areas
}

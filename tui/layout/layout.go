package layout

// The smallest terminal that there is a layout for.
const (
	MinWidth  = 60
	MinHeight = 15
)

// Beside is the width of a terminal from which a lesson is beside the screen. On one that is less wide but has Above lines the lesson is
// above it. Below both one of them is seen at a time.
const (
	Beside = 120
	Above  = 24
)

// FootHeight is how many lines there are below a screen.
const FootHeight = 3

const (
	// Narrow is the width below which Steps and Detail of Capture share one place.
	Narrow = 100
	// wide is the width above which Detail has room for two things side by side.
	wide = 160
	// detailWide is how wide Detail is then: Steps gets what is left.
	detailWide = 102
	// low is the height below which the list of Capture shows a few rows.
	low = 19
	// lessonLeast and lessonMost are how wide a lesson is beside the screen, unless the user moved the border.
	lessonLeast = 48
	lessonMost  = 72
	// belowHigh is how high the screen is below a lesson: the newest request, and the step under the cursor.
	belowHigh = 8
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
	Screen Rect
	// Lesson is the place of the lesson, which is that of the screen too where one of them is seen at a time. Empty if there is none.
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
	f.Screen = Rect{0, 1, w, h - 1 - FootHeight}
	f.SameAs, f.State, f.Hint = line(h-3), line(h-2), line(h-1)
	return f
}

// WithLesson makes room for a lesson at the left of the screen, with the border that the user moved, or above it. alone gives both the
// place of all, as where there is no room for both.
func (f Frame) WithLesson(borders Borders, alone bool) Frame {
	f.Lesson = f.Screen
	if f.TooSmall || alone || f.W < Beside && f.H < Above {
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

// OneSide reports whether the lesson and the screen have one place, in which one of them is seen.
func (f Frame) OneSide() bool { return f.Lesson == f.Screen }

// The panes of Capture.
const (
	List = iota
	Steps
	Detail
)

// ForCapture places the panes of Capture on w by h cells. body is the one of Steps and Detail that has the place of both where
// they share one; the other has an empty Rect.
func ForCapture(w, h, body int, borders Borders) []Rect {
	w, h = max(w, 0), max(h, 0)
	top := h / 3
	if h < low {
		top = min(4, h) // the frame, the columns' names and one row
	}
	top = Border(h, top, borders.Down, leastHigh, leastHigh)
	areas := []Rect{List: {W: w, H: top}, Detail: {}}
	if w < Narrow {
		areas[body] = Rect{0, top, w, h - top}
		return areas
	}
	left := w * 4 / 7 // the lanes need more
	if w > wide {
		left = max(w*2/5, w-detailWide)
	}
	left = Border(w, left, borders.Across, leastWide, leastWide)
	areas[Steps] = Rect{0, top, left, h - top}
	areas[Detail] = Rect{left, top, w - left, h - top}
	return areas
}

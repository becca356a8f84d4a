package source

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Place is a line of a file, with the corresponding upstream function.
type Place struct {
	File string
	Line int
	// Function, Upstream, UpstreamFile and Release stand above the file, where they are known.
	Function, Upstream, UpstreamFile, Release string
	// Because is the reason of the step, for a step that has one.
	Because string
	// Link is the URL of a file of another project; empty for the server's own.
	Link string
}

// PlaceOf returns the line that decided a step.
func PlaceOf(j *v1alpha1.Journey, s *v1alpha1.Step, words lang.Language) Place {
	p := Place{Upstream: s.Upstream, UpstreamFile: s.UpstreamFile, Release: s.UpstreamRelease}
	at := s.DecisionPlace()
	p.File, p.Line, p.Function = at.File, int(at.Line), at.Function
	if s.Reason != nil {
		p.Because = words.Why(j, s)
	}
	return p
}

// StepLine is another line that ran, with the number of its step.
type StepLine struct{ Line, Step int }

// View is a window on a file, without a frame.
type View struct {
	look  func() theme.Theme
	w, h  int
	place Place
	file  *File
	note  string // the text in place of a file
	ran   map[int]int
	// branches tells which lines around the place ran.
	branches Branches
	scroll   pane.Scroll
	left     int // the number of cells scrolled out at the left

	version uint64
}

// NewView makes an empty view.
func NewView(look func() theme.Theme) *View { return &View{look: look} }

// SetSize sets the size of the view.
func (v *View) SetSize(w, h int) {
	if v.w != w || v.h != h {
		v.w, v.h = w, h
		v.center()
	}
}

// Version changes with every change of the view.
func (v *View) Version() uint64 { return v.version }

// Show shows a place in a file, with the other lines that ran. The file may be nil until it is fetched; note is shown
// in its place.
func (v *View) Show(p Place, f *File, ran []StepLine, note string) {
	steps := make(map[int]int, len(ran))
	for _, r := range ran {
		if _, known := steps[r.Line]; !known {
			steps[r.Line] = r.Step
		}
	}
	same := v.place == p && v.file == f
	if same && v.note == note && maps.Equal(v.ran, steps) {
		return // screens show the file again and again
	}
	v.place, v.file, v.note, v.ran = p, f, note, steps
	v.version++
	if !same {
		v.branches = Branches{}
		if f != nil && p.Link == "" {
			v.branches = ReadBranches(f.Text, p.Line)
		}
		v.left = 0
		v.center()
	}
}

// Place returns the shown place.
func (v *View) Place() Place { return v.place }

// File returns the shown file, or nil.
func (v *View) File() *File { return v.file }

// headLines returns the number of lines above the file.
func (v *View) headLines() int {
	if v.h < 6 {
		return 1
	}
	return 3
}

func (v *View) room() int { return max(v.h-v.headLines(), 0) }

func (v *View) lines() int {
	if v.file == nil {
		return 0
	}
	return v.file.lineCount()
}

// center puts the cursor on the line that ran, and the beginning of its function at the top if both fit.
func (v *View) center() {
	v.version++
	if v.file == nil {
		return
	}
	room := v.room()
	v.scroll.Cursor = v.place.Line - 1
	v.scroll.Top = v.scroll.Cursor - room/2
	if begin := v.file.function(v.place.Line) - 1; v.scroll.Cursor-begin < room*2/3 {
		v.scroll.Top = begin - 1 // the rest of the function matters more than the lines above it
	}
	v.scroll.Clamp(v.lines(), room)
}

// sideways is the number of cells of one step to the side.
const sideways = 8

// Handle runs a motion. It reports whether id is one.
func (v *View) Handle(id keys.ID) bool {
	v.version++
	switch id {
	case keys.Left:
		v.left = max(v.left-sideways, 0)
	case keys.Right:
		v.left = min(v.left+sideways, 400)
	default:
		return v.scroll.Move(id, v.lines(), v.room())
	}
	return true
}

// Click puts the cursor on the line of the file at a line of the window. It reports whether there is one.
func (v *View) Click(y int) bool {
	at := v.scroll.Top + y - v.headLines()
	if y < v.headLines() || y >= v.h || at >= v.lines() {
		return false
	}
	v.scroll.Cursor = at
	v.version++
	return true
}

// Cursor returns the line under the cursor; the first is 1. It is 0 without a file.
func (v *View) Cursor() int {
	if v.lines() == 0 {
		return 0
	}
	return v.scroll.Cursor + 1
}

// Step returns the number of the step whose line is under the cursor; ok is false if there is none.
func (v *View) Step() (step int, ok bool) {
	step, ok = v.ran[v.Cursor()]
	return step, ok
}

// Find puts the cursor on the next line with a text, wrapping around. It reports whether there is one.
func (v *View) Find(text string) bool {
	n := v.lines()
	at := pane.Find(text, n, v.scroll.Cursor+1, 1, func(i int) string { return v.file.lines[i].text })
	if at < 0 {
		return false
	}
	v.scroll.Cursor = at
	v.scroll.Clamp(n, v.room())
	v.version++
	return true
}

// Lines draws w by h cells.
func (v *View) Lines(focused bool) []string {
	lines := v.head()
	if v.file == nil {
		for _, l := range draw.Wrap(v.note, max(v.w-2, 1)) {
			lines = append(lines, " "+l)
		}
		return draw.Block(lines, v.w, v.h)
	}
	look := styles(v.look())
	numbers := len(strconv.Itoa(v.lines()))
	for i := v.scroll.Top; i < min(v.scroll.Top+v.room(), v.lines()); i++ {
		lines = append(lines, v.line(i, numbers, look, focused))
	}
	return draw.Block(lines, v.w, v.h)
}

// headWidth is the width of the names in the head.
const headWidth = len("upstream ")

// head names the file and function, and the corresponding upstream function.
func (v *View) head() []string {
	p := v.place
	here := p.File
	if p.Line > 0 {
		here += ":" + strconv.Itoa(p.Line)
	}
	words := v.look().Words
	label := words.Phrase("here")
	if p.Link != "" {
		label = words.Phrase("upstream")
	}
	lines := []string{v.look().Dim(" "+draw.Fit(label, headWidth)) + here + "  " + p.Function}
	if v.headLines() == 1 {
		return lines
	}
	if p.Link != "" {
		return append(lines, v.look().Dim(" "+draw.Fit(words.Phrase("at"), headWidth))+p.Link, "")
	}
	because := ""
	if p.Because != "" {
		because = v.look().Dim(" "+draw.Fit(words.Phrase("because"), headWidth)) + v.look().Notice(draw.Clean(p.Because))
	}
	upstream := words.Phrase("nothing of the same name")
	if p.Upstream != "" {
		upstream = strings.TrimSpace(p.Upstream + "  " + p.UpstreamFile + "  " + p.Release)
	}
	return append(lines, v.look().Dim(" "+draw.Fit(words.Phrase("upstream"), headWidth))+upstream, because)
}

// stepWidth is room for "step 999" at the right.
const stepWidth = 9

func (v *View) line(i, numbers int, look [function + 1]theme.Style, focused bool) string {
	n := i + 1
	marks := "   "
	step, ran := v.ran[n]
	switch {
	case n == v.place.Line:
		marks = " =>"
	case ran:
		marks = " * "
	case slices.Contains(v.branches.Decides, n):
		marks = " ? "
	}
	if i == v.scroll.Cursor {
		marks = ">" + marks[1:]
	}
	note, w := "", v.w
	if ran && v.w > 50 {
		note, w = draw.FitRight(v.look().Words.Phrase("step %d", step+1), stepWidth)+" ", v.w-stepWidth-1
	}
	number := draw.FitRight(strconv.Itoa(n), numbers)
	if i == v.scroll.Cursor && focused {
		return v.look().Selected(draw.Fit(marks+number+" "+v.cut(v.file.lines[i].text), w) + note)
	}
	out := marks
	if n == v.place.Line {
		out = v.look().Notice(marks)
	}
	if !ran && !v.branches.Ran(n) { // another round of a loop may have run it
		return v.look().Dim(draw.Fit(out+number+" "+v.cut(v.file.lines[i].text), w) + note)
	}
	var code strings.Builder
	for _, p := range v.file.lines[i].pieces {
		if style := look[p.paint]; style != nil {
			code.WriteString(style(p.text))
		} else {
			code.WriteString(p.text)
		}
	}
	return draw.Fit(out+v.look().Dim(number)+" "+v.cut(code.String()), w) + v.look().Notice(note)
}

// cut drops the cells that are scrolled out at the left.
func (v *View) cut(text string) string {
	if v.left == 0 {
		return text
	}
	return ansi.TruncateLeft(text, v.left, "")
}

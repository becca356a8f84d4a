package send

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Sizes at which the layout changes.
const (
	besideWidth  = 100 // from here on the panes stand beside each other
	tightHeight  = 20  // below it, the pane that has the focus gets most
	labelWidth   = 21
	problemsMost = 4 // that are seen below the body

	// What a border that the user moves leaves on both sides.
	leastWide = 30
	leastHigh = 4
)

// layout is where each pane is; one of no width is not seen.
func (s *Screen) layout() (at [parts]layout.Rect) {
	whole := layout.At(0, 0, s.w, s.h)
	body := s.form.hasBody()
	switch {
	case s.zoomed || s.w < 30 || s.h < 9:
		at[s.focus] = whole
	case s.w < besideWidth:
		top := min(max(s.h/2, 6), len(s.rows())+3)
		if s.focus != requestPart && s.h < tightHeight {
			top = 4
		}
		top = layout.Split(s.h, top, s.borders.Down, leastHigh, leastHigh)
		at[requestPart] = layout.At(0, 0, s.w, top)
		lower := s.lower
		if lower == bodyPart && !body {
			lower = answerPart
		}
		at[lower] = layout.At(0, top, s.w, s.h-top)
	default:
		left := layout.Split(s.w, min(max(s.w*2/5, 46), 70), s.borders.Across, leastWide, leastWide)
		top := layout.Split(s.h, s.h-min(max(s.h/4, 5), 12), s.borders.Down, leastHigh, leastHigh)
		at[requestPart] = layout.At(0, 0, left, top)
		at[historyPart] = layout.At(0, top, left, s.h-top)
		high := 0
		if body {
			high = layout.Split(s.h, s.h*11/20, s.borders.Lower, leastHigh, leastHigh)
			at[bodyPart] = layout.At(left, 0, s.w-left, high)
		}
		at[answerPart] = layout.At(left, high, s.w-left, s.h-high)
	}
	return at
}

// Borders implements screen.Resizer.
func (s *Screen) Borders() *layout.Borders { return &s.borders }

// Place implements screen.Resizer.
func (s *Screen) Place() layout.Rect { return s.layout()[s.focus] }

// formHeight is how many lines of the form are seen.
func (s *Screen) formHeight() int { return max(s.layout()[requestPart].H-3, 1) }

func (s *Screen) historyHeight() int { return max(s.layout()[historyPart].H-2, 1) }

// Render implements screen.Screen.
func (s *Screen) Render() []string {
	if s.focus == bodyPart && !s.form.hasBody() {
		s.goTo(requestPart)
	}
	at := s.layout()
	var columns [2][]string // of panes that stand above each other
	for _, p := range []part{requestPart, historyPart, bodyPart, answerPart} {
		switch {
		case at[p].W <= 0 || at[p].H <= 0:
		case at[p].X == 0:
			columns[0] = append(columns[0], s.pane(p, at[p])...)
		default:
			columns[1] = append(columns[1], s.pane(p, at[p])...)
		}
	}
	frame := columns[0]
	if len(columns[1]) > 0 {
		frame = draw.Beside(columns[0], columns[1])
	}
	if s.picker != nil {
		w := min(s.w, 84)
		box := s.picker.box(w, max(s.h-2, 1), s.host.Theme())
		frame = draw.Over(frame, box, (s.w-w)/2, min(1, max(s.h-len(box), 0)))
	}
	return frame
}

// pane draws a pane with its frame.
func (s *Screen) pane(p part, at layout.Rect) []string {
	look := s.host.Theme()
	focused := s.focus == p && s.picker == nil
	w, h := max(at.W-2, 0), max(at.H-2, 0)
	var lines []string
	var title, note string
	switch p {
	case requestPart:
		title, lines = "Request", s.formLines(w, h, focused, look)
	case bodyPart:
		title, note, lines = s.bodyTitle(), s.checkNote(), s.bodyLines(w, h, look)
		if s.editing {
			note += "  esc: done"
		}
	case answerPart:
		s.answer.w, s.answer.h = w, h
		s.answer.update(s.shown, s.host.Zone())
		title, lines = "Answer", s.answer.render(s.shown, look)
		if s.shown != nil {
			note = draw.Fit(draw.Clean(s.shown.request.Title()), min(draw.Width(draw.Clean(s.shown.request.Title())), w/2))
		}
	case historyPart:
		title, lines = "History", s.history.render(w, h, s.shown, focused, s.host.Zone(), look)
		if s.history.gone > 0 {
			note = fmt.Sprintf("%d forgotten", s.history.gone)
		}
	}
	if at.W < besideWidth && p != requestPart && s.w < besideWidth {
		title = s.tabsTitle(p, title)
	}
	return look.Box(lines, title, note, at.W, at.H, focused)
}

// tabsTitle names the panes that are not seen beside the one that is.
func (s *Screen) tabsTitle(p part, title string) string {
	names := [parts]string{"", "Body", "Answer", "History"}
	out := ""
	for other := bodyPart; other < parts; other++ {
		switch {
		case other == p:
			out += "[" + title + "] "
		case other != bodyPart || s.form.hasBody():
			out += names[other] + " "
		}
	}
	return out[:len(out)-1]
}

func (s *Screen) bodyTitle() string {
	of := s.form.of(s.resource())
	switch {
	case of.Patch != "":
		return "Body: " + string(of.Patch) + " patch"
	case of.Kind.Kind != "":
		return "Body: " + draw.Clean(of.Kind.Kind+" "+of.Kind.APIVersion())
	}
	return "Body"
}

// formLines are the rows of the form, and what the one under the cursor is for.
func (s *Screen) formLines(w, h int, focused bool, look theme.Theme) []string {
	rows := s.rows()
	room := max(h-1, 1)
	s.formRows.Clamp(len(rows), room)
	var lines []string
	for i := s.formRows.Top; i < len(rows) && len(lines) < room; i++ {
		r := rows[i]
		value := draw.Clean(r.value)
		if value == "" {
			value = "-"
		}
		here := i == s.formRows.Cursor
		if here && focused && len(r.choices) > 1 {
			value = "< " + value + " >"
		}
		mark := "  "
		if here {
			mark = "> "
		}
		if r.bad != "" {
			value += " !"
		}
		line := draw.Fit(mark+draw.Fit(draw.Clean(r.label), labelWidth)+" "+value, w)
		switch {
		case here && focused:
			line = look.Selected(line)
		case r.bad != "":
			line = look.Bad(line)
		case r.value == "":
			line = look.Dim(line)
		}
		lines = append(lines, line)
	}
	lines = draw.Block(lines, w, room)
	if h > 1 {
		r := rows[s.formRows.Cursor]
		help := look.Dim(draw.Clean(r.help))
		if r.bad != "" {
			help = look.Bad("! " + draw.Clean(r.bad))
		}
		lines = append(lines, help)
	}
	return lines
}

// bodyLines are the editor, and below it what is wrong.
func (s *Screen) bodyLines(w, h int, look theme.Theme) []string {
	c := s.check()
	n := min(len(c.problems), problemsMost, max(h/3, 0))
	s.body.SetSize(w, h-n)
	bad := func(t string) string { return look.Bad(t) }
	lines := s.body.Render(editor.Look{
		Dim: look.Dim, Bad: bad, Cursor: s.editing || s.focus == bodyPart,
		Marked: func(line int) bool { return c.marked[line] },
	})
	for i := range n {
		text := "! " + draw.Clean(c.problems[i].String())
		if i == n-1 && len(c.problems) > n {
			text = fmt.Sprintf("! %d more problems", len(c.problems)-i)
		}
		lines = append(lines, look.Bad(draw.Fit(text, w)))
	}
	return lines
}

// Foot implements screen.Screen.
func (s *Screen) Foot() (same, state string) {
	look := s.host.Theme()
	r, h, err := s.built()
	if err != nil {
		return "", look.Notice(" ! " + draw.Clean(err.Error()))
	}
	if way, ok := s.command(); ok {
		same = look.SameAs(way.Short())
		if way.Note != "" && way.Text != "" {
			same += look.Dim("  (" + way.Note + ")")
		}
	}
	state = " " + h.Method + " " + draw.Clean(h.URI())
	if n := len(h.Body); n > 0 {
		state += look.Dim("  " + draw.Clean(h.ContentType()) + ", " + size(int64(n)))
	}
	if s.form.hasBody() && !r.Raw() {
		if note := s.checkNote(); note != "" {
			state += "  " + look.Dim(note)
		}
	}
	return same, state
}

// Mouse implements screen.Screen.
func (s *Screen) Mouse(x, y, wheel int) tea.Cmd {
	if s.picker != nil {
		if wheel != 0 {
			s.picker.rows.Cursor += wheel
			s.picker.rows.Clamp(len(s.picker.found), s.picker.seen)
			s.picker.chosen = true
		}
		return nil
	}
	for p, at := range s.layout() {
		if !at.Has(x, y) {
			continue
		}
		row := y - at.Y - 1
		if wheel == 0 {
			s.goTo(part(p))
		}
		s.press(part(p), x-at.X-1, row, wheel)
		return nil
	}
	return nil
}

// press takes a press or a turn of the wheel inside a pane.
func (s *Screen) press(p part, x, row, wheel int) {
	switch p {
	case requestPart:
		s.formRows.Cursor += wheel
		if wheel == 0 {
			s.formRows.Cursor = s.formRows.Top + row
		}
		s.formRows.Clamp(len(s.rows()), s.formHeight())
	case bodyPart:
		if wheel != 0 {
			s.body.Scroll(3 * wheel)
		} else {
			s.body.Press(x, row)
		}
	case answerPart:
		s.answer.view.Top += 3 * wheel
		s.answer.view.Clamp(len(s.answer.lines), s.answer.room())
	case historyPart:
		s.history.rows.Cursor += wheel
		if wheel == 0 {
			s.history.rows.Cursor = s.history.rows.Top + row
		}
		s.history.rows.Clamp(len(s.history.entries), s.historyHeight())
	}
}

package send

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Sizes at which the layout changes.
const (
	besideWidth  = 100 // from here on the panes stand beside each other
	tightHeight  = 20  // below it, the pane that has the focus gets most
	labelWidth   = 21
	problemsMost = 4 // that are seen below the body

	// leastWide and leastHigh are the least sizes on both sides of a border that the user moves.
	leastWide = 30
	leastHigh = 4
)

// arrange places the panes: in two columns, or where there is no room for these, the request above one of the others.
func (s *Screen) arrange(w, h int) []layout.Rect {
	at, borders, body := make([]layout.Rect, parts), s.Borders(), s.form.hasBody()
	switch {
	case w < 30 || h < 9:
		return nil
	case w < besideWidth:
		top := min(max(h/2, 6), len(s.rows())+3)
		if s.At() != requestPart && h < tightHeight {
			top = 4
		}
		top = layout.Border(h, top, borders.Down, leastHigh, leastHigh)
		at[requestPart] = layout.NewRect(0, 0, w, top)
		at[s.Behind()] = layout.NewRect(0, top, w, h-top)
	default:
		left := layout.Border(w, min(max(w*2/5, 46), 70), borders.Across, leastWide, leastWide)
		top := layout.Border(h, h-min(max(h/4, 5), 12), borders.Down, leastHigh, leastHigh)
		at[requestPart] = layout.NewRect(0, 0, left, top)
		at[historyPart] = layout.NewRect(0, top, left, h-top)
		high := 0
		if body {
			high = layout.Border(h, h*11/20, borders.Lower, leastHigh, leastHigh)
			at[bodyPart] = layout.NewRect(left, 0, w-left, high)
		}
		at[answerPart] = layout.NewRect(left, high, w-left, h-high)
	}
	return at
}

// Render draws the panes, and the picker above them.
func (s *Screen) Render() []string {
	frame := s.Draw(s.picker == nil)
	if s.picker != nil {
		width, h := s.Size()
		w := min(width, 84)
		box := s.picker.box(w, max(h-2, 1), s.host.Theme())
		frame = draw.Overlay(frame, box, (width-w)/2, min(1, max(h-len(box), 0)))
	}
	return frame
}

// part is a pane of the screen.
type part struct {
	screen *Screen
	id     int

	outside layout.Rect
	w, h    int // inside the frame
}

func (p *part) SetSize(w, h int) {
	p.outside, p.w, p.h = layout.NewRect(0, 0, w, h), max(w-2, 0), max(h-2, 0)
}

// Handle implements pane.Pane.
func (p *part) Handle(id keys.ID) (tea.Cmd, bool) {
	s := p.screen
	switch p.id {
	case requestPart:
		switch id {
		case keys.Left:
			return s.cycle(-1), true
		case keys.Right:
			return s.cycle(1), true
		}
		return nil, s.formRows.Move(id, len(s.rows()), p.h-1)
	case bodyPart:
		return nil, s.body.Handle(id)
	case answerPart:
		return nil, s.answer.handle(id)
	}
	return nil, s.history.rows.Move(id, len(s.history.entries), p.h)
}

func (p *part) Click(x, y int) bool {
	s := p.screen
	switch p.id {
	case requestPart:
		s.formRows.Cursor = s.formRows.Top + y - 1
		s.formRows.Clamp(len(s.rows()), p.h-1)
	case bodyPart:
		s.body.Press(x-1, y-1)
	case historyPart:
		s.history.rows.Cursor = s.history.rows.Top + y - 1
		s.history.rows.Clamp(len(s.history.entries), p.h)
	}
	return p.id != answerPart
}

func (p *part) Render(focused bool) []string {
	s := p.screen
	look := s.host.Theme()
	var lines []string
	var title, note string
	switch p.id {
	case requestPart:
		title, lines = look.Words.Phrase("Request"), s.formLines(p.w, p.h, focused, look)
	case bodyPart:
		title, note, lines = s.bodyTitle(), s.checkNote(), s.bodyLines(p.w, p.h, look)
		if s.editing {
			note += "  " + look.Words.Phrase("esc: done")
		}
	case answerPart:
		s.answer.w, s.answer.h = p.w, p.h
		s.answer.update(s.shown, s.host.Zone())
		title, lines = look.Words.Phrase("Answer"), s.answer.render(s.shown, look)
		if s.shown != nil {
			note = draw.Fit(draw.Clean(s.shown.request.Title()), min(draw.Width(draw.Clean(s.shown.request.Title())), p.w/2))
		}
	case historyPart:
		title, lines = look.Words.Phrase("History"), s.history.render(p.w, p.h, s.shown, focused, s.host.Zone(), look)
		if s.history.gone > 0 {
			note = look.Words.Phrase("%d forgotten", s.history.gone)
		}
	}
	if w, _ := s.Size(); w < besideWidth && p.id != requestPart {
		title = s.tabsTitle(p.id, title)
	}
	return look.Box(lines, title, note, p.outside.W, p.outside.H, focused)
}

// tabsTitle adds the names of the hidden panes to the title of the visible one.
func (s *Screen) tabsTitle(p int, title string) string {
	words := s.host.Theme().Words
	names := [parts]string{"", words.Phrase("Body"), words.Phrase("Answer"), words.Phrase("History")}
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
	of, words := s.form.bodyType(s.resource()), s.host.Theme().Words
	switch {
	case of.Patch != "":
		return words.Phrase("Body: %s patch", of.Patch)
	case of.Kind.Kind != "":
		return words.Phrase("Body: %s", draw.Clean(of.Kind.Kind+" "+of.Kind.APIVersion()))
	}
	return words.Phrase("Body")
}

// formLines draws the rows of the form, and the help for the row under the cursor.
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
		line := draw.Fit(mark+draw.Fit(draw.Clean(look.Words.Text(r.label)), labelWidth)+" "+value, w)
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
		help := look.Dim(draw.Clean(look.Words.Text(r.help)))
		if r.bad != "" {
			help = look.Bad("! " + draw.Clean(look.Words.Text(r.bad)))
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
		Dim: look.Dim, Bad: bad, Cursor: s.editing || s.At() == bodyPart,
		Marked: func(line int) bool { return c.marked[line] },
	})
	for i := range n {
		text := "! " + draw.Clean(c.problems[i].String())
		if i == n-1 && len(c.problems) > n {
			text = "! " + look.Words.Phrase("%d more problems", len(c.problems)-i)
		}
		lines = append(lines, look.Bad(draw.Fit(text, w)))
	}
	return lines
}

func (s *Screen) Foot() (same, state string) {
	look := s.host.Theme()
	r, h, err := s.buildRequest()
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
			state += "  " + look.Dim(look.Words.Text(note))
		}
	}
	return same, state
}

// Mouse takes a press or a turn of the wheel. The wheel moves the picker while that is open.
func (s *Screen) Mouse(x, y, wheel int) tea.Cmd {
	if s.picker == nil {
		return s.Split.Mouse(x, y, wheel)
	}
	if wheel != 0 {
		s.picker.rows.Cursor += wheel
		s.picker.rows.Clamp(len(s.picker.found), s.picker.seen)
		s.picker.chosen = true
	}
	return nil
}

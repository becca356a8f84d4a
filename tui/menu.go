package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
)

// menu is an open menu. The typed text narrows its choices, or is a choice of its own.
type menu struct {
	screen.Menu
	words  lang.Language
	typing editor.Line
	rows   pane.Scroll
}

func (m *model) choose(what screen.Menu) {
	m.offered = menu{Menu: what, words: m.theme.Words}
	m.overlay = keys.Menu
}

// matches returns the choices that match the typed text, and the choice that the text itself makes; wrong is the reason
// why the text makes none.
func (o *menu) matches() (found []screen.Choice, wrong string) {
	typed := strings.TrimSpace(o.typing.String())
	if typed == "" {
		return o.Choices, ""
	}
	for _, c := range o.Choices {
		if strings.Contains(strings.ToLower(c.Title+" "+c.Help+" "+o.words.Text(c.Title)+" "+o.words.Text(c.Help)),
			strings.ToLower(typed)) {
			found = append(found, c)
		}
	}
	if o.Typed == nil {
		return found, "nothing here is called so"
	}
	own, err := o.Typed(typed)
	if err != nil {
		return found, err.Error()
	}
	for i, c := range found {
		if c.Title == own.Title { // the typed choice is in the list: it comes first
			copy(found[1:i+1], found[:i])
			found[0] = c
			return found, ""
		}
	}
	return append([]screen.Choice{own}, found...), ""
}

// take runs the choice under the cursor, or tells the user why it can't. A menu stays open until a choice ran.
func (m *model) take() tea.Cmd {
	found, wrong := m.offered.matches()
	if len(found) == 0 {
		m.complain(wrong)
		return nil
	}
	c := found[min(m.offered.rows.Cursor, len(found)-1)]
	if c.Why != "" {
		m.refuse(c.Title, c.Why)
		return nil
	}
	m.overlay = keys.None
	return c.Do()
}

// inMenu moves the cursor, or edits the line.
func (m *model) inMenu(id keys.ID) {
	o := &m.offered
	if o.typing.Handle(id) {
		o.rows = pane.Scroll{}
		return
	}
	found, _ := o.matches()
	o.rows.Move(id, len(found), m.menuRows(len(found)))
}

// menuRows returns how many of n choices fit: the frame and the typed line take the rest.
func (m *model) menuRows(n int) int { return max(min(m.boxHeight()-3, n), 1) }

// clickMenu takes the choice on line y of the terminal.
func (m *model) clickMenu(y int) tea.Cmd {
	found, _ := m.offered.matches()
	if i := m.offered.rows.Top + y - m.boxTop() - 2; i >= m.offered.rows.Top && i < len(found) {
		m.offered.rows.Cursor = i
		return m.take()
	}
	return nil
}

// menuBox draws the menu, as high as its contents.
func (m *model) menuBox() []string {
	o, w := &m.offered, m.boxWidth()
	found, wrong := o.matches()
	rows := m.menuRows(len(found))
	o.rows.Clamp(len(found), rows)
	column := 0
	for _, c := range o.Choices {
		column = max(column, draw.Width(m.theme.Words.Text(c.Title)))
	}
	column = min(column, w*2/5)
	lines := []string{"/ " + o.typing.View(w-4)}
	if o.typing.String() == "" {
		lines[0] = "/ " + o.typing.View(1) + " " + m.theme.Dim(draw.Clean(m.theme.Words.Text(o.Hint)))
	}
	for i := o.rows.Top; i < min(o.rows.Top+rows, len(found)); i++ {
		c := found[i]
		help := m.theme.Dim(draw.Clean(m.theme.Words.Text(c.Help)))
		if c.Why != "" {
			help = m.theme.Notice(m.theme.Words.Phrase("not now: %s", draw.Clean(m.theme.Words.Text(c.Why))))
		}
		title := "  " + draw.Fit(draw.Clean(m.theme.Words.Text(c.Title)), column)
		if i == o.rows.Cursor {
			title = m.theme.Selected("> " + draw.Fit(draw.Clean(m.theme.Words.Text(c.Title)), column))
		}
		lines = append(lines, title+"  "+help)
	}
	if len(found) == 0 {
		lines = append(lines, "  "+m.theme.Notice(draw.Clean(m.theme.Words.Text(wrong))))
	}
	note := m.theme.Words.Phrase("esc closes")
	if more := len(found) - o.rows.Top - rows; more > 0 {
		note = m.theme.Words.Phrase("more below")
	}
	return m.theme.Box(lines, m.theme.Title(draw.Clean(m.theme.Words.Text(o.Title))), note, w, len(lines)+2, true)
}

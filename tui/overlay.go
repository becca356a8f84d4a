package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/prompt"
)

func (m *model) openPalette() {
	m.overlay = keys.Palette
	m.typing.Set("")
	m.chosen = pane.Scroll{}
}

// openHelp opens help for the context that has the focus.
func (m *model) openHelp() {
	m.helpOf = m.context()
	m.overlay = keys.Help
	m.reading = pane.View{}
}

func (m *model) closeOverlay() { m.overlay = keys.None }

// inOverlay moves, or edits the line, in what is open above the screen.
func (m *model) inOverlay(id keys.ID) {
	switch m.overlay {
	case keys.Palette:
		if m.typing.Handle(id) {
			m.chosen = pane.Scroll{}
			return
		}
		m.chosen.Move(id, len(m.listed()), m.paletteRows())
	case keys.Help:
		m.reading.Move(id, len(m.helpLines()), m.helpRows())
	case keys.Ask:
		m.asking.line.Handle(id)
	case keys.Menu:
		m.inMenu(id)
	}
}

func (m *model) typeIntoPalette(text []rune) {
	m.typing.Insert(text)
	m.chosen = pane.Scroll{}
}

// listed are the commands of the palette that have the typed text in their ID, title or keys: first those that apply on the
// current screen.
func (m *model) listed() []*keys.Command {
	want := strings.ToLower(m.typing.String())
	var here, elsewhere []*keys.Command
	for _, c := range m.table.Commands() {
		switch {
		case !m.inPalette(c) || !strings.Contains(strings.ToLower(string(c.ID)+" "+c.Title+" "+keys.Shown(c.Keys...)), want):
		case slices.ContainsFunc(m.current.Contexts(), c.In):
			here = append(here, c)
		default:
			elsewhere = append(elsewhere, c)
		}
	}
	return append(here, elsewhere...)
}

// inPalette reports whether the palette has a command: what only edits a line is left out.
func (m *model) inPalette(c *keys.Command) bool {
	for _, ctx := range c.Contexts {
		if !ctx.Typing && m.owner(ctx) != nil {
			return true
		}
	}
	return false
}

// runChosen does the command under the palette's cursor, in the pane that it is for.
func (m *model) runChosen() tea.Cmd {
	found := m.listed()
	if m.chosen.Cursor >= len(found) {
		m.say(fmt.Sprintf("no command has %q", m.typing.String()))
		return nil
	}
	c := found[m.chosen.Cursor]
	m.overlay = keys.None
	return tea.Batch(m.leadTo(c), m.do(c))
}

// question is what the user is asked in the line of state: for a line of text, or for yes or no.
type question struct {
	text string
	line prompt.Line
	then func(string) tea.Cmd
	yes  func() tea.Cmd
}

func (m *model) ask(text, initial string, then func(string) tea.Cmd) {
	m.asking = question{text: text, then: then}
	m.asking.line.Set(initial)
	m.overlay = keys.Ask
}

func (m *model) propose(text, proposal string, then func(string) tea.Cmd) {
	m.ask(text, "", then)
	m.asking.line.Propose(proposal)
}

func (m *model) confirm(text string, then func() tea.Cmd) {
	m.asking = question{text: text, yes: then}
	m.overlay = keys.Confirm
}

func (q *question) insert(m *model, text []rune) {
	if !q.line.Insert(text) {
		m.complain("there is no room for more")
	}
}

func (m *model) answer() tea.Cmd {
	m.overlay = keys.None
	return m.asking.then(m.asking.line.String())
}

func (m *model) yes() tea.Cmd {
	m.overlay = keys.None
	return m.asking.yes()
}

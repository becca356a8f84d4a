package tui

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
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
	m.seek("")
}

// seek narrows help to what has a text.
func (m *model) seek(text string) {
	m.seeking.Set(text)
	m.reading = pane.View{}
}

func (m *model) closeOverlay() { m.overlay = keys.None }

// inOverlay moves, or edits the line, in the open overlay.
func (m *model) inOverlay(id keys.ID) {
	switch m.overlay {
	case keys.Palette:
		if m.typing.Handle(id) {
			m.chosen = pane.Scroll{}
			return
		}
		m.chosen.Move(id, len(m.paletteCommands()), m.paletteRows())
	case keys.InHelp:
		if m.seeking.Handle(id) {
			m.reading = pane.View{}
			return
		}
		fallthrough
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

// paletteCommands returns the commands of the palette whose ID, title, keys, other names or help contain all typed
// words. Commands of the current screen come first, then the most used ones. A command that matches by its help alone
// comes last.
func (m *model) paletteCommands() []*keys.Command {
	want := typedWords(m.typing.String())
	type ranked struct {
		command         *keys.Command
		elsewhere, late bool
	}
	var found []ranked
	for _, c := range m.table.Commands() {
		if !m.inPalette(c) {
			continue
		}
		r := ranked{command: c, elsewhere: !slices.ContainsFunc(m.focusedSide().Contexts(), c.AppliesIn)}
		text := m.namesOf(c)
		if !want.matchIn(text) {
			if r.late = true; !want.matchIn(text + " " + m.helpOn(c)) {
				continue
			}
		}
		found = append(found, r)
	}
	rank := func(later bool) int {
		if later {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(found, func(a, b ranked) int {
		return cmp.Or(rank(a.late)-rank(b.late), rank(a.elsewhere)-rank(b.elsewhere), m.used[b.command.ID]-m.used[a.command.ID])
	})
	var all []*keys.Command
	if c := m.filterForCode(); c != nil {
		all = append(all, c)
	}
	for _, r := range found {
		all = append(all, r.command)
	}
	return all
}

// usedMost bounds a count. At the bound all counts are halved, so that recent use outweighs old use.
const usedMost = 64

// nothingListed is the palette's answer if no command matches the typed text. It recognises functions of steps, and
// functions that articles name and that are no step.
func (m *model) nothingListed() string {
	words, name := m.theme.Words, strings.TrimSpace(m.typing.String())
	if s := steps.LookupStepless(name); s != nil {
		return words.Phrase("no step is %s. %s (%s)", name, words.Text(s.Text), s.Place())
	}
	if steps.IsFunction(name) {
		return words.Phrase("enter shows the requests that went through %s", name)
	}
	return words.Phrase("no command has %q", m.typing.String())
}

// use counts a command that was run from the palette.
func (m *model) use(c *keys.Command) {
	if m.used == nil {
		m.used = map[keys.ID]int{}
	}
	if m.used[c.ID]++; m.used[c.ID] < usedMost {
		return
	}
	for id, n := range m.used {
		if m.used[id] = n / 2; n < 2 {
			delete(m.used, id)
		}
	}
}

// screenOf names the screen of a command, or returns "" if it applies on the current one.
func (m *model) screenOf(c *keys.Command) string {
	if slices.ContainsFunc(m.focusedSide().Contexts(), c.AppliesIn) {
		return ""
	}
	for _, ctx := range c.Contexts {
		if s := m.owner(ctx); s != nil {
			return m.theme.Words.Text(string(s.Name()))
		}
	}
	return ""
}

// inPalette reports whether the palette lists a command. It leaves out commands that only edit a line.
func (m *model) inPalette(c *keys.Command) bool {
	for _, ctx := range c.Contexts {
		if !ctx.Typing && m.owner(ctx) != nil {
			return true
		}
	}
	return false
}

// runChosen runs the command under the palette's cursor, in the pane of that command.
func (m *model) runChosen() tea.Cmd {
	found := m.paletteCommands()
	if m.chosen.Cursor >= len(found) {
		name := strings.TrimSpace(m.typing.String())
		if steps.IsFunction(name) {
			m.overlay = keys.None
			return m.lead(screen.ToRequests{Filter: filter.OfText(name)})
		}
		m.say(m.nothingListed())
		return nil
	}
	c := found[m.chosen.Cursor]
	m.overlay = keys.None
	m.use(c)
	return tea.Batch(m.leadTo(c), m.do(c))
}

// question is an open question in the line of state: it asks for a line of text, or for yes or no.
type question struct {
	text string
	line editor.Line
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

func (m *model) agree() tea.Cmd {
	m.overlay = keys.None
	return m.asking.yes()
}

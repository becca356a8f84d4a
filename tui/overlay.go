package tui

import (
	"errors"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
)

// The commands of lines that are typed into.
const (
	editLeft       keys.ID = "edit.left"
	editRight      keys.ID = "edit.right"
	editHome       keys.ID = "edit.home"
	editEnd        keys.ID = "edit.end"
	editBackspace  keys.ID = "edit.backspace"
	editDelete     keys.ID = "edit.delete"
	editDeleteWord keys.ID = "edit.delete-word"
	editDeleteLine keys.ID = "edit.delete-line"
)

func editCommands() []keys.Command {
	typing, both := []keys.Context{keys.Filter}, []keys.Context{keys.Filter, keys.Palette}
	return []keys.Command{
		{ID: applyID, Title: "apply the filter", Help: "Follow the requests that the filter wants.", Hint: "apply", Contexts: typing, Keys: []string{"enter"}},
		{ID: completeID, Title: "complete the field", Help: "Complete the name of the field before the cursor.", Hint: "complete", Contexts: typing, Keys: []string{"tab"}},
		{ID: runID, Title: "do the command", Help: "Do the command under the cursor.", Hint: "do it", Contexts: []keys.Context{keys.Palette}, Keys: []string{"enter"}},
		{ID: editLeft, Title: "go left", Help: "One character to the left.", Contexts: typing, Keys: []string{"left", "ctrl+b"}},
		{ID: editRight, Title: "go right", Help: "One character to the right.", Contexts: typing, Keys: []string{"right", "ctrl+f"}},
		{ID: editHome, Title: "go to the beginning", Help: "To the beginning of the line.", Contexts: typing, Keys: []string{"home", "ctrl+a"}},
		{ID: editEnd, Title: "go to the end", Help: "To the end of the line.", Contexts: typing, Keys: []string{"end", "ctrl+e"}},
		{ID: editBackspace, Title: "delete a character", Help: "Delete the character before the cursor.", Contexts: both, Keys: []string{"backspace", "ctrl+h"}},
		{ID: editDelete, Title: "delete the next character", Help: "Delete the character at the cursor.", Contexts: typing, Keys: []string{"delete"}},
		{ID: editDeleteWord, Title: "delete a word", Help: "Delete the word before the cursor.", Contexts: both, Keys: []string{"ctrl+w"}},
		{ID: editDeleteLine, Title: "delete the line", Help: "Delete what is before the cursor.", Hint: "clear", Contexts: typing, Keys: []string{"ctrl+u"}},
	}
}

// edit does an editing command. It says whether id is one.
func (m *model) edit(id keys.ID) bool {
	l := &m.typing
	edits := map[keys.ID]func(){
		editLeft: l.Left, editRight: l.Right, editHome: l.Home, editEnd: l.End, editBackspace: l.Backspace,
		editDelete: l.Delete, editDeleteWord: l.DeleteWord, editDeleteLine: l.DeleteToStart,
	}
	edit, ok := edits[id]
	if ok {
		edit()
		m.chosen = pane.Scroll{}
	}
	return ok
}

func (m *model) insert(text []rune) {
	if !m.typing.Insert(text) {
		m.complain(fmt.Sprintf("a filter has at most %d bytes", filter.MaxLength))
	}
	m.chosen = pane.Scroll{}
}

func (m *model) openOverlay(id keys.ID) {
	switch id {
	case filterID:
		m.overlay = keys.Filter
		m.typing.Set(m.applied)
	case paletteID:
		m.overlay = keys.Palette
		m.typing.Set("")
		m.chosen = pane.Scroll{}
	case helpID:
		m.helpOf = m.context()
		m.overlay = keys.Help
		m.reading = pane.View{}
	}
}

// parsed reads what is typed as a filter.
func (m *model) parsed() (filter.Filter, *filter.Error) {
	f, err := filter.Parse(m.typing.String())
	var e *filter.Error
	if err != nil && !errors.As(err, &e) {
		e = &filter.Error{Column: 1, Problem: err.Error()}
	}
	return f, e
}

// apply follows what the filter wants, if it can be read. Until then the old result stays.
func (m *model) apply() {
	if _, err := m.parsed(); err != nil {
		m.complain(err.Error())
		return
	}
	m.overlay = keys.None
	m.follow(strings.TrimSpace(m.typing.String()))
}

func (m *model) follow(f string) {
	m.applied = f
	m.session.Follow(f)
}

// candidates are the fields whose name begins with the word before the cursor.
func (m *model) candidates() []filter.Field {
	word := strings.ToLower(m.typing.Word())
	var found []filter.Field
	for _, f := range filter.Fields() {
		if word != "" && strings.HasPrefix(f.Name, word) {
			found = append(found, f)
		}
	}
	return found
}

// complete completes the field before the cursor, as far as it is certain.
func (m *model) complete() {
	found := m.candidates()
	if len(found) == 0 {
		m.say("no field begins so; there are " + fieldNames())
		return
	}
	word := m.typing.Word()
	common := found[0].Name
	for _, f := range found {
		for !strings.HasPrefix(f.Name, common) {
			common = common[:len(common)-1]
		}
	}
	rest := common[len(word):]
	if len(found) == 1 {
		rest += ":"
	}
	m.insert([]rune(rest))
}

func fieldNames() string {
	var names []string
	for _, f := range filter.Fields() {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}

// listed are the commands that the palette has for what is typed.
func (m *model) listed() []*keys.Command {
	want := strings.ToLower(m.typing.String())
	var found []*keys.Command
	for _, c := range m.table.Commands() {
		if !inPanes(c) || !strings.Contains(strings.ToLower(string(c.ID)+" "+c.Title+" "+c.Key()), want) {
			continue
		}
		found = append(found, c)
	}
	return found
}

// inPanes says that a command can be done in a pane: only there does it have a meaning of its own.
func inPanes(c *keys.Command) bool {
	for _, ctx := range keys.Panes {
		if c.In(ctx) {
			return true
		}
	}
	return false
}

// runChosen does the command under the palette's cursor, in the pane that it is for.
func (m *model) runChosen() tea.Cmd {
	found := m.listed()
	if m.chosen.Cursor >= len(found) {
		m.say("no command is called so")
		return nil
	}
	c := found[m.chosen.Cursor]
	m.overlay = keys.None
	if !c.In(m.context()) {
		for _, p := range order {
			if c.In(contexts[p]) {
				m.goTo(p)
				break
			}
		}
	}
	return m.do(c)
}

// moveOverlay moves in the palette or in help.
func (m *model) moveOverlay(id keys.ID) {
	switch m.overlay {
	case keys.Palette:
		m.chosen.Move(id, len(m.listed()), m.paletteRows())
	case keys.Help:
		m.reading.Move(id, len(m.helpLines()), m.helpRows())
	}
}

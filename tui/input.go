package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
)

// context is where a key is pressed now.
func (m *model) context() keys.Context {
	if m.overlay != keys.None {
		return m.overlay
	}
	return contexts[m.focus]
}

// pressed does what the keys of a message mean. A message may hold several keys, typed fast or over a slow line.
func (m *model) pressed(msg tea.KeyMsg) tea.Cmd {
	m.note = note{}
	if msg.Paste {
		return m.pasted(msg.Runes)
	}
	if msg.Type != tea.KeyRunes || msg.Alt {
		return m.key(msg.String())
	}
	var cmds []tea.Cmd
	for _, r := range msg.Runes {
		cmds = append(cmds, m.key(string(r)))
	}
	return tea.Batch(cmds...)
}

// key does what one key means.
func (m *model) key(name string) tea.Cmd {
	ctx := m.context()
	if c := m.table.Resolve(ctx, name); c != nil {
		return m.do(c)
	}
	if text := []rune(name); ctx.Typing && len(text) == 1 {
		m.insert(text)
		return nil
	}
	m.say(keys.Shown(name) + " does nothing here: ? lists the keys")
	return nil
}

// pasted takes text from the clipboard: as text where one types, else as keys, if all of them only move. Text that was
// not meant for kx must not do anything in it.
func (m *model) pasted(text []rune) tea.Cmd {
	ctx := m.context()
	if ctx.Typing {
		m.insert(text)
		return nil
	}
	var moves []*keys.Command
	for _, r := range text {
		c := m.table.Resolve(ctx, string(r))
		if c == nil || !c.Motion {
			m.say("pasted text is not taken as commands: open / or : first")
			return nil
		}
		moves = append(moves, c)
	}
	var cmds []tea.Cmd
	for _, c := range moves {
		cmds = append(cmds, m.do(c))
	}
	return tea.Batch(cmds...)
}

// do does a command, or says why not.
func (m *model) do(c *keys.Command) tea.Cmd {
	if reason := c.Disabled(); reason != "" {
		m.complain("can't " + c.Title + ": " + reason)
		return nil
	}
	if cmd, ok := m.handle(c.ID); ok {
		return tea.Batch(cmd, m.sync())
	}
	if m.overlay != keys.None {
		m.moveOverlay(c.ID)
		return nil
	}
	panes := m.panes()
	if cmd, ok := panes[m.focus].Handle(c.ID); ok {
		return tea.Batch(cmd, m.sync())
	}
	if strings.HasPrefix(string(c.ID), "move.") {
		return nil
	}
	for _, p := range order {
		if cmd, ok := panes[p].Handle(c.ID); ok {
			m.reveal(p)
			return tea.Batch(cmd, m.sync())
		}
	}
	return nil
}

// reveal shows Detail where a command changed what it shows from another pane, and it is not seen.
func (m *model) reveal(p layout.Pane) {
	switch {
	case p != layout.Detail || m.screen.Panes[p].W > 0:
	case m.focus == layout.List && m.mode.Zoom == layout.None:
		m.mode.Body = p
		m.relayout()
	default:
		m.goTo(p)
	}
}

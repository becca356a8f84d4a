package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
)

// context returns the context in which the next key is resolved.
func (m *model) context() keys.Context {
	if m.overlay != keys.None {
		return m.overlay
	}
	return m.focusedSide().Context()
}

// pressKeys runs the commands of a key message. A message may hold several keys, typed fast or over a slow line.
func (m *model) pressKeys(msg tea.KeyMsg) tea.Cmd {
	m.note = note{}
	if msg.Paste {
		return m.paste(msg.Runes)
	}
	if msg.Alt && m.table.Resolve(m.context(), msg.String()) == nil {
		// Over a slow line esc and the key after it come together, and look like a key with alt.
		msg.Alt = false
		return tea.Batch(m.key("esc"), m.pressKeys(msg))
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

// key runs the command of one key.
func (m *model) key(name string) tea.Cmd {
	ctx := m.context()
	c := m.table.Resolve(ctx, name)
	if m.frame.TooSmall && ctx != keys.Confirm && (c == nil || c.ID != quitID && c.ID != quitAlwaysID) {
		return nil // the effect would be invisible
	}
	if c != nil {
		return m.do(c)
	}
	if text := []rune(name); ctx.Typing && len(text) == 1 {
		m.insert(text)
		return nil
	}
	m.say(m.theme.Words.Phrase("%s does nothing here: ? lists the keys", keys.FormatKeys(name)))
	return nil
}

// insert types text into the line that has the focus.
func (m *model) insert(text []rune) {
	switch m.overlay {
	case keys.None:
		m.focusedSide().Type(text)
	case keys.Ask:
		m.asking.insert(m, text)
	case keys.Menu:
		m.offered.typing.Insert(text)
		m.offered.rows = pane.Scroll{}
	case keys.InHelp:
		m.seeking.Insert(text)
		m.reading = pane.View{}
	default:
		m.typeIntoPalette(text)
	}
}

// paste takes text from the clipboard: as text in a context that types, else as keys, if all of them only move. Text
// that was not meant for kx must not do anything in it.
func (m *model) paste(text []rune) tea.Cmd {
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

// do runs a command, or tells the user why it is disabled.
func (m *model) do(c *keys.Command) tea.Cmd {
	if reason := c.DisabledReason(); reason != "" {
		m.refuse(c.Title, reason)
		return nil
	}
	return c.Do()
}

// click handles a click or a turn of the wheel.
func (m *model) click(msg tea.MouseMsg) tea.Cmd {
	wheel := 0
	switch {
	case msg.Action != tea.MouseActionPress:
		return nil
	case msg.Button == tea.MouseButtonWheelDown:
		wheel = 1
	case msg.Button == tea.MouseButtonWheelUp:
		wheel = -1
	case msg.Button != tea.MouseButtonLeft:
		return nil
	}
	switch {
	case m.frame.TooSmall:
		return nil
	case msg.Y == m.h-1 && wheel == 0:
		return m.clickedHint(msg.X)
	case m.overlay == keys.Menu && wheel == 0:
		return m.clickMenu(msg.Y)
	case m.overlay != keys.None:
		m.clickedOverlay(wheel)
		return nil
	case m.frame.Header.Has(msg.X, msg.Y) && wheel == 0:
		return m.clickedTab(msg.X)
	}
	return m.clickedSide(msg.X, msg.Y, wheel)
}

// clickedSide gives a click, and with it the focus, to the lesson or to the screen beside it. The wheel scrolls
// either without taking the focus.
func (m *model) clickedSide(x, y, wheel int) tea.Cmd {
	side, at := m.focusedSide(), m.frame.Screen
	if m.lesson != nil && !m.frame.OneSide() {
		side = m.current
		if m.frame.Lesson.Has(x, y) {
			side, at = m.lesson, m.frame.Lesson
		}
	}
	if !at.Has(x, y) {
		return nil
	}
	m.note = note{}
	if wheel == 0 {
		m.face(side == screen.Screen(m.lesson))
	}
	return side.Mouse(x-at.X, y-at.Y, wheel)
}

// clickedOverlay scrolls the open overlay with the wheel. Clicks have no effect there.
func (m *model) clickedOverlay(wheel int) {
	switch {
	case wheel > 0:
		m.inOverlay(keys.Down)
	case wheel < 0:
		m.inOverlay(keys.Up)
	}
}

// clickedHint runs the command of the hint that was clicked.
func (m *model) clickedHint(x int) tea.Cmd {
	for _, h := range m.placeHints() {
		if x >= h.x && x < h.x+h.w {
			m.note = note{}
			return m.key(h.key)
		}
	}
	return nil
}

func (m *model) clickedTab(x int) tea.Cmd {
	for _, t := range m.tabs() {
		if x >= t.x && x < t.x+t.w && t.name != m.focusedSide().Name() {
			return m.turnTo(t.name)
		}
	}
	return nil
}

// tab is the name of a screen in the header.
type tab struct {
	name screen.Name
	text string
	x, w int
}

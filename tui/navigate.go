package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

// pathMost limits how many screens esc leads back through.
const pathMost = 32

// focusedSide returns the side that has the focus: the lesson or the current screen.
func (m *model) focusedSide() screen.Screen {
	if m.onLesson {
		return m.lesson
	}
	return m.current
}

// face gives the focus to the lesson, or to the screen.
func (m *model) face(lesson bool) {
	if m.lesson == nil {
		return
	}
	m.onLesson = lesson
	for _, s := range m.order {
		s.Blur(lesson != (s == screen.Screen(m.lesson)))
	}
}

// turnSides gives the focus to the other side.
func (m *model) turnSides() { m.face(!m.onLesson) }

// lead shows a target, and esc leads back. A lesson keeps the focus, except where it hides a screen that it wants the
// user to look at.
func (m *model) lead(to screen.Target) tea.Cmd {
	if look, ok := to.(screen.Look); ok {
		to = look.Target
		if m.frame.OneSide() {
			m.face(false)
		}
	}
	s := m.screens[to.Screen()]
	if s == nil {
		m.complain(m.theme.Words.Phrase("there is no screen %s", m.screenTitle(to.Screen())))
		return nil
	}
	if why := m.unreachable(to.Screen()); why != "" {
		m.complain(m.theme.Words.Phrase("can't go to %s: %s", m.screenTitle(to.Screen()), m.theme.Words.Text(why)))
		return nil
	}
	if s != m.current {
		m.path = append(m.path, m.current.Name())
		if len(m.path) > pathMost {
			m.path = m.path[1:]
		}
	}
	return m.show(s, to)
}

// unreachable returns the reason why a screen can't be shown, or "".
func (m *model) unreachable(name screen.Name) string {
	for i, maker := range makers {
		if m.order[i].Name() == name && maker.asks {
			return m.client.Absent()
		}
	}
	return ""
}

// leadBack returns to the screen from which the last lead started. It reports whether there was one.
func (m *model) leadBack() (tea.Cmd, bool) {
	if len(m.path) == 0 {
		return nil, false
	}
	last := len(m.path) - 1
	s := m.screens[m.path[last]]
	m.path = m.path[:last]
	return m.show(s, nil), true
}

// turnTo shows a numbered screen as it was left. It clears the path: esc has nowhere to go back to.
func (m *model) turnTo(name screen.Name) tea.Cmd {
	m.face(name == screen.Lesson)
	if m.onLesson {
		return nil
	}
	m.path = nil
	return m.show(m.screens[name], nil)
}

// show makes a screen the current one.
func (m *model) show(s screen.Screen, to screen.Target) tea.Cmd {
	m.overlay = keys.None
	if s != m.current {
		m.current.Hide()
		m.current = s
	} else if to == nil {
		return nil
	}
	return s.Show(to)
}

// owner returns the screen that a context belongs to, or nil.
func (m *model) owner(ctx keys.Context) screen.Screen {
	for _, s := range m.order {
		for _, own := range s.Contexts() {
			if own == ctx {
				return s
			}
		}
	}
	return nil
}

// leadTo shows a screen on which a command applies.
func (m *model) leadTo(c *keys.Command) tea.Cmd {
	if c.AppliesIn(m.context()) {
		return nil
	}
	var cmds []tea.Cmd // a screen that was turned to is shown, also if it has no such pane now
	for _, ctx := range c.Contexts {
		s := m.owner(ctx)
		if s == nil || ctx.Typing {
			continue
		}
		if s != m.focusedSide() {
			cmds = append(cmds, m.turnTo(s.Name()))
		}
		if s.Focus(ctx) {
			break
		}
	}
	return tea.Batch(cmds...)
}

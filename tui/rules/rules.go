package rules

import (
	"encoding/json"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The panes.
var (
	rulesPane = keys.Place("breakpoints")
	heldPane  = keys.Place("held requests")
)

// Screen is the screen Breakpoints. Its methods are called by one goroutine.
type Screen struct {
	host    screen.Host
	control *control.Control
	view    control.View

	w, h    int
	borders layout.Borders
	onHeld  bool // the focus is on the held requests
	rules   pane.Scroll
	held    pane.Scroll
}

var (
	_ screen.Screen  = (*Screen)(nil)
	_ screen.Leaver  = (*Screen)(nil)
	_ screen.Keeper  = (*Screen)(nil)
	_ screen.Resizer = (*Screen)(nil)
)

// New makes the screen. It ends c when it is closed.
func New(host screen.Host, c *control.Control) *Screen {
	return &Screen{host: host, control: c, view: c.View()}
}

// Name implements screen.Screen.
func (s *Screen) Name() screen.Name { return screen.Rules }

// Contexts implements screen.Screen.
func (s *Screen) Contexts() []keys.Context { return []keys.Context{rulesPane, heldPane} }

// Context implements screen.Screen.
func (s *Screen) Context() keys.Context {
	if s.onHeld {
		return heldPane
	}
	return rulesPane
}

// Focus implements screen.Screen.
func (s *Screen) Focus(ctx keys.Context) bool {
	s.onHeld = ctx == heldPane
	return ctx == heldPane || ctx == rulesPane
}

// Show implements screen.Screen.
func (s *Screen) Show(to screen.Target) tea.Cmd {
	s.control.Start()
	if to, ok := to.(screen.ToRules); ok && to.Filter != "" {
		s.onHeld = false
		return Ask(s.host, s.control, v1alpha1.BreakpointHold, to.Filter)
	}
	return nil
}

// Hide implements screen.Screen.
func (s *Screen) Hide() {}

// Update implements screen.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	if done, ok := msg.(doneMsg); ok {
		done.say(s.host)
		return s.Drain()
	}
	return nil
}

// Drain implements screen.Screen.
func (s *Screen) Drain() tea.Cmd {
	if s.control.Version() == s.view.Version {
		return nil
	}
	was, ok := s.selected()
	s.view = s.control.View()
	if ok && s.rules.Cursor > 0 { // it stays on its rule, but at the top at the top
		for i, r := range s.view.Rules {
			if r.Key == was.Key {
				s.rules.Cursor = i
			}
		}
	}
	s.clamp()
	return nil
}

// Close implements screen.Screen.
func (s *Screen) Close() { s.control.Close() }

// Leaving implements screen.Leaver.
func (s *Screen) Leaving() string {
	switch n := s.control.View().HeldByOwn(); n {
	case 0:
		return ""
	case 1:
		return "1 request is held, and goes on when you leave"
	default:
		return fmt.Sprintf("%d requests are held, and go on when you leave", n)
	}
}

// Keep implements screen.Keeper.
func (s *Screen) Keep() any { return s.control.Keep() }

// Restore implements screen.Keeper.
func (s *Screen) Restore(kept json.RawMessage) error { return s.control.Restore(kept) }

// selected is the rule under the cursor.
func (s *Screen) selected() (control.Rule, bool) {
	if s.rules.Cursor >= len(s.view.Rules) {
		return control.Rule{}, false
	}
	return s.view.Rules[s.rules.Cursor], true
}

// selectedHeld is the held request under the cursor, or nil.
func (s *Screen) selectedHeld() *v1alpha1.Journey {
	if s.held.Cursor >= len(s.view.Held) {
		return nil
	}
	return s.view.Held[s.held.Cursor]
}

// SetSize implements screen.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.clamp()
}

func (s *Screen) clamp() {
	top, bottom := s.heights()
	s.rules.Clamp(len(s.view.Rules), top-3)
	s.held.Clamp(len(s.view.Held), bottom-2)
}

// Type implements screen.Screen.
func (s *Screen) Type([]rune) {}

// Mouse implements screen.Screen.
func (s *Screen) Mouse(_, y, wheel int) tea.Cmd {
	top, _ := s.heights()
	s.onHeld = y >= top
	switch {
	case wheel > 0:
		s.move(keys.Down)
	case wheel < 0:
		s.move(keys.Up)
	case s.onHeld:
		s.held.Cursor = s.held.Top + y - top - 1
	default:
		s.rules.Cursor = s.rules.Top + y - 2
	}
	s.clamp()
	return nil
}

package rules

import (
	"encoding/json"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/keys"
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
	screen.Split
	host    screen.Host
	control *control.Control
	view    control.View

	rules, held *pane.Rows
}

var (
	_ screen.Screen     = (*Screen)(nil)
	_ screen.QuitWarner = (*Screen)(nil)
	_ screen.Keeper     = (*Screen)(nil)
)

// New makes the screen. It ends c when it is closed.
func New(host screen.Host, c *control.Control) *Screen {
	s := &Screen{host: host, control: c, view: c.View()}
	s.rules, s.held = pane.NewRows(host.Theme, s.ruleRows), pane.NewRows(host.Theme, s.heldRows)
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes: []screen.Place{{Context: rulesPane, Pane: s.rules}, {Context: heldPane, Pane: s.held}}, Arrange: s.arrange,
	})
	return s
}

// onHeld reports whether the focus is on the held requests.
func (s *Screen) onHeld() bool { return s.Context() == heldPane }

func (s *Screen) Name() screen.Name { return screen.Rules }

func (s *Screen) Show(to screen.Target) tea.Cmd {
	s.control.Start()
	if to, ok := to.(screen.ToRules); ok && to.Filter != "" {
		s.Focus(rulesPane)
		return Ask(s.host, s.control, v1alpha1.BreakpointHold, to.Filter)
	}
	return nil
}

func (s *Screen) Drain() tea.Cmd {
	if s.control.Version() == s.view.Version {
		return nil
	}
	was, ok := s.selected()
	s.view = s.control.View()
	if ok && s.rules.Cursor() > 0 { // the cursor stays on its rule, but at the top it stays there
		for i, r := range s.view.Rules {
			if r.Key == was.Key {
				s.rules.SetCursor(i)
			}
		}
	}
	return nil
}

func (s *Screen) Close() { s.control.Close() }

func (s *Screen) QuitWarning() string {
	switch n := s.control.View().HeldByOwn(); n {
	case 0:
		return ""
	case 1:
		return s.host.Theme().Words.Phrase("1 request is held, and goes on when you leave")
	default:
		return s.host.Theme().Words.Phrase("%d requests are held, and go on when you leave", n)
	}
}

func (s *Screen) Keep() any { return s.control.Keep() }

func (s *Screen) Restore(kept json.RawMessage) error { return s.control.Restore(kept) }

// selected returns the rule under the cursor.
func (s *Screen) selected() (control.Rule, bool) {
	i := s.rules.Cursor()
	if i < 0 {
		return control.Rule{}, false
	}
	return s.view.Rules[i], true
}

// selectedHeld returns the held request under the cursor, or nil.
func (s *Screen) selectedHeld() *v1alpha1.Journey {
	i := s.held.Cursor()
	if i < 0 {
		return nil
	}
	return s.view.Held[i]
}

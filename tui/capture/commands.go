package capture

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane/steps"
)

// The commands of the screen beyond those of its panes.
const (
	refreshID  keys.ID = "request.refresh"
	copySameID keys.ID = "copy.command"
	filterID   keys.ID = "filter.edit"
	applyID    keys.ID = "filter.apply"
	completeID keys.ID = "filter.complete"
	saveAllID  keys.ID = "capture.save"
	saveOneID  keys.ID = "capture.save-one"
	demoID     keys.ID = "demo.create"
)

// demoKey is named where the demo is offered.
const demoKey = "T"

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command {
	all := []keys.Command{
		{ID: filterID, Title: "filter the requests", Help: "Type which requests to see, such as: verb:create,update code>=400", Hint: "filter",
			Contexts: keys.Panes, Keys: []string{"/"}},
	}
	for _, p := range s.panes() {
		for _, c := range p.Commands() {
			if c.ID == steps.NextID {
				c.Now = func() string { return s.wouldStop(v1alpha1.ActionNext) }
			}
			all = append(all, c)
		}
	}
	for _, more := range [][]keys.Command{s.linkCommands(), s.replayCommands(), s.markCommands(), s.stepCommands(), s.whatIfCommands()} {
		all = append(all, more...)
	}
	return append(all,
		keys.Command{ID: copySameID, Title: "copy the kubectl command", Help: "Put a kubectl command that sends the same request on the clipboard.",
			Contexts: keys.Panes, Keys: []string{"Y"}, Enabled: func() string {
				if _, same := s.sameAs(); same == "" {
					return "there is no kubectl command for it"
				}
				return ""
			}},
		keys.Command{ID: refreshID, Title: "fetch the request again", Help: "Ask the server again: a request that runs has more steps by now, a write more deliveries.",
			Contexts: keys.Panes, Keys: []string{"ctrl+r"}, Enabled: s.selected},
		keys.Command{ID: saveAllID, Title: "save the requests that are shown", Help: "Write the requests of the list, with all that is known of them, to a file for kx tui -r and kx trace. Secrets are masked.",
			Contexts: keys.Panes, Keys: []string{"w"}, Enabled: s.selected},
		keys.Command{ID: saveOneID, Title: "save this request", Help: "Write the request under the cursor to a file for kx tui -r and kx trace.",
			Contexts: keys.Panes, Keys: []string{"W"}, Enabled: s.selected},
		keys.Command{ID: demoID, Title: "create the demo", Help: "Create the definition of a resource CronTab, and two objects of it, over the API.",
			Contexts: keys.Panes, Keys: []string{demoKey}, Enabled: s.noDemo},
		keys.Command{ID: applyID, Title: "apply the filter", Help: "Follow the requests that the filter wants.", Hint: "apply",
			Contexts: []keys.Context{keys.Filter}, Keys: []string{"enter"}},
		keys.Command{ID: completeID, Title: "complete the field or value", Help: "Complete the name of the field before the cursor, or its value: of the requests in the list.", Hint: "complete",
			Contexts: []keys.Context{keys.Filter}, Keys: []string{"tab"}},
	)
}

// selected is why a command that needs a request can't be done.
func (s *Screen) selected() string {
	if s.list.Selected() == nil {
		return "there is no request"
	}
	return ""
}

// Handle implements screen.Screen.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	cmd, ok := s.handle(id)
	if !ok {
		return nil, false
	}
	return tea.Batch(cmd, s.sync()), true
}

func (s *Screen) handle(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case keys.Open:
		if s.At() == layout.Detail {
			return s.followLink()
		}
		if why := s.selected(); why != "" {
			s.host.Complain("can't open: " + why)
			return nil, true
		}
		s.GoTo(s.At() + 1)
	case keys.Copy:
		return s.copy()
	case copySameID:
		_, same := s.sameAs()
		return s.host.Copy(same), true
	case refreshID:
		return s.fetch(s.list.Selected().Name), true
	case saveAllID:
		return s.save(s.shown()), true
	case saveOneID:
		return s.save([]string{s.list.Selected().Name}), true
	case demoID:
		return s.createDemo(), true
	case filterID:
		s.OpenLine()
	case applyID:
		s.apply()
	case completeID:
		s.complete()
	default:
		for _, do := range []func(keys.ID) (tea.Cmd, bool){s.step, s.link, s.marking, s.replay, s.Split.Handle} {
			if cmd, ok := do(id); ok {
				return cmd, true
			}
		}
		if id == keys.Back {
			return nil, s.back()
		}
		return s.toPane(id)
	}
	return nil, true
}

func (s *Screen) copy() (tea.Cmd, bool) {
	row := s.list.Selected()
	if row == nil {
		s.host.Complain("can't copy: there is no request")
		return nil, true
	}
	if s.At() == layout.Detail && s.open.journey != nil {
		text, _ := s.detail.Text()
		return s.host.Copy(text), true
	}
	return s.host.Copy(row.Name), true
}

// toPane gives a command to the pane whose command it is, whichever has the focus.
func (s *Screen) toPane(id keys.ID) (tea.Cmd, bool) {
	for i, p := range s.panes() {
		if !slices.ContainsFunc(p.Commands(), func(c keys.Command) bool { return c.ID == id }) {
			continue
		}
		if cmd, ok := p.Handle(id); ok {
			s.reveal(i)
			return cmd, true
		}
	}
	return nil, false
}

// reveal shows Detail where a command changed what it shows from another pane, and it is not in view.
func (s *Screen) reveal(pane int) {
	switch {
	case pane != layout.Detail || s.Area(pane).W > 0:
	case s.At() == layout.List && !s.Zoomed():
		s.Bring(pane)
	default:
		s.GoTo(pane)
	}
}

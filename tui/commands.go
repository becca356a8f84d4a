package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
)

// The commands of the root.
const (
	quitID       keys.ID = "quit"
	quitAlwaysID keys.ID = "quit.always"
	backID               = keys.Back
	openID       keys.ID = "open"
	nextPaneID   keys.ID = "pane.next"
	prevPaneID   keys.ID = "pane.previous"
	zoomID       keys.ID = "pane.zoom"
	refreshID    keys.ID = "request.refresh"
	copyID       keys.ID = "copy.id"
	copySameID   keys.ID = "copy.command"
	filterID     keys.ID = "filter.edit"
	applyID      keys.ID = "filter.apply"
	completeID   keys.ID = "filter.complete"
	paletteID    keys.ID = "palette.open"
	runID        keys.ID = "palette.run"
	helpID       keys.ID = "help.open"
)

// commands is the table of everything that the user can do.
func (m *model) commands() []keys.Command {
	all := m.goCommands()
	for _, id := range order {
		all = append(all, m.panes()[id].Commands()...)
	}
	all = append(all, m.otherCommands()...)
	return append(append(all, keys.Motions()...), editCommands()...)
}

// order is in which order the panes come.
var order = []layout.Pane{layout.List, layout.Steps, layout.Detail}

// contexts are the panes' contexts.
var contexts = map[layout.Pane]keys.Context{layout.List: keys.List, layout.Steps: keys.Steps, layout.Detail: keys.Detail}

// selected is why a command that needs a request can't be done.
func (m *model) selected() string {
	if m.list.Selected() == nil {
		return "there is no request"
	}
	return ""
}

// goCommands lead from one place to another.
func (m *model) goCommands() []keys.Command {
	return []keys.Command{
		{ID: openID, Title: "open", Help: "From a request to its steps, from a step to its detail.", Hint: "open",
			Contexts: []keys.Context{keys.List, keys.Steps}, Keys: []string{"enter"}, Enabled: m.selected},
		{ID: backID, Title: "go back", Help: "Close what is open, give up the zoom, go back a pane, take off the filter. It never quits.",
			Contexts: keys.All, Keys: []string{"esc"}},
		{ID: filterID, Title: "filter the requests", Help: "Type which requests to see, such as: verb:create,update code>=400", Hint: "filter",
			Contexts: keys.Panes, Keys: []string{"/"}},
		{ID: nextPaneID, Title: "go to the next pane", Help: "List, Steps, Detail, and again.", Hint: "pane",
			Contexts: keys.Panes, Keys: []string{"tab"}},
		{ID: prevPaneID, Title: "go to the previous pane", Help: "Detail, Steps, List, and again.",
			Contexts: keys.Panes, Keys: []string{"shift+tab"}},
	}
}

// otherCommands are those that one needs less often.
func (m *model) otherCommands() []keys.Command {
	return []keys.Command{
		{ID: zoomID, Title: "zoom the pane, or no longer", Help: "Give the pane the place of all, or take it back.", Hint: "zoom",
			Contexts: keys.Panes, Keys: []string{"z"}},
		{ID: copyID, Title: "copy the journey's ID", Help: "Put the ID of the request's journey on the clipboard (OSC 52, works over SSH).", Hint: "copy ID",
			Contexts: keys.Panes, Keys: []string{"y"}, Enabled: m.selected},
		{ID: copySameID, Title: "copy the kubectl command", Help: "Put a kubectl command that sends the same request on the clipboard.",
			Contexts: keys.Panes, Keys: []string{"Y"}, Enabled: func() string {
				if row := m.list.Selected(); row == nil || sameAs(&row.Spec) == "" {
					return "there is no kubectl command for it"
				}
				return ""
			}},
		{ID: refreshID, Title: "fetch the request again", Help: "Ask the server again: a request that runs has more steps by now, a write more deliveries.",
			Contexts: keys.Panes, Keys: []string{"r"}, Enabled: m.selected},
		{ID: paletteID, Title: "list all commands", Help: "Everything that can be done, with its key; type to find it, enter to do it.",
			Contexts: keys.Panes, Keys: []string{":", "ctrl+p"}},
		{ID: helpID, Title: "show the keys of this pane", Help: "The keys of the pane that has the focus.",
			Contexts: append([]keys.Context{keys.Filter, keys.Palette}, keys.Panes...), Keys: []string{"?", "f1"}},
		{ID: quitID, Title: "quit", Help: "Leave kx.", Contexts: append([]keys.Context{keys.Help}, keys.Panes...), Keys: []string{"q"}},
		{ID: quitAlwaysID, Title: "quit, whatever is open", Help: "Leave kx, wherever one is.", Contexts: keys.All, Keys: []string{"ctrl+c"}},
	}
}

// handle does a command of the root. It says whether the command is one.
func (m *model) handle(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case quitID, quitAlwaysID:
		return tea.Quit, true
	case backID:
		return m.back(), true
	case openID:
		m.goTo(m.focus + 1)
	case nextPaneID:
		m.goTo(m.focus%layout.Detail + 1)
	case prevPaneID:
		m.goTo((m.focus+1)%layout.Detail + 1)
	case zoomID:
		m.zoom(m.mode.Zoom == layout.None)
	case refreshID:
		return m.fetch(m.list.Selected().Name), true
	case copyID:
		return m.copy(m.list.Selected().Name), true
	case copySameID:
		return m.copy(sameAs(&m.list.Selected().Spec)), true
	case filterID, paletteID, helpID:
		m.openOverlay(id)
	case applyID:
		m.apply()
	case completeID:
		m.complete()
	case runID:
		return m.runChosen(), true
	default:
		return nil, m.edit(id)
	}
	return nil, true
}

// goTo gives a pane the focus. Who looks at a request does not want it to move away.
func (m *model) goTo(p layout.Pane) {
	if p != layout.List && m.list.Following() && m.list.Selected() != nil {
		m.list.Hold()
		m.say("follow is off while you look: F follows again")
	}
	m.focus = p
	if p != layout.List {
		m.mode.Body = p
	}
	m.zoom(m.mode.Zoom != layout.None)
}

func (m *model) zoom(on bool) {
	m.mode.Zoom = layout.None
	if on {
		m.mode.Zoom = m.focus
	}
	m.relayout()
}

// back closes what was opened last.
func (m *model) back() tea.Cmd {
	switch {
	case m.overlay != keys.None:
		m.overlay = keys.None
	case m.mode.Zoom != layout.None:
		m.zoom(false)
	case m.focus > layout.List:
		m.goTo(m.focus - 1)
	case m.applied != "":
		m.follow("")
		m.say("the filter is off: all requests are shown")
	default:
		m.say("there is nothing to go back from: q quits")
	}
	return nil
}

func (m *model) say(text string)      { m.note = note{text: text} }
func (m *model) complain(text string) { m.note = note{text: text, bad: true} }

// clipboardMost is how much text is copied at once: more than that, terminals refuse.
const clipboardMost = 8 << 10

// copy puts text on the clipboard of whoever sits at the terminal.
func (m *model) copy(text string) tea.Cmd {
	if len(text) > clipboardMost {
		text = strings.ToValidUTF8(text[:clipboardMost], "")
	}
	m.busy++
	return m.guarded(func() tea.Msg {
		_, err := m.out.Write([]byte(ansi.SetSystemClipboard(text)))
		return copiedMsg{text: text, err: err}
	})
}

func (m *model) copied(msg copiedMsg) {
	if msg.err != nil {
		m.complain("could not copy: " + msg.err.Error())
		return
	}
	m.say("copied: " + msg.text)
}

package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/theme"
)

// The commands of the program around the screens.
const (
	quitID       keys.ID = "quit"
	quitAlwaysID keys.ID = "quit.always"
	paletteID    keys.ID = "palette.open"
	runID        keys.ID = "palette.run"
	helpID       keys.ID = "help.open"
	mouseID      keys.ID = "mouse"
	themeID      keys.ID = "theme.next"
	logID        keys.ID = "log.open"
	answerID     keys.ID = "question.answer"
	takeID       keys.ID = "menu.take"
	yesID        keys.ID = "confirm.yes"
	noID         keys.ID = "confirm.no"
)

// screenID is the command that shows a screen.
func screenID(name screen.Name) keys.ID { return keys.ID("screen." + strings.ToLower(string(name))) }

// commands is the table of everything that the user can do.
func (m *model) commands() []keys.Command {
	var contexts []keys.Context
	var own []keys.Command
	for _, s := range m.order {
		contexts = append(contexts, s.Contexts()...)
		own = append(own, m.reachable(s)...)
	}
	own = append(own, keys.Command{ID: runID, Title: "do the command", Help: "Do the command under the cursor.", Hint: "do it",
		Contexts: []keys.Context{keys.Palette}, Keys: []string{"enter"}},
		keys.Command{ID: answerID, Title: "answer", Help: "Answer the question with what is typed.", Hint: "answer",
			Contexts: []keys.Context{keys.Ask}, Keys: []string{"enter"}},
		keys.Command{ID: takeID, Title: "do it", Help: "Do what is under the cursor. What is typed narrows the menu, or is a value of one's own.", Hint: "do it",
			Contexts: []keys.Context{keys.Menu}, Keys: []string{"enter"}},
		keys.Command{ID: yesID, Title: "yes", Help: "Do it.", Hint: "yes", Contexts: []keys.Context{keys.Confirm}, Keys: []string{"y"}},
		keys.Command{ID: noID, Title: "no", Help: "Leave it.", Hint: "no", Contexts: []keys.Context{keys.Confirm}, Keys: []string{"n"}})
	overlays := []keys.Context{keys.Palette, keys.Help, keys.Ask, keys.Menu, keys.Confirm}
	shared := keys.Shared(append(append([]keys.Context(nil), contexts...), keys.Palette, keys.Ask, keys.Menu), own)
	for i := range shared {
		if shared[i].Motion && len(shared[i].Contexts) > 0 {
			shared[i].Contexts = append(shared[i].Contexts, keys.Help)
		}
	}
	all := append([]keys.Command{shared[0]}, own...) // what opens things is the first that one is told of
	all = append(all, shared[1:]...)
	return append(all, m.global(contexts, overlays)...)
}

// reachable are a screen's commands. They can't be done where the screen can't be gone to.
func (m *model) reachable(s screen.Screen) []keys.Command {
	all := s.Commands()
	if why := m.unreachable(s.Name()); why != "" {
		for i := range all {
			all[i].Enabled = func() string { return why }
		}
	}
	return all
}

// global are the commands that mean the same wherever one is.
func (m *model) global(contexts, overlays []keys.Context) []keys.Command {
	var places []keys.Context
	for _, ctx := range contexts {
		if !ctx.Typing {
			places = append(places, ctx)
		}
	}
	everywhere := append(append([]keys.Context(nil), contexts...), overlays...)
	all := []keys.Command{
		{ID: keys.Back, Title: "go back", Help: "Close what is open, or go back to where one came from. It never quits.",
			Contexts: everywhere, Keys: []string{"esc"}},
		{ID: paletteID, Title: "list all commands", Help: "Everything that can be done, with its key; type to find it, enter to do it.",
			Contexts: places, Keys: []string{":", "ctrl+p"}},
		{ID: helpID, Title: "show the keys of this pane", Help: "The keys of the pane that has the focus.",
			Contexts: append(append([]keys.Context(nil), contexts...), keys.Palette), Keys: []string{"?", "f1"}},
		{ID: mouseID, Title: "take the mouse, or leave it to the terminal", Help: "With the mouse, clicks and the wheel are kx's; without it, the terminal can select text.",
			Contexts: places, Keys: []string{"M"}},
		{ID: themeID, Title: "look different", Help: "The next theme: auto, dark, light, high-contrast, colour-blind, none. The next run has it too.",
			Contexts: places, Keys: []string{"ctrl+t"}},
		{ID: logID, Title: "show the log", Help: "What kx logged while it had the terminal.", Contexts: places, Keys: []string{"ctrl+l"},
			Enabled: func() string {
				if m.current.Name() == screen.Log {
					return "it is shown"
				}
				return ""
			}},
		{ID: quitID, Title: "quit", Help: "Leave kx. It asks first if something would be lost.",
			Contexts: append(append([]keys.Context(nil), places...), keys.Help), Keys: []string{"q"}},
		{ID: quitAlwaysID, Title: "quit, whatever is open", Help: "Leave kx at once, wherever one is.", Contexts: everywhere, Keys: []string{"ctrl+c"}},
	}
	for i, name := range numbered {
		if m.screens[name] == nil {
			continue
		}
		all = append(all, keys.Command{ID: screenID(name), Title: "show " + string(name), Help: fmt.Sprintf("The screen %s, as it was left.", name),
			Contexts: places, Keys: []string{fmt.Sprint(i + 1)}, Enabled: func() string { return m.unreachable(name) }})
	}
	return all
}

// handle does a command of the program. It says whether the command is one.
func (m *model) handle(id keys.ID) (tea.Cmd, bool) {
	for _, name := range numbered {
		if id == screenID(name) {
			return m.turnTo(name), true
		}
	}
	switch id {
	case quitID:
		return m.quit(), true
	case quitAlwaysID:
		return tea.Quit, true
	case keys.Back:
		return m.back(), true
	case paletteID, helpID:
		m.openOverlay(id)
	case runID:
		return m.runChosen(), true
	case answerID:
		return m.answer(), true
	case takeID:
		return m.take(), true
	case yesID:
		return m.yes(), true
	case noID:
		m.overlay = keys.None
	case themeID:
		m.nextTheme()
	case logID:
		return m.lead(screen.ToLog{}), true
	case mouseID:
		return m.toggleMouse(), true
	case keys.Grow, keys.Shrink:
		m.resizePane(id == keys.Grow)
	default:
		return nil, false
	}
	return nil, true
}

// quit quits, unless something would be lost: then it asks.
func (m *model) quit() tea.Cmd {
	var lost []string
	for _, s := range m.order {
		if l, ok := s.(screen.Leaver); ok && l.Leaving() != "" {
			lost = append(lost, l.Leaving())
		}
	}
	if len(lost) == 0 {
		return tea.Quit
	}
	m.confirm(strings.Join(lost, "; ")+". Quit?", func() tea.Cmd { return tea.Quit })
	return nil
}

// back closes what was opened last.
func (m *model) back() tea.Cmd {
	if m.overlay != keys.None {
		m.overlay = keys.None
		return nil
	}
	if cmd, ok := m.current.Handle(keys.Back); ok {
		return cmd
	}
	if cmd, ok := m.leadBack(); ok {
		return cmd
	}
	m.say("there is nothing to go back from: q quits")
	return nil
}

func (m *model) toggleMouse() tea.Cmd {
	m.mouse = !m.mouse
	if m.mouse {
		m.say("the mouse is kx's: click and turn the wheel")
		return tea.EnableMouseCellMotion
	}
	m.say("the mouse is the terminal's: select text with it")
	return tea.DisableMouse
}

// resizePane makes the pane with the focus larger or smaller.
func (m *model) resizePane(larger bool) {
	if !m.current.Resize(larger) {
		m.say("no border of this pane can be moved so")
	}
}

// nextTheme looks different, now and in the next run.
func (m *model) nextTheme() {
	i := slices.Index(theme.Names, m.theme.Name)
	m.keptTheme = theme.Names[(i+1)%len(theme.Names)]
	m.theme = m.terminal.Theme(m.keptTheme)
	m.say("theme " + string(m.keptTheme))
}

func (m *model) copied(msg copiedMsg) {
	switch {
	case msg.err != nil:
		m.complain("could not copy: " + msg.err.Error())
	case msg.cut > 0:
		m.complain(fmt.Sprintf("copied the first %d of %d bytes: a terminal takes no more", len(msg.text), msg.cut))
	case len(msg.text) > shortCopy || strings.ContainsRune(msg.text, '\n'):
		first, _, _ := strings.Cut(msg.text, "\n")
		m.say(fmt.Sprintf("copied %d bytes: %s", len(msg.text), first))
	default:
		m.say("copied: " + msg.text)
	}
}

// shortCopy is how much text is said as a whole when it is copied.
const shortCopy = 200

package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/theme"
)

// quitID and quitAlwaysID are the commands that also work on a terminal that is too small.
const (
	quitID       keys.ID = "quit"
	quitAlwaysID keys.ID = "quit.always"
)

// screenID returns the ID of the command that shows a screen.
func screenID(name screen.Name) keys.ID { return keys.ID("screen." + strings.ToLower(string(name))) }

// commands lists all commands of the program, in the order of help: the shared command that opens things, those of the
// overlays and screens, the other shared ones, and those of the program.
func (m *model) commands() []keys.Command {
	var contexts []keys.Context
	own := m.overlayCommands()
	for _, s := range m.order {
		contexts = append(contexts, s.Contexts()...)
		own = append(own, m.reachable(s)...)
	}
	typed := []keys.Context{keys.Palette, keys.Ask, keys.Menu, keys.InHelp}
	shared := keys.SharedCommands(slices.Concat(contexts, typed), own, m.runShared)
	for i := range shared {
		switch c := &shared[i]; {
		case c.ID == keys.Grow:
			c.Do = keys.Call(func() { m.resizePane(true) })
		case c.ID == keys.Shrink:
			c.Do = keys.Call(func() { m.resizePane(false) })
		case c.Motion && len(c.Contexts) > 0:
			c.Contexts = append(c.Contexts, keys.Help)
		}
	}
	return slices.Concat(shared[:1], own, shared[1:], m.lessonCommands(contexts), m.programCommands(contexts), m.screenCommands(contexts))
}

// reachable lists a screen's commands. All are disabled while the screen can't be shown.
func (m *model) reachable(s screen.Screen) []keys.Command {
	all := s.Commands()
	if why := m.unreachable(s.Name()); why != "" {
		for i := range all {
			all[i].WhyNot = func() string { return why }
		}
	}
	return all
}

// overlayCommands lists the commands of the overlays: the palette, help, a menu, a question.
func (m *model) overlayCommands() []keys.Command {
	in := func(ctx keys.Context) []keys.Context { return []keys.Context{ctx} }
	return []keys.Command{
		{ID: "palette.run", Meaning: keys.Accept, Contexts: in(keys.Palette), Hint: "do it", Do: m.runChosen,
			Help: "Do the command under the cursor."},
		{ID: "help.find", Meaning: keys.Narrow, Contexts: in(keys.Help), Hint: "find", Do: keys.Call(m.findInHelp),
			Help: "Type a word: only what has it stays."},
		{ID: "help.found", Meaning: keys.Accept, Contexts: in(keys.InHelp), Hint: "keep", Do: keys.Call(m.leaveFound),
			Help: "Leave the line. What was found stays."},
		{ID: "question.answer", Meaning: keys.Accept, Contexts: in(keys.Ask), Hint: "answer", Do: m.answer,
			Help: "Answer the question with the text that you typed."},
		{ID: "menu.take", Meaning: keys.Accept, Contexts: in(keys.Menu), Hint: "do it", Do: m.take,
			Help: "Do what is under the cursor. The text that you type narrows the menu, or is a value of your own."},
		{ID: "confirm.yes", Meaning: keys.Yes, Contexts: in(keys.Confirm), Hint: "yes", Do: m.agree, Help: "Do it."},
		{ID: "confirm.no", Meaning: keys.No, Contexts: in(keys.Confirm), Hint: "no", Do: keys.Call(m.closeOverlay), Help: "Leave it."},
	}
}

// panesOf drops the contexts in which the user types text.
func panesOf(contexts []keys.Context) []keys.Context {
	return slices.DeleteFunc(slices.Clone(contexts), func(ctx keys.Context) bool { return ctx.Typing })
}

// lessonCommands lists the command that switches between a lesson and the screen beside it; none without a lesson.
func (m *model) lessonCommands(contexts []keys.Context) []keys.Command {
	if m.lesson == nil {
		return nil
	}
	return []keys.Command{{
		ID: "lesson", Meaning: keys.ToLesson, Contexts: panesOf(contexts), Next: m.otherSide, Do: keys.Call(m.turnSides),
		Help: "Give the focus to the lesson, or back to the screen beside it. On a narrow terminal the screen is below it, and has all " +
			"once it has the focus.",
	}}
}

// otherSide names the side that the key for switching leads to: the lesson or the screen.
func (m *model) otherSide() string {
	if m.onLesson {
		return "screen"
	}
	return "lesson"
}

// programCommands lists the commands about the program, which do the same on every screen.
func (m *model) programCommands(contexts []keys.Context) []keys.Command {
	panes := panesOf(contexts)
	everywhere := slices.Concat(contexts, []keys.Context{keys.Palette, keys.Help, keys.InHelp, keys.Ask, keys.Menu, keys.Confirm})
	return []keys.Command{
		{ID: keys.Back, Meaning: keys.GoBack, Contexts: everywhere, Do: m.back,
			Help: "Close what is open, or go back to where you came from. It never quits."},
		{ID: "palette.open", Meaning: keys.OpenPalette, Contexts: contexts, Do: keys.Call(m.openPalette),
			Help: "List everything that you can do, with its key. Type to find it, and press enter to do it."},
		{ID: "help.open", Meaning: keys.OpenHelp, Contexts: append(slices.Clone(contexts), keys.Palette), Do: keys.Call(m.openHelp),
			Help: "List the keys of the pane that has the focus."},
		{ID: "mouse", Meaning: keys.TakeMouse, Contexts: panes, Do: m.toggleMouse,
			Help: "Use clicks and the wheel in kx, or leave the mouse to the terminal to select text."},
		{ID: "record", Meaning: keys.Record, Contexts: panes, WhyNot: m.whyNoRecording, Do: m.toggleRecording,
			Help: "Have the server record the objects of all requests for 15 minutes, and allow breakpoints and faults; or end that."},
		{ID: "theme.next", Meaning: keys.NextTheme, Contexts: panes, Do: keys.Call(m.nextTheme),
			Help: "Take the next theme: auto, dark, light, high-contrast, colour-blind, none. The next run remembers it."},
		{ID: "server.which", Meaning: keys.WhichServer, Contexts: panes, Do: keys.Call(m.sayServer),
			Help: "Say which server this is, and how to follow another one."},
		{ID: "log.open", Meaning: keys.OpenLog, Contexts: panes, WhyNot: m.whyNoLog, Do: func() tea.Cmd { return m.lead(screen.ToLog{}) },
			Help: "Show what kx logged since it took the terminal."},
		{ID: "did.open", Meaning: keys.OpenCommandLog, Contexts: panes, WhyNot: m.whyNoCommandLog,
			Do:   func() tea.Cmd { return m.lead(screen.ToCommandLog{}) },
			Help: "Show what the screen sent for you, as kubectl and kx commands that can be copied as a whole."},
		{ID: quitID, Meaning: keys.Quit, Contexts: append(panes, keys.Help), Do: m.quit,
			Help: "Leave kx. It asks first if something would be lost."},
		{ID: quitAlwaysID, Meaning: keys.QuitAlways, Contexts: everywhere, Do: func() tea.Cmd { return tea.Quit },
			Help: "Leave kx at once, wherever you are."},
	}
}

// screenCommands lists the commands that show the screens with a digit.
func (m *model) screenCommands(contexts []keys.Context) []keys.Command {
	places := slices.DeleteFunc(panesOf(contexts), func(ctx keys.Context) bool { return ctx.Asks })
	var all []keys.Command
	for i, name := range numbered {
		all = append(all, keys.Command{
			ID: screenID(name), Meaning: keys.Meaning{Title: "show " + string(name), Keys: []string{fmt.Sprint(i + 1)}},
			Contexts: places, WhyNot: func() string { return m.unreachable(name) },
			Do:   func() tea.Cmd { return m.turnTo(name) },
			Help: fmt.Sprintf("Show the screen %s as you left it.", name),
		})
	}
	return all
}

// runShared runs a command that all screens have: in the open overlay, or else on the side with the focus.
func (m *model) runShared(id keys.ID) tea.Cmd {
	if m.overlay != keys.None {
		m.inOverlay(id)
		return nil
	}
	if m.onLesson && (id == keys.NextPane || id == keys.PreviousPane) {
		m.turnSides() // the lesson is one pane
		return nil
	}
	cmd, ok := m.focusedSide().Handle(id)
	if c := m.table.Lookup(id); !ok && !c.Motion {
		m.say(m.theme.Words.Phrase("there is nothing here to %s", m.theme.Words.Text(c.Title)))
	}
	return cmd
}

func (m *model) whyNoCommandLog() string {
	if m.focusedSide().Name() == screen.CommandLog {
		return "the log is open"
	}
	return m.client.Absent()
}

func (m *model) whyNoLog() string {
	if m.focusedSide().Name() == screen.Log {
		return "the log is open"
	}
	return ""
}

// quit ends the program. It asks first if something would be lost.
func (m *model) quit() tea.Cmd {
	var lost []string
	for _, s := range m.order {
		if l, ok := s.(screen.QuitWarner); ok {
			if warning := l.QuitWarning(); warning != "" {
				lost = append(lost, warning)
			}
		}
	}
	if len(lost) == 0 {
		return tea.Quit
	}
	m.confirm(m.theme.Words.Phrase("%s. Quit?", strings.Join(lost, "; ")), func() tea.Cmd { return tea.Quit })
	return nil
}

// back closes what was opened last: the line or the overlay, then what the screen has open, then the screen itself.
func (m *model) back() tea.Cmd {
	if m.overlay == keys.InHelp {
		m.overlay = keys.Help
		m.seek("")
		return nil
	}
	if m.overlay != keys.None {
		m.overlay = keys.None
		return nil
	}
	if cmd, ok := m.focusedSide().Handle(keys.Back); ok {
		return cmd
	}
	if !m.onLesson {
		if cmd, ok := m.leadBack(); ok {
			return cmd
		}
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
	resize := m.focusedSide().Resize
	if m.onLesson {
		resize = m.resizeLesson
	}
	if !resize(larger) {
		m.say("no border of this pane can be moved so")
	}
}

// resizeLesson moves the border between the lesson and the screen.
func (m *model) resizeLesson(larger bool) bool {
	return m.lesson.Borders().Resize(larger, func() layout.Rect {
		m.place()
		return m.frame.Lesson
	})
}

// nextTheme switches to the next theme, for this run and the ones after it.
func (m *model) nextTheme() {
	names := m.terminal.Names()
	name := names[(slices.Index(names, m.theme.Name)+1)%len(names)]
	if m.theme = m.terminal.Theme(name); name != theme.Own { // the next run may not have its file
		m.keptTheme = name
	}
	m.say(m.theme.Words.Phrase("theme %s", name))
}

// takeCopy reports what a copy put on the clipboard. cut is the length of the whole text, if not all of it fits.
func (m *model) takeCopy(msg copiedMsg) {
	switch {
	case msg.err != nil:
		m.complain(m.theme.Words.Phrase("could not copy: %s", msg.err.Error()))
	case msg.cut > 0:
		m.complain(m.theme.Words.Phrase("copied the first %d of %d bytes: a terminal takes no more", len(msg.text), msg.cut))
	case len(msg.text) > shortCopy || strings.ContainsRune(msg.text, '\n'):
		first, _, _ := strings.Cut(msg.text, "\n")
		m.say(m.theme.Words.Phrase("copied %d bytes: %s", len(msg.text), first))
	default:
		m.say(m.theme.Words.Phrase("copied: %s", msg.text))
	}
}

// shortCopy limits the length of a copied text that the note quotes in full.
const shortCopy = 200

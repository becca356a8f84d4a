package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/keys"
)

// Typing reports whether the line is open.
func (s *Split) Typing() bool { return s.typing }

// Line returns the typed text.
func (s *Split) Line() *editor.Line { return &s.line }

// OpenLine opens the line.
func (s *Split) OpenLine() {
	if s.plan.Line.Begin != nil {
		s.line.Set(s.plan.Line.Begin())
	}
	s.typing = true
}

// CloseLine closes the line.
func (s *Split) CloseLine() { s.typing = false }

// Type inserts text into the line.
func (s *Split) Type(text []rune) {
	if !s.typing {
		return
	}
	if !s.line.Insert(text) {
		s.host.Complain(s.host.Theme().Words.Phrase("a line has at most %d bytes", editor.MaxLineBytes))
		return
	}
	s.changed()
}

func (s *Split) changed() {
	if s.plan.Line.Changed != nil {
		s.plan.Line.Changed()
	}
}

// edit runs a command that edits or closes the line.
func (s *Split) edit(id keys.ID) (tea.Cmd, bool) {
	if id == keys.Back {
		s.CloseLine()
		if s.plan.Line.Left == nil {
			return nil, true
		}
		return s.plan.Line.Left(), true
	}
	was := s.line.String()
	if !s.line.Handle(id) {
		return nil, false
	}
	if s.line.String() != was {
		s.changed()
	}
	return nil, true
}

// FindHelp is the line of help while the user types the text to find.
func FindHelp(words lang.Language) string {
	return " " + words.Phrase("enter stays there, %s and %s go on, esc leaves the line", keys.Next.Key(), keys.Previous.Key())
}

// finder is a pane whose rows can be searched.
type finder interface {
	// Find goes to the next row with a text, in the direction of step; with here, the current row counts too.
	Find(text string, step int, here bool) bool
	// Sought returns the text of the last search.
	Sought() string
}

// FindLine returns a line for searching: while the user types, the pane with the focus goes to the next row with the
// text, and changed is called (nil does nothing). Plan.Moved follows the cursor once the line is closed.
func (s *Split) FindLine(ctx keys.Context, changed func()) *Line {
	return &Line{
		Context: ctx, finds: true,
		Begin: func() string { return s.finder().Sought() },
		Changed: func() {
			s.finder().Find(s.line.String(), 1, true)
			if changed != nil {
				changed()
			}
		},
		Left: func() tea.Cmd { return s.cursorMoved(s.focus) },
	}
}

func (s *Split) finder() finder { return s.plan.Panes[s.focus].Pane.(finder) }

// FindCommands returns the commands of a FindLine. Their IDs begin with the name of the screen.
func (s *Split) FindCommands(name string) []keys.Command {
	id := func(verb string) keys.ID { return keys.ID(name + "." + verb) }
	return []keys.Command{
		{ID: id("find"), Meaning: keys.Find, Contexts: s.Panes(), Hint: "find", Do: keys.Call(s.OpenLine),
			Help: "Go to the next row that has a text."},
		{ID: id("find-next"), Meaning: keys.Next, Contexts: s.Panes(), WhyNot: s.nothingSought, Do: keys.Bind(s.findAgain, 1),
			Help: "Go to the next row that has the text."},
		{ID: id("find-previous"), Meaning: keys.Previous, Contexts: s.Panes(), WhyNot: s.nothingSought, Do: keys.Bind(s.findAgain, -1),
			Help: "Go to the previous row that has the text."},
		{ID: id("find-accept"), Meaning: keys.Accept, Contexts: []keys.Context{s.plan.Line.Context}, Hint: "go there", Do: s.endFind,
			Help: "Leave the line, and stay where the text was found."},
	}
}

// endFind closes the line and stays at the found row. It reports a search without a match.
func (s *Split) endFind() tea.Cmd {
	s.CloseLine()
	return s.endSearch(s.finder().Find(s.line.String(), 1, true))
}

// findAgain repeats the last search: in the next rows, or with a step of -1 in the ones before.
func (s *Split) findAgain(step int) tea.Cmd {
	f := s.finder()
	return s.endSearch(f.Find(f.Sought(), step, false))
}

func (s *Split) endSearch(found bool) tea.Cmd {
	if text := s.finder().Sought(); !found && text != "" {
		s.host.Complain(s.host.Theme().Words.Phrase("no row has %s", draw.Clean(text)))
	}
	return s.cursorMoved(s.focus)
}

// nothingSought returns the reason why findAgain can't go on; empty if it can.
func (s *Split) nothingSought() string {
	if s.finder().Sought() == "" {
		return s.host.Theme().Words.Phrase("nothing was looked for in this pane: %s does", keys.Find.Key())
	}
	return ""
}

// findTitle returns the label of the search line.
func (s *Split) findTitle() string { return " " + s.host.Theme().Words.Phrase("find") + " " }

// findView draws the line of a search.
func (s *Split) findView() string { return s.findTitle() + s.line.View(s.w-draw.Width(s.findTitle())) }

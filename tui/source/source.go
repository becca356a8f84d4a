package source

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

// place is where keys are pressed.
var place = keys.Place("source")

// Screen is the screen Source. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host    screen.Host
	sources *Library
	pane    *Pane
	at      screen.ToSource
	find    string
}

var _ screen.Screen = (*Screen)(nil)

// New makes the screen.
func New(host screen.Host) *Screen {
	s := &Screen{host: host, pane: NewPane(host.Theme)}
	s.sources = NewLibrary(host, s.give)
	s.Split = screen.NewSplit(host, screen.Plan{Panes: []screen.Place{{Context: place, Pane: s.pane}}})
	return s
}

func (s *Screen) Name() screen.Name { return screen.Source }

func (s *Screen) Commands() []keys.Command {
	in := []keys.Context{place}
	return []keys.Command{
		{ID: "source.find", Meaning: keys.Find, Contexts: in, Hint: "find", WhyNot: s.whyNoFile, Do: s.askFind,
			Help: "Go to the next line that has a text. After the last comes the first."},
		{ID: "source.side", Meaning: keys.OtherSide, Contexts: in, Hint: "upstream", WhyNot: s.whyNoUpstream, Do: s.turn,
			Help: "Turn between the server's own code and what does the same in the Kubernetes API server. Then y copies a link to that."},
		{ID: "source.edit", Meaning: keys.InEditor, Contexts: in, Hint: "editor", WhyNot: s.whyNoFile, Do: s.edit,
			Help: "Open a copy of the file in $EDITOR. What you change there is not kept."},
	}
}

// turn turns to the code upstream, or back.
func (s *Screen) turn() tea.Cmd {
	s.at.Theirs = !s.at.Theirs
	return s.want()
}

func (s *Screen) whyNoUpstream() string {
	if s.at.Upstream == "" && !s.at.Theirs {
		return "there is nothing of the same name upstream"
	}
	return ""
}

func (s *Screen) whyNoFile() string {
	if s.pane.File() == nil {
		return "there is no file"
	}
	return ""
}

func (s *Screen) askFind() tea.Cmd {
	return screen.AskFind(s.host, s.host.Theme().Words.Phrase("find"), s.find, func(text string) tea.Cmd {
		if s.find = text; !s.pane.Find(text) {
			s.host.Complain("no line has " + text)
		}
		return nil
	})
}

func (s *Screen) edit() tea.Cmd {
	return s.host.Edit([]byte(s.pane.File().Text), ".go", func(_ []byte, err error) tea.Cmd {
		if err != nil {
			s.host.Complain(err.Error())
		}
		return nil
	})
}

func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if id == keys.Copy {
		return s.host.Copy(s.location()), true
	}
	return s.Split.Handle(id)
}

// location returns the line under the cursor in the form that editors accept, or a link to it.
func (s *Screen) location() string {
	if at := s.pane.Place(); s.at.Theirs && at.Link != "" {
		if link, _, ok := strings.Cut(at.Link, "#"); ok {
			return link + "#L" + strconv.Itoa(s.pane.Cursor())
		}
		return at.Link
	}
	return s.at.File + ":" + strconv.Itoa(max(s.pane.Cursor(), s.at.Line))
}

func (s *Screen) Foot() (sameAs, state string) {
	switch {
	case s.at.File == "":
		return "", ""
	case s.at.Theirs:
		return s.host.Theme().Dim(" "+s.host.Theme().Words.Phrase("published at")+"  ") + s.location(), ""
	}
	return s.host.Theme().Dim(" "+s.host.Theme().Words.Phrase("in an editor")+"  ") + "$EDITOR +" +
		strconv.Itoa(max(s.at.Line, 1)) + " " + s.at.File, ""
}

func (s *Screen) Show(to screen.Target) tea.Cmd {
	if to, ok := to.(screen.ToSource); ok {
		s.at = to
		return s.want()
	}
	return nil
}

// want requests the file.
func (s *Screen) want() tea.Cmd {
	if s.at.Theirs {
		return tea.Batch(s.sources.WantTheirs(s.place()), s.give())
	}
	return tea.Batch(s.sources.Want(s.at.File), s.give())
}

// give passes the file to the pane, if it is there.
func (s *Screen) give() tea.Cmd {
	if s.at.Theirs {
		file, at, note := s.sources.Upstream(s.place())
		s.pane.Show(at, file, nil, note)
		return nil
	}
	file, note := s.sources.Get(s.at.File)
	s.pane.Show(s.place(), file, nil, note)
	return nil
}

// place returns the place in the server's own code.
func (s *Screen) place() Place {
	return Place{
		File: s.at.File, Line: s.at.Line, Function: s.at.Function,
		Upstream: s.at.Upstream, UpstreamFile: s.at.UpstreamFile, Release: s.at.Release, Because: s.at.Because,
	}
}

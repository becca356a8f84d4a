package capture

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The commands about marks.
const (
	markID    keys.ID = "request.mark"
	jumpID    keys.ID = "request.jump"
	compareID keys.ID = "request.compare"
)

// markCommands are the commands about marks.
func (s *Screen) markCommands() []keys.Command {
	marked := func() string {
		switch {
		case s.list.Selected() == nil:
			return "there is no request"
		case s.lastMarked == "":
			return "no request is marked: m marks one"
		}
		return ""
	}
	return []keys.Command{
		{ID: markID, Title: "mark the request, or no longer", Help: "Give the request under the cursor a letter: it stays in the list, and can be compared with another.",
			Contexts: keys.Panes, Keys: []string{"m"}, Enabled: s.selected},
		{ID: jumpID, Title: "go to a marked request", Help: "To the request that has a letter.", Contexts: keys.Panes, Keys: []string{"'"}, Enabled: marked},
		{ID: compareID, Title: "compare with the marked request", Help: "The request that was marked last and the one under the cursor, step by step: what one did and the other did not.",
			Contexts: keys.Panes, Keys: []string{"D"}, Enabled: func() string {
				if why := marked(); why != "" {
					return why
				}
				if s.list.Selected().Name == s.lastMarked {
					return "it is the one that is marked: go to another"
				}
				return ""
			}},
	}
}

// marking does a command about marks. It says whether id is one.
func (s *Screen) marking(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case markID:
		s.mark(s.list.Selected().Name)
	case jumpID:
		return s.host.Ask("go to the request marked", string(s.ring.MarkOf(s.lastMarked)), s.jump), true
	case compareID:
		return s.compare(s.lastMarked, s.list.Selected().Name), true
	default:
		return nil, false
	}
	return nil, true
}

func (s *Screen) mark(id string) {
	switch had := s.ring.MarkOf(id) != 0; {
	case !s.ring.Mark(id):
		s.host.Complain("all letters are taken: m on a marked request takes its mark away")
	case had && s.lastMarked == id:
		s.lastMarked = ""
	case !had:
		s.lastMarked = id
		s.host.Say(id + " is marked: D compares another request with it")
	}
}

func (s *Screen) jump(letter string) tea.Cmd {
	if l := []rune(letter); len(l) == 1 && s.list.Select(s.ring.Marked(l[0])) {
		s.GoTo(layout.List)
		return s.sync()
	}
	s.host.Complain("no request in the list is marked " + letter)
	return nil
}

// compare gets two requests and shows them side by side.
func (s *Screen) compare(a, b string) tea.Cmd {
	ctx, session := s.host.Context(), s.session
	return screen.Do(s.host, func() (to screen.ToCompare, err error) {
		if to.A, err = session.Get(ctx, a); err == nil {
			to.B, err = session.Get(ctx, b)
		}
		return to, err
	}, func(to screen.ToCompare, err error) tea.Cmd {
		if err != nil {
			s.host.Complain("can't compare: " + err.Error())
			return nil
		}
		return s.host.Go(to)
	})
}

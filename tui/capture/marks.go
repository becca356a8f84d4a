package capture

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
)

// markCommands mark requests, and compare them.
func (s *Screen) markCommands() []keys.Command {
	return []keys.Command{
		{ID: "request.mark", Meaning: keys.Mark, Contexts: keys.Panes, WhyNot: s.whyNoRequest, Do: keys.Call(s.mark),
			Help: "Give the request under the cursor a letter, or take it away. A request with a letter stays in the list."},
		{ID: "request.jump", Meaning: keys.JumpToMark, Contexts: keys.Panes, WhyNot: s.whyNoMark, Do: s.askJump,
			Help: "Go to the request that has a letter."},
		{ID: "request.compare", Meaning: keys.CompareTwo, Contexts: keys.Panes, WhyNot: s.whyNoCompare, Do: s.compare,
			Help: "Compare the request that was marked last with the one under the cursor, step by step."},
	}
}

func (s *Screen) whyNoMark() string {
	if why := s.whyNoRequest(); why != "" || s.lastMarked != "" {
		return why
	}
	return s.phrase("no request is marked: %s marks one", keys.Mark.Key())
}

func (s *Screen) whyNoCompare() string {
	if why := s.whyNoMark(); why != "" || s.list.Selected().Name != s.lastMarked {
		return why
	}
	return "it is the one that is marked: go to another"
}

// mark marks the request under the cursor, or removes its mark.
func (s *Screen) mark() {
	id := s.list.Selected().Name
	switch had := s.ring.MarkOf(id) != 0; {
	case !s.ring.Mark(id):
		s.host.Complain(s.phrase("all letters are taken: %s on a marked request takes its mark away", keys.Mark.Key()))
	case had && s.lastMarked == id:
		s.lastMarked = ""
	case !had:
		s.lastMarked = id
		s.host.Say(s.phrase("%s is marked: %s compares another request with it", id, keys.CompareTwo.Key()))
	}
}

func (s *Screen) askJump() tea.Cmd {
	return s.host.Propose(s.phrase("go to the request marked"), string(s.ring.MarkOf(s.lastMarked)), s.jump)
}

func (s *Screen) jump(letter string) tea.Cmd {
	if l := []rune(letter); len(l) == 1 && s.list.Select(s.ring.Marked(l[0])) {
		s.GoTo(layout.List)
		return s.sync()
	}
	s.host.Complain(s.phrase("no request in the list is marked %s", letter))
	return nil
}

// compare fetches two requests and shows them side by side.
func (s *Screen) compare() tea.Cmd {
	a, b := s.lastMarked, s.list.Selected().Name
	ctx, session := s.host.Context(), s.session
	return screen.Do(s.host, func() (to screen.ToCompare, err error) {
		if to.A, err = session.Get(ctx, a); err == nil {
			to.B, err = session.Get(ctx, b)
		}
		return to, err
	}, func(to screen.ToCompare, err error) tea.Cmd {
		if err != nil {
			s.host.Complain(s.phrase("can't compare: %s", err.Error()))
			return nil
		}
		return s.host.Go(to)
	})
}

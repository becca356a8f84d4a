package capture

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/session"
)

// hiddenCount counts the server's requests while a filter shows none of them. The filter may be from an earlier run.
type hiddenCount struct {
	filter   string // the filter of this count
	requests int
}

// countHidden requests the number of all requests, once no request matches the filter.
func (s *Screen) countHidden() tea.Cmd {
	if s.applied == "" || s.applied == s.hidden.filter || s.ring.Len() > 0 || s.state.Phase != session.Live {
		return nil
	}
	s.hidden = hiddenCount{filter: s.applied}
	of := s.applied
	list := func() ([]string, error) { return s.session.List(s.host.Context(), "") }
	return screen.Do(s.host, list, func(all []string, _ error) tea.Cmd {
		if of == s.hidden.filter {
			s.hidden.requests = len(all)
			s.list.SetEmpty(s.emptyList())
		}
		return nil
	})
}

// lines returns the text of a list that a filter leaves empty.
func (h hiddenCount) lines(filter string, words lang.Language) []string {
	switch {
	case h.filter != filter || h.requests == 0:
		return []string{"  " + words.Phrase("No request matches the filter: it hides all others that come. esc shows all.")}
	case h.requests == 1:
		return []string{"  " + words.Phrase("The filter hides the only request that the server has. esc shows it.")}
	}
	return []string{"  " + words.Phrase("The filter hides all %d requests that the server has. esc shows them.", h.requests)}
}

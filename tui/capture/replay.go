package capture

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/replay"
	"github.com/kx-apiserver/kx/tui/screen"
)

// replay sends the request under the cursor again, held or not.
func (s *Screen) replay(held bool) tea.Cmd {
	name := s.list.Selected().Name
	if j := s.open.journey; j != nil && j.Name == name {
		return s.sendAgain(j, held)
	}
	return screen.Get(s.host.Context(), s.host, api.KX+"/journeys/"+name, nil, func(j *v1alpha1.Journey, err error) tea.Cmd {
		if err != nil {
			s.host.Complain("the request can't be sent again: " + err.Error())
			return nil
		}
		return s.sendAgain(j, held)
	})
}

// sendAgain leads to the screen Send with a request.
func (s *Screen) sendAgain(j *v1alpha1.Journey, held bool) tea.Cmd {
	to, note := replay.Of(j, held)
	cmd := s.host.Go(to)
	if note != "" {
		s.host.Complain(note)
	}
	return cmd
}

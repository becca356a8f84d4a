package capture

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/send/again"
)

// replay sends the request again, held at its first step if held is set, or leads to the form where it can be
// changed.
func (s *Screen) replay(held bool) tea.Cmd { return s.replayTo(screen.ToSend{Held: held}) }

// replayTo sends the request under the cursor again, held as hold describes. What is open may be from before the
// request's end, and lack what came since, such as its body.
func (s *Screen) replayTo(hold screen.ToSend) tea.Cmd {
	name := s.list.Selected().Name
	if j := s.open.journey; j != nil && j.Name == name && !newer(s.list.Selected().Journey, j) {
		return s.sendAgain(j, hold)
	}
	return screen.Get(s.host.Context(), s.host, api.KX+"/journeys/"+name, nil, func(j *v1alpha1.Journey, err error) tea.Cmd {
		if err != nil {
			s.host.Complain(s.phrase("the request can't be sent again: %s", err.Error()))
			return nil
		}
		return s.sendAgain(j, hold)
	})
}

// sendAgain leads to the screen Send with a request.
func (s *Screen) sendAgain(j *v1alpha1.Journey, hold screen.ToSend) tea.Cmd {
	to, note := again.Replay(j, hold.Held)
	to.HeldAt, to.Skip = hold.HeldAt, hold.Skip
	cmd := s.host.Go(to)
	if note != "" {
		s.host.Complain(note)
	}
	return cmd
}

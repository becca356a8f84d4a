package capture

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/replay"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The commands that send a request again.
const (
	replayID     keys.ID = "request.replay"
	replayHeldID keys.ID = "request.replay-held"
)

func (s *Screen) replayCommands() []keys.Command {
	return []keys.Command{
		{ID: replayID, Title: "send the request again", Help: "Put the request into the screen Send, where it can be changed and sent.",
			Contexts: keys.Panes, Keys: []string{"r"}, Enabled: s.selected},
		{ID: replayHeldID, Title: "send the request again, held", Help: "Send the request again, held at its first step: here it is stepped from there. What can't be sent as it was is put into the screen Send.",
			Contexts: keys.Panes, Keys: []string{"R"}, Enabled: s.selected},
	}
}

// replay does a command that sends a request again. It says whether id is one.
func (s *Screen) replay(id keys.ID) (tea.Cmd, bool) {
	if id != replayID && id != replayHeldID {
		return nil, false
	}
	held := id == replayHeldID
	name := s.list.Selected().Name
	if j := s.open.journey; j != nil && j.Name == name {
		return s.sendAgain(j, held), true
	}
	return screen.Get(s.host.Context(), s.host, api.KX+"/journeys/"+name, nil, func(j *v1alpha1.Journey, err error) tea.Cmd {
		if err != nil {
			s.host.Complain("the request can't be sent again: " + err.Error())
			return nil
		}
		return s.sendAgain(j, held)
	}), true
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

package capture

import "github.com/kx-apiserver/kx/tui/keys"

// foldCommands fold repetitive rows.
func (s *Screen) foldCommands() []keys.Command {
	return []keys.Command{
		{ID: "list.discovery", Meaning: keys.Hidden, Contexts: keys.Panes, WhyNot: s.whyNoFold, Do: keys.Call(s.toggleDiscovery),
			Help: "Show the requests by which clients find out what the server has, or fold them into a number. A filter shows all " +
				"that it wants."},
	}
}

func (s *Screen) whyNoFold() string {
	if s.applied != "" {
		return "the filter says what is shown"
	}
	return ""
}

func (s *Screen) toggleDiscovery() {
	s.unfolded = !s.unfolded
	s.follow("")
	if s.unfolded {
		s.host.Say(s.phrase("clients' discovery is shown"))
		return
	}
	s.host.Say(s.phrase("clients' discovery is only counted"))
}

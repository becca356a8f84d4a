package capture

import (
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
)

// foldCommands fold what is in the way.
func (s *Screen) foldCommands() []keys.Command {
	return []keys.Command{
		{ID: "list.discovery", Meaning: keys.Hidden, Contexts: keys.Panes, WhyNot: s.whyNoFold, Do: keys.Call(s.toggleDiscovery),
			Help: "Show the requests by which clients find out what the server has, or fold them into a number. A filter shows all that it wants."},
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

// discoveryPaths begin the paths at which clients ask what a server has, and whether it is well.
var discoveryPaths = []string{"/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz"}

// isDiscovery says whether a request asks what the server has, and was answered as usual.
func isDiscovery(j *v1alpha1.Journey) bool {
	q, st := &j.Spec, &j.Status
	if q.Resource != "" || q.Method != "GET" && q.Method != "HEAD" || st.Code >= 400 || st.Phase == v1alpha1.JourneyHeld || len(st.Touched) > 0 {
		return false
	}
	path, _, _ := strings.Cut(q.URI, "?")
	for _, begin := range discoveryPaths {
		rest, ok := strings.CutPrefix(path, begin)
		if ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

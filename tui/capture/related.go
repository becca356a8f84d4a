package capture

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/tui/screen"
)

// relatedRequests holds the requests that changed the object over which the open one was refused.
type relatedRequests struct {
	of       *v1alpha1.Journey // the one that was refused
	journeys []*v1alpha1.Journey
}

// relatedRequests returns the related requests of the open request.
func (s *Screen) relatedRequests() []*v1alpha1.Journey {
	if s.related.of != s.open.journey {
		return nil
	}
	return s.related.journeys
}

// wantRelated fetches the related requests, once for each refused request that is opened.
func (s *Screen) wantRelated() tea.Cmd {
	j := s.open.journey
	switch {
	case j == nil || refusal.RelatedFilter(j) == "":
		return nil
	case s.related.of == j:
		s.detail.GiveRelated(s.related.journeys)
		return nil
	}
	s.related = relatedRequests{of: j}
	get := func() ([]*v1alpha1.Journey, error) { return s.session.Related(s.host.Context(), j) }
	return screen.Do(s.host, get, func(all []*v1alpha1.Journey, err error) tea.Cmd {
		if err == nil && s.related.of == j { // else the card does without them
			s.related.journeys = all
			s.detail.GiveRelated(all)
		}
		return nil
	})
}

package capture

import (
	"cmp"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/pane/list"
	"github.com/kx-apiserver/kx/tui/screen"
)

// precedent is an earlier request like the held one, which may well take the same steps.
type precedent struct {
	of      string // the one that is held
	journey *v1alpha1.Journey
}

// wantAlike fetches the latest request like the open one, once it is held.
func (s *Screen) wantAlike() tea.Cmd {
	id := s.open.id
	if id == "" || s.precedent.of == id || len(s.heldAt()) == 0 {
		return nil
	}
	s.precedent = precedent{of: id}
	like := s.latestLike(&s.list.Selected().Spec)
	if like == "" {
		return nil
	}
	get := func() (*v1alpha1.Journey, error) { return s.session.Get(s.host.Context(), like) }
	return screen.Do(s.host, get, func(j *v1alpha1.Journey, err error) tea.Cmd {
		if err == nil && id == s.precedent.of { // else the cursor has moved on: the hints do without it
			s.precedent.journey = j
		}
		return nil
	})
}

// latestLike returns the latest completed request of the same kind as q: one that succeeded, or else one that failed.
func (s *Screen) latestLike(q *v1alpha1.JourneySpec) (tried string) {
	for i := s.ring.Len() - 1; i >= 0; i-- {
		row := s.ring.At(i)
		if row.Status.Phase != v1alpha1.JourneyComplete || !sameKind(&row.Spec, q) {
			continue
		}
		if !list.HasFailed(row.Journey) {
			return row.Name
		}
		tried = cmp.Or(tried, row.Name)
	}
	return tried
}

// sameKind reports whether two requests take the same kind of path. A request that is held early only has its URI.
func sameKind(a, b *v1alpha1.JourneySpec) bool {
	if b.Verb == "" {
		pathA, _, _ := strings.Cut(a.URI, "?")
		pathB, _, _ := strings.Cut(b.URI, "?")
		return a.Method == b.Method && pathA == pathB
	}
	return a.Verb == b.Verb && a.Group == b.Group && a.Resource == b.Resource && a.Subresource == b.Subresource
}

// wouldStop returns the hint of a stepping command on a held request: the step at which it would stop next, judged by
// an earlier request like it, or else the step that it runs past. Empty if the request is not held.
func (s *Screen) wouldStop(action v1alpha1.JourneyAction) string {
	held := s.heldAt()
	j := s.open.journey
	if len(held) == 0 || j == nil || j.Name != s.list.Selected().Name {
		return ""
	}
	h := s.heldHere(held)
	if action == v1alpha1.ActionInto && h.At == v1alpha1.AtEnd {
		action = v1alpha1.ActionNext // its calls have ended
	}
	taken := j.Status.Steps
	if action == v1alpha1.ActionOut && (int(h.Step) >= len(taken) || taken[h.Step].Parent < 0) {
		return ""
	}
	if like := s.precedent; like.of == j.Name && like.journey != nil {
		if at := sameStep(taken, int(h.Step), like.journey.Status.Steps); at >= 0 {
			if to := stepAfter(like.journey.Status.Steps, at, action); to >= 0 {
				return s.phrase("to %s", like.journey.Status.Steps[to].ID)
			}
			return s.phrase("to its end")
		}
	}
	switch action {
	case v1alpha1.ActionInto:
		return s.phrase("into it")
	case v1alpha1.ActionOut:
		return s.phrase("out of %s", taken[taken[h.Step].Parent].ID)
	}
	if int(h.Step) < len(taken) && taken[h.Step].Parent < 0 && h.At != v1alpha1.AtEnd && taken[h.Step].Layer != filterLayer {
		return s.phrase("to its end") // the root step is the whole request
	}
	return s.phrase("past it")
}

// intoHint is the hint of going into a step, where that leads elsewhere than to go to the next.
func (s *Screen) intoHint() string {
	into := s.wouldStop(v1alpha1.ActionInto)
	if into == s.wouldStop(v1alpha1.ActionNext) {
		return ""
	}
	return into
}

// filterLayer is the layer of the filters, which each request passes one after the other.
var filterLayer = steps.LayerFilter.String()

// sameStep returns the index in others of the step that corresponds to steps[at]; -1 for none.
func sameStep(taken []v1alpha1.Step, at int, others []v1alpha1.Step) int {
	if at >= len(taken) {
		return -1
	}
	nth := 0
	for i := range at {
		if taken[i].ID == taken[at].ID {
			nth++
		}
	}
	for i := range others {
		if others[i].ID != taken[at].ID {
			continue
		}
		if nth == 0 {
			return i
		}
		nth--
	}
	return -1
}

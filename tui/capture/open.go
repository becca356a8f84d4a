package capture

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/pane/steps"
)

// opened is the journey under the cursor, as far as it is fetched.
type opened struct {
	id      string
	request uint64 // counts the fetches: only the answer to the latest is taken
	cancel  context.CancelFunc
	journey *v1alpha1.Journey
	step    string // the ID of the step that the user was led to, until it is there
}

// fetchedMsg is the answer to a fetch.
type fetchedMsg struct {
	request uint64
	journey *v1alpha1.Journey
	changed []int
	err     error
}

// Update implements screen.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(fetchedMsg); ok {
		s.fetched(msg)
	}
	return nil
}

// sync brings steps and detail to the request under the cursor.
func (s *Screen) sync() tea.Cmd {
	row := s.list.Selected()
	if row == nil {
		if s.open.id != "" {
			s.shut()
		}
		return nil
	}
	ended := row.Status.Phase == v1alpha1.JourneyComplete && s.open.journey != nil && s.open.journey.Status.Phase == v1alpha1.JourneyRunning
	if row.Name == s.open.id && !ended {
		s.showStep()
		return nil
	}
	if row.Name != s.open.id && row.Status.Phase == v1alpha1.JourneyRunning {
		s.steps.Message("", " "+row.Name+" is running: its steps come when it ends, or in a second.")
		s.detail.Message()
	}
	return s.fetch(row.Name)
}

// shut shows no journey.
func (s *Screen) shut() {
	s.open.cancel()
	s.open = opened{request: s.open.request + 1, cancel: func() {}}
	s.steps.Message()
	s.detail.Message()
}

// fetch gets a whole journey.
func (s *Screen) fetch(id string) tea.Cmd {
	s.open.cancel()
	ctx, cancel := context.WithCancel(s.host.Context())
	request := s.open.request + 1
	kept := s.open.journey
	if id != s.open.id {
		kept = nil
	}
	s.open = opened{id: id, request: request, cancel: cancel, journey: kept}
	return s.host.Do(func() tea.Msg {
		j, err := s.session.Get(ctx, id)
		if err != nil {
			return fetchedMsg{request: request, err: err}
		}
		return fetchedMsg{request: request, journey: j, changed: steps.Changed(j)}
	})
}

func (s *Screen) fetched(msg fetchedMsg) {
	if msg.request != s.open.request {
		return // the cursor is elsewhere by now
	}
	s.open.cancel()
	if msg.err != nil {
		why := draw.Clean(s.open.id + ": " + msg.err.Error())
		s.steps.Message("", " "+why)
		s.detail.Message("", why)
		return
	}
	s.open.journey = msg.journey
	s.steps.Show(msg.journey, msg.changed)
	s.toStep()
	s.showStep()
}

// toStep goes to the step that the user was led to.
func (s *Screen) toStep() {
	if s.open.step == "" || s.open.journey == nil {
		return
	}
	if !s.steps.Select(s.open.step) {
		s.host.Say(s.open.id + " has no step " + s.open.step)
	}
	s.open.step = ""
	s.showStep()
}

// showStep brings detail to the step under the cursor.
func (s *Screen) showStep() {
	if j := s.open.journey; j != nil {
		s.detail.Show(j, s.steps.Selected(), sameAs(&j.Spec))
	}
}

package capture

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane/steps"
	"github.com/kx-apiserver/kx/tui/screen"
)

// opened is the journey under the cursor, as far as it is fetched.
type opened struct {
	id      string
	request uint64 // counts the fetches: only the answer to the latest is taken
	cancel  context.CancelFunc
	journey *v1alpha1.Journey
	// fetching says that it is asked for: it may have changed since, but the answer will tell.
	fetching bool
	step     string // the ID of the step that the user was led to, until it is there
	field    string // and the field
}

// fetchedMsg is the answer to a fetch.
type fetchedMsg struct {
	request uint64
	journey *v1alpha1.Journey
	changed []int
	err     error
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case fetchedMsg:
		s.fetched(msg)
		return s.sync() // it may be later by now
	case hiddenMsg:
		if msg.filter == s.hidden.filter {
			s.hidden.requests = msg.requests
			s.list.SetEmpty(s.emptyList())
		}
	case alikeMsg:
		if msg.of == s.alike.of {
			s.alike.journey = msg.journey
		}
	case toldMsg:
		return tea.Batch(s.told(msg), s.sync())
	case ruledMsg:
		s.ruled(msg)
	case savedMsg:
		s.savedAs(msg)
	case demoMsg:
		s.demoCreated(msg)
	case comparedMsg:
		return s.compared(msg)
	case replayMsg:
		return s.replayed(msg)
	default:
		s.answered(msg)
		return s.supply()
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
	later := s.open.journey != nil && !s.open.fetching && newer(row.Journey, s.open.journey)
	if row.Name == s.open.id && !later {
		s.showStep()
		return tea.Batch(s.supply(), s.wantAlike())
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
	s.open = opened{id: id, request: request, cancel: cancel, journey: kept, fetching: true}
	return s.host.Do(func() tea.Msg {
		j, err := s.session.Get(ctx, id)
		if err != nil {
			return fetchedMsg{request: request, err: err}
		}
		return fetchedMsg{request: request, journey: j, changed: steps.Changed(j)}
	})
}

func (s *Screen) Returned() tea.Cmd {
	if s.open.id == "" || s.open.journey != nil || s.open.fetching {
		return nil
	}
	return s.fetch(s.open.id)
}

func (s *Screen) fetched(msg fetchedMsg) {
	if msg.request != s.open.request {
		return // the cursor is elsewhere by now
	}
	s.open.cancel()
	s.open.fetching = false
	if msg.err != nil {
		s.open.journey = nil
		why := draw.Clean(s.open.id+": ") + screen.Trouble(msg.err)
		s.steps.Message("", " "+why)
		s.detail.Message("", why)
		return
	}
	s.take(msg.journey, msg.changed)
	s.toStep()
	s.showField()
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

// showField goes to the field that the user was led to.
func (s *Screen) showField() {
	if s.open.field == "" || s.open.journey == nil {
		return
	}
	if !s.detail.SelectField(s.open.field) {
		s.host.Say(s.open.id + " did not change " + s.open.field)
	}
	s.open.field = ""
	s.GoTo(layout.Detail)
}

// showStep brings detail to the step under the cursor.
func (s *Screen) showStep() {
	if j := s.open.journey; j != nil {
		s.detail.ShowMark(j, s.steps.Selected(), s.steps.Mark(), sameAs(&j.Spec))
	}
}

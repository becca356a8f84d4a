package capture

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane/detail"
	"github.com/kx-apiserver/kx/tui/pane/steps"
	"github.com/kx-apiserver/kx/tui/screen"
)

// subject is the journey under the cursor, possibly still being fetched.
type subject struct {
	id      string
	request uint64 // counts the fetches: only the answer to the latest is taken
	cancel  context.CancelFunc
	journey *v1alpha1.Journey
	// fetching reports that a request for the journey is under way. Changes in the meantime are in its answer.
	fetching bool
	step     string           // the ID of the step that the user was led to, until it is there
	field    string           // and the field
	tab      string           // and the tab of Detail
	early    []func() tea.Cmd // commands that wait for its steps
}

// sync shows the request under the cursor in Steps and Detail.
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
		return tea.Batch(s.supply(), s.wantAlike(), s.wantRelated())
	}
	if row.Name != s.open.id && row.Status.Phase == v1alpha1.JourneyRunning {
		s.steps.Message("", " "+s.phrase("%s is running: its steps come when it ends, or in a second.", row.Name))
		s.detail.Message()
	}
	return s.fetch(row.Name)
}

// shut shows no journey.
func (s *Screen) shut() {
	s.open.cancel()
	s.open = subject{request: s.open.request + 1, cancel: func() {}}
	s.steps.Message()
	s.detail.Message()
}

// fetch gets a whole journey.
func (s *Screen) fetch(id string) tea.Cmd {
	s.open.cancel()
	ctx, cancel := context.WithCancel(s.host.Context())
	request := s.open.request + 1
	kept, early := s.open.journey, s.open.early
	if id != s.open.id {
		kept, early = nil, nil
	}
	s.open = subject{id: id, request: request, cancel: cancel, journey: kept, fetching: true, early: early}
	return screen.Do(s.host, countFields(func() (*v1alpha1.Journey, error) { return s.session.Get(ctx, id) }),
		func(j journey, err error) tea.Cmd {
			var asked []tea.Cmd
			if request == s.open.request { // else the cursor is elsewhere by now
				s.takeJourney(j, err)
				asked = s.askedEarly()
			}
			return tea.Batch(append(asked, s.sync())...) // it may be later by now
		})
}

// coming reports whether the first fetch of the steps under the cursor is still under way.
func (s *Screen) coming() bool { return s.open.fetching && s.open.journey == nil }

// onceOpen delays a command about steps until those of the request under the cursor are there: until then the pane
// shows the steps of another request.
func (s *Screen) onceOpen(do func() tea.Cmd) func() tea.Cmd {
	return func() tea.Cmd {
		if !s.coming() {
			return do()
		}
		if len(s.open.early) < queueMost {
			s.open.early = append(s.open.early, do)
		}
		return nil
	}
}

// askedEarly runs the commands that onceOpen delayed, if the steps are there.
func (s *Screen) askedEarly() (cmds []tea.Cmd) {
	early := s.open.early
	s.open.early = nil
	for _, do := range early {
		if s.open.journey != nil {
			cmds = append(cmds, do())
		}
	}
	return cmds
}

// journey is a whole journey, with the number of fields that each step changed.
type journey struct {
	*v1alpha1.Journey
	changed []int
}

// countFields counts the fields that each step of a journey changed, off the goroutine of the screens.
func countFields(get func() (*v1alpha1.Journey, error)) func() (journey, error) {
	return func() (journey, error) {
		j, err := get()
		if err != nil {
			return journey{}, err
		}
		return journey{j, steps.CountChanges(j)}, nil
	}
}

func (s *Screen) Retry() tea.Cmd {
	if s.open.id == "" || s.open.journey != nil || s.open.fetching {
		return nil
	}
	return s.fetch(s.open.id)
}

func (s *Screen) takeJourney(j journey, err error) {
	s.open.cancel()
	s.open.fetching = false
	if err != nil {
		s.open.journey = nil
		why := draw.Clean(s.open.id+": ") + s.host.Theme().Words.Text(screen.Trouble(err))
		s.steps.Message("", " "+why)
		s.detail.Message("", why)
		return
	}
	s.take(j)
	s.toStep()
	s.showField()
	s.showTab()
}

// toStep moves the cursor to the step of the target.
func (s *Screen) toStep() {
	if s.open.step == "" || s.open.journey == nil {
		return
	}
	if !s.steps.Select(s.open.step) {
		s.host.Say(s.phrase("%s has no step %s", s.open.id, s.open.step))
	}
	s.open.step = ""
	s.showStep()
}

// showField moves the cursor to the field of the target.
func (s *Screen) showField() {
	if s.open.field == "" || s.open.journey == nil {
		return
	}
	if !s.detail.SelectField(s.open.field) {
		s.host.Say(s.phrase("%s did not change %s", s.open.id, s.open.field))
	}
	s.open.field = ""
	s.GoTo(layout.Detail)
}

// showTab opens the tab of the target. Where Detail shares its place with Steps, the tab Step does not cover Steps:
// the last lines of Steps show the same.
func (s *Screen) showTab() {
	if s.open.tab == "" || s.open.journey == nil {
		return
	}
	if tab, ok := detail.FindTab(s.open.tab); ok {
		s.detail.Open(tab)
		if tab != detail.StepTab {
			s.Bring(layout.Detail)
			if s.Area(layout.Steps).W == 0 {
				s.GoTo(layout.Detail)
			}
		}
	}
	s.open.tab = ""
}

// showStep shows the step under the cursor in Detail.
func (s *Screen) showStep() {
	if j := s.open.journey; j != nil {
		s.detail.ShowMark(j, s.steps.Selected(), s.steps.Mark(), sameAs(&j.Spec))
	}
}

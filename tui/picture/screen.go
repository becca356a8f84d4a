package picture

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/shell"
	"github.com/kx-apiserver/kx/tui/source"
)

var place = keys.Place("picture")

// Screen is the screen Picture. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host    screen.Host
	journey *v1alpha1.Journey
	others  []*v1alpha1.Journey
	walk    *story.Walk
	at      int // the stop
	sources *source.Library
}

var _ screen.Screen = (*Screen)(nil)

// New makes the screen.
func New(host screen.Host) *Screen {
	s := &Screen{host: host}
	s.sources = source.NewLibrary(host, s.supply)
	s.Split = screen.NewSplit(host, screen.Plan{Panes: []screen.Place{{Context: place, Pane: &canvas{screen: s}}}})
	return s
}

func (s *Screen) Name() screen.Name { return screen.Picture }

func (s *Screen) Commands() []keys.Command {
	in := s.Panes()
	return []keys.Command{
		{ID: "picture.next", Meaning: keys.Next, Contexts: in, Hint: "next stop", WhyNot: s.whyNothing, Do: keys.Bind(s.turn, 1),
			Help: "Walk to the next stop. So do j, the arrows to the right and down, and page down, which presenters' clickers send."},
		{ID: "picture.previous", Meaning: keys.Previous, Contexts: in, Hint: "back", WhyNot: s.whyNothing, Do: keys.Bind(s.turn, -1),
			Help: "Walk back to the previous stop."},
		{ID: "picture.story", Meaning: keys.Tell, Contexts: in, Hint: "story", WhyNot: s.whyNothing, Do: s.tell,
			Help: "Tell the request in sentences, from the step of this stop on."},
		{ID: "picture.source", Meaning: keys.Code, Contexts: in, Hint: "source", WhyNot: s.whyNoStep, Do: s.toSource,
			Help: "Show the file of the line that decided, at that line."},
	}
}

func (s *Screen) whyNothing() string {
	if s.walk == nil {
		return s.host.Theme().Words.Phrase("no request is drawn: press %s on one in Capture", keys.Draw.Key())
	}
	return ""
}

func (s *Screen) whyNoStep() string {
	if why := s.whyNothing(); why != "" {
		return why
	}
	if s.step() == nil {
		return "this stop is about the request as a whole"
	}
	return ""
}

// stop is the present stop.
func (s *Screen) stop() *story.Stop { return &s.walk.Stops[s.at] }

// step is the step whose line decided at the stop, or nil.
func (s *Screen) step() *v1alpha1.Step {
	if s.walk == nil || s.stop().Code < 0 {
		return nil
	}
	return &s.journey.Status.Steps[s.stop().Code]
}

// turn walks by some stops.
func (s *Screen) turn(by int) tea.Cmd {
	to := max(min(s.at+by, len(s.walk.Stops)-1), 0)
	if to == s.at {
		s.host.Say("the walk ends there")
	}
	s.at = to
	return s.supply()
}

func (s *Screen) tell() tea.Cmd {
	return s.host.Go(screen.ToStory{Journey: s.journey, Others: s.others, Step: s.stop().Step})
}

func (s *Screen) toSource() tea.Cmd {
	step := s.step()
	at := step.Decided()
	return s.host.Go(screen.ToSource{File: at.File, Line: int(at.Line), Function: at.Function, Upstream: step.Upstream,
		UpstreamFile: step.UpstreamFile, Release: step.UpstreamRelease, Because: s.host.Theme().Words.Why(s.journey, step)})
}

func (s *Screen) Show(to screen.Target) tea.Cmd {
	if to, ok := to.(screen.ToPicture); ok && to.Journey != nil {
		s.journey, s.others, s.at = to.Journey, to.Others, 0
		s.walk = story.WalkOf(to.Journey, s.host.Theme().Words, to.Others...)
		for i := range s.walk.Stops {
			if stop := s.walk.Stops[i]; stop.Step >= 0 && stop.Step <= to.Step {
				s.at = i
			}
		}
	}
	return s.supply()
}

// supply asks for the source of the stop.
func (s *Screen) supply() tea.Cmd {
	if step := s.step(); step != nil {
		return s.sources.Want(step.Decided().File)
	}
	return nil
}

func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if s.walk != nil {
		switch id {
		case keys.Open:
			if s.stop().Step < 0 {
				return s.host.Go(screen.ToRequest{Journey: s.journey.Name}), true
			}
			return s.host.Go(screen.ToRequest{Journey: s.journey.Name, Step: s.journey.Status.Steps[s.stop().Step].ID}), true
		case keys.Copy:
			return s.host.Copy(s.text()), true
		case keys.Down, keys.Right, keys.HalfDown:
			return s.turn(1), true
		case keys.Up, keys.Left, keys.HalfUp:
			return s.turn(-1), true
		case keys.Top:
			return s.turn(-s.at), true
		case keys.Bottom:
			return s.turn(len(s.walk.Stops)), true
		}
	}
	return s.Split.Handle(id)
}

// text is the walk as text.
func (s *Screen) text() string {
	var b strings.Builder
	for _, stop := range s.walk.Stops {
		b.WriteString(stop.Box.Name(s.host.Theme().Words) + ": " + stop.Text + "\n")
	}
	return b.String()
}

func (s *Screen) Foot() (sameAs, state string) {
	if s.journey == nil {
		return "", ""
	}
	return s.host.Theme().SameAs(shell.Line("kx", "trace", "show", s.journey.Name, "--story")), ""
}

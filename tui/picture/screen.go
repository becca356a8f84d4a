package picture

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/send/again"
	"github.com/kx-apiserver/kx/tui/shell"
	"github.com/kx-apiserver/kx/tui/source"
)

var place = keys.Place("picture")

// Screen is the screen Picture. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host screen.Host
	save screen.Saver
	// trips are the drawn requests: one, or two beside each other. fork is nil for one.
	trips   []trip
	fork    *diff.Fork
	at      int // the position: a stop of one, or one of fork.Stops
	sources *source.Library

	// origin is the request that was opened. way counts its variants from 1: it is the one that is drawn beside it; 0
	// stands for none.
	origin   screen.ToPicture
	variants []again.Variant
	whyNone  string
	way      int
	// giveUp ends the sending of a variant. It is nil if none is under way.
	giveUp context.CancelFunc
}

var _ screen.Screen = (*Screen)(nil)

// trip is a request that is drawn, at a stop of its walk.
type trip struct {
	name   string // what stands before its lines, if there are two
	others []*v1alpha1.Journey
	walk   *story.Walk
	at     int
}

func (t *trip) stop() *story.Stop { return &t.walk.Stops[t.at] }

// step is the step whose line decided at the stop, or nil.
func (t *trip) step() *v1alpha1.Step {
	if t.stop().Code < 0 {
		return nil
	}
	return &t.walk.Journey.Status.Steps[t.stop().Code]
}

// New makes the screen.
func New(host screen.Host, save screen.Saver) *Screen {
	s := &Screen{host: host, save: save}
	s.sources = source.NewLibrary(host, s.supply)
	s.Split = screen.NewSplit(host, screen.Plan{Panes: []screen.Place{{Context: place, Pane: &canvas{screen: s}}}})
	return s
}

func (s *Screen) Name() screen.Name { return screen.Picture }

func (s *Screen) Commands() []keys.Command {
	in := s.Panes()
	return []keys.Command{
		{ID: "picture.next", Meaning: keys.Next, Contexts: in, Hint: "next stop", Next: s.ofTwo("next stop"),
			WhyNot: s.whyNothing, Do: keys.Bind(s.turn, 1),
			Help: "Walk to the next stop. So do j, the arrows to the right and down, and page down, which presenters' clickers send."},
		{ID: "picture.previous", Meaning: keys.Previous, Contexts: in, Hint: "back", WhyNot: s.whyNothing, Do: keys.Bind(s.turn, -1),
			Help: "Walk back to the previous stop."},
		{ID: "picture.other", Meaning: keys.OtherWay, Contexts: in, Hint: "another way", Next: s.ofTwo("another way"),
			WhyNot: s.whyNoOther, Do: s.nextPicture,
			Help: "Send the request the next way that is named below the boxes, and draw that below it, at the place where the two " +
				"part: a read from any state of the cache, or of the newest; a write as a dry run, and with an outdated revision. " +
				"Nothing is changed by it. After the last one the request is alone again."},
		{ID: "picture.swap", Meaning: keys.OtherSide, Contexts: in, WhyNot: s.whyAlone, Do: s.swap,
			Help: "Swap the two requests: the first becomes the second, which open, story and source are about, and whose code " +
				"there is room for on a small screen."},
		{ID: "picture.story", Meaning: keys.Tell, Contexts: in, Hint: "story", WhyNot: s.whyNothing, Do: s.tell,
			Help: "Tell the request in sentences, from the step of this stop on."},
		{ID: "picture.source", Meaning: keys.Code, Contexts: in, Hint: "source", WhyNot: s.whyNoStep, Do: s.toSource,
			Help: "Show the file of the line that decided, at that line."},
		{ID: "picture.save", Meaning: keys.Save, Contexts: in, Hint: "save", Next: s.ofTwo("save both"), WhyNot: s.whyNotSaved,
			Do: s.saveShown,
			Help: "Save what is drawn, as a page for any browser, as Markdown for an issue, or as a drawing: of two requests both, as " +
				"kx trace export with two IDs writes them. Secrets are masked."},
	}
}

// ofTwo makes a hint that comes among the first ones while two requests are drawn.
func (s *Screen) ofTwo(hint string) func() string {
	return func() string {
		if s.fork != nil {
			return hint
		}
		return ""
	}
}

func (s *Screen) whyNotSaved() string {
	if why := s.whyNothing(); why != "" || s.fork == nil {
		return why
	}
	if err := diff.Comparable(s.trips[0].walk.Journey, s.trips[1].walk.Journey); err != nil {
		return err.Error()
	}
	return ""
}

func (s *Screen) saveShown() tea.Cmd {
	var shown []*v1alpha1.Journey
	for i := range s.trips {
		shown = append(shown, s.trips[i].walk.Journey)
	}
	return s.save(shown...)
}

func (s *Screen) whyNothing() string {
	if s.trips == nil {
		return s.host.Theme().Words.Phrase("no request is drawn: press %s on one in Capture", keys.Draw.Key())
	}
	return ""
}

func (s *Screen) whyNoStep() string {
	if why := s.whyNothing(); why != "" {
		return why
	}
	if s.last().step() == nil {
		return "this stop is about the request as a whole"
	}
	return ""
}

func (s *Screen) whyNoOther() string {
	if why := s.whyNothing(); why != "" {
		return why
	}
	return s.whyNone
}

func (s *Screen) whyAlone() string {
	if why := s.whyNothing(); why != "" || s.fork != nil {
		return why
	}
	return s.host.Theme().Words.Phrase("one request is drawn: %s sends it another way, and draws both", keys.OtherWay.Key())
}

func (s *Screen) swap() tea.Cmd {
	at := s.at
	s.draw(s.trips[1], s.trips[0])
	s.goTo(at)
	return s.supply()
}

// showAlone draws the request alone again, at its present stop.
func (s *Screen) showAlone() tea.Cmd {
	to := s.origin
	for i := range s.trips {
		if t := &s.trips[i]; t.walk.Journey == to.Journey {
			to.Step = t.stop().Step
		}
	}
	to.Beside = nil
	return s.Show(to)
}

// nextPicture draws the next way of the request beside it, for which it is sent. It gives up one that is under way: a
// breakpoint may hold that.
func (s *Screen) nextPicture() tea.Cmd {
	words := s.host.Theme().Words
	if s.stopSending() {
		s.host.Say(words.Text("it was given up"))
		return nil
	}
	next := (s.way + 1) % (len(s.variants) + 1)
	if next == 0 {
		return s.showAlone()
	}
	variant := s.variants[next-1]
	ctx, cancel := context.WithCancel(s.host.Context())
	s.giveUp = cancel
	s.host.Say(words.Phrase("sent: %s. %s gives it up", words.Text(variant.Name), keys.OtherWay.Key()))
	return screen.Do(s.host, func() (*v1alpha1.Journey, error) {
		return variant.Send(ctx, s.host.API())
	}, func(j *v1alpha1.Journey, err error) tea.Cmd {
		if ctx.Err() != nil { // it was given up, or another request was opened
			return nil
		}
		if s.stopSending(); err != nil {
			s.host.Complain(words.Phrase("it could not go another way: %s", words.Text(screen.Trouble(err))))
			return nil
		}
		s.host.Say("")
		s.way = next
		s.draw(s.newTrip(s.origin.Journey, s.origin.Others...), s.newTrip(j))
		return s.supply()
	})
}

// stopSending gives up the variant that is under way, and says whether one was.
func (s *Screen) stopSending() bool {
	if s.giveUp == nil {
		return false
	}
	s.giveUp()
	s.giveUp = nil
	return true
}

// last is the request that keys are about: the only one, or the second of two.
func (s *Screen) last() *trip { return &s.trips[len(s.trips)-1] }

// length is the number of positions.
func (s *Screen) length() int {
	if s.fork != nil {
		return len(s.fork.Stops)
	}
	return len(s.last().walk.Stops)
}

// goTo goes to a position, or to the nearest one. It reports whether that is another one.
func (s *Screen) goTo(at int) bool {
	if s.trips == nil {
		return false
	}
	was := s.at
	s.at = max(min(at, s.length()-1), 0)
	for i := range s.trips {
		if s.trips[i].at = s.at; s.fork != nil {
			s.trips[i].at = s.fork.Stops[s.at][i]
		}
	}
	return s.at != was
}

// turn walks by some stops.
func (s *Screen) turn(by int) tea.Cmd {
	if !s.goTo(s.at + by) {
		s.host.Say("the walk ends there")
	}
	return s.supply()
}

func (s *Screen) tell() tea.Cmd {
	t := s.last()
	return s.host.Go(screen.ToStory{Journey: t.walk.Journey, Others: t.others, Step: t.stop().Step})
}

func (s *Screen) toSource() tea.Cmd {
	step := s.last().step()
	at := step.DecisionPlace()
	return s.host.Go(screen.ToSource{File: at.File, Line: int(at.Line), Function: at.Function, Upstream: step.Upstream,
		UpstreamFile: step.UpstreamFile, Release: step.UpstreamRelease,
		Because: s.host.Theme().Words.Why(s.last().walk.Journey, step)})
}

func (s *Screen) Show(to screen.Target) tea.Cmd {
	if to, ok := to.(screen.ToPicture); ok && to.Journey != nil {
		s.stopSending()
		s.origin, s.way = to, 0
		s.variants, s.whyNone = again.Variants(to.Journey)
		first := s.newTrip(to.Journey, to.Others...)
		if to.Beside != nil {
			s.draw(first, s.newTrip(to.Beside))
			return s.supply()
		}
		s.draw(first)
		for i, stop := range first.walk.Stops {
			if stop.Step >= 0 && stop.Step <= to.Step {
				s.goTo(i)
			}
		}
	}
	return s.supply()
}

func (s *Screen) newTrip(j *v1alpha1.Journey, others ...*v1alpha1.Journey) trip {
	return trip{others: others, walk: story.WalkOf(j, s.host.Theme().Words, others...)}
}

// draw draws a request at its first stop, or two where they part.
func (s *Screen) draw(trips ...trip) {
	s.trips, s.fork, s.at = trips, nil, 0
	if len(trips) == 2 {
		trips[0].name, trips[1].name = "A  ", "B  "
		s.fork = diff.ForkOf(trips[0].walk, trips[1].walk, s.host.Theme().Words)
		s.at = s.fork.Part
	}
	s.goTo(s.at)
}

// supply asks for the source of the stops.
func (s *Screen) supply() tea.Cmd {
	var asked []tea.Cmd
	for i := range s.trips {
		if step := s.trips[i].step(); step != nil {
			asked = append(asked, s.sources.Want(step.DecisionPlace().File))
		}
	}
	return tea.Batch(asked...)
}

func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if s.trips != nil {
		switch id {
		case keys.Open:
			t := s.last()
			to := screen.ToRequest{Journey: t.walk.Journey.Name}
			if t.stop().Step >= 0 {
				to.Step = t.walk.Journey.Status.Steps[t.stop().Step].ID
			}
			return s.host.Go(to), true
		case keys.Copy:
			return s.host.Copy(s.text()), true
		case keys.Down, keys.Right, keys.HalfDown:
			return s.turn(1), true
		case keys.Up, keys.Left, keys.HalfUp:
			return s.turn(-1), true
		case keys.Top:
			return s.turn(-s.at), true
		case keys.Bottom:
			return s.turn(s.length()), true
		}
	}
	return s.Split.Handle(id)
}

// text is the walk as text, or both walks.
func (s *Screen) text() string {
	if s.fork != nil {
		return strings.Join(s.fork.Tell(), "\n") + "\n"
	}
	var b strings.Builder
	for _, stop := range s.last().walk.Stops {
		b.WriteString(stop.Box.Name(s.host.Theme().Words) + ": " + stop.Text + "\n")
	}
	return b.String()
}

func (s *Screen) Foot() (sameAs, state string) {
	if s.trips == nil {
		return "", ""
	}
	command := []string{"kx", "trace", "show", s.last().walk.Journey.Name, "--story"}
	if s.fork != nil {
		command = []string{"kx", "trace", "compare", s.trips[0].walk.Journey.Name, s.trips[1].walk.Journey.Name}
	}
	return s.host.Theme().SameAs(shell.Line(command...)), ""
}

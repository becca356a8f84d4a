package story

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

func (s *Screen) Commands() []keys.Command {
	both, inText := s.Panes(), []keys.Context{textPlace}
	return []keys.Command{
		{ID: "story.next", Meaning: keys.Next, Contexts: both, Hint: "next sentence", WhyNot: s.whyNothing, Do: keys.Bind(s.turn, 1),
			Help: "Go to the next sentence."},
		{ID: "story.previous", Meaning: keys.Previous, Contexts: both, WhyNot: s.whyNothing, Do: keys.Bind(s.turn, -1),
			Help: "Go to the previous sentence."},
		{ID: "story.unfold", Meaning: keys.Inward, Contexts: inText, Hint: "unfold", WhyNot: s.whyNothing, Do: keys.Bind(s.unfold, true),
			Help: "Unfold what the layer of this sentence did: a sentence for each step."},
		{ID: "story.fold", Meaning: keys.Outward, Contexts: inText, WhyNot: s.whyNothing, Do: keys.Bind(s.unfold, false),
			Help: "Fold the layer of this sentence into one, and the steps that decided."},
		{ID: "story.all", Meaning: keys.Hidden, Contexts: both, WhyNot: s.whyNothing, Do: s.unfoldAll,
			Help: "Unfold all layers, or fold them."},
		{ID: "story.read", Meaning: keys.Switch, Contexts: both, Hint: "read on", WhyNot: s.whyNothing, Do: s.toggleReading,
			Help: "Read on by itself, sentence by sentence, or stop."},
		{ID: "story.picture", Meaning: keys.Draw, Contexts: both, Hint: "picture", WhyNot: s.whyNothing, Do: s.draw,
			Help: "Draw the request as a picture, at the step of this sentence."},
		{ID: "story.find", Meaning: keys.Find, Contexts: both, WhyNot: s.whyNothing, Do: s.askFind,
			Help: "Go to the next line of the story that has a text. After the last comes the first."},
	}
}

func (s *Screen) whyNothing() string {
	if s.journey == nil {
		return s.host.Theme().Words.Phrase("no request is told: press %s on one in Capture", keys.Tell.Key())
	}
	return ""
}

func (s *Screen) draw() tea.Cmd {
	return s.host.Go(screen.ToPicture{Journey: s.journey, Others: s.others, Step: s.told[s.sentence()].Step})
}

// turn moves by some sentences.
func (s *Screen) turn(by int) tea.Cmd {
	if !s.goTo(s.sentence() + by) {
		s.host.Say("the story ends there")
	}
	return s.supply()
}

// unfold unfolds the layer of the sentence under the cursor, or folds it.
func (s *Screen) unfold(unfolded bool) tea.Cmd {
	if s.story.Unfold(s.told[s.sentence()].Part, unfolded) {
		s.refold()
	}
	return s.supply()
}

// unfoldAll unfolds all layers, or folds them if none is folded.
func (s *Screen) unfoldAll() tea.Cmd {
	if !s.story.UnfoldAll(true) {
		s.story.UnfoldAll(false)
	}
	s.refold()
	return s.supply()
}

// toggleReading starts or stops reading on.
func (s *Screen) toggleReading() tea.Cmd {
	if s.turning != nil {
		s.quiet()
		return nil
	}
	s.readOn()
	return nil
}

// readOn waits for the reading time of the sentence under the cursor.
func (s *Screen) readOn() {
	s.due.Store(false)
	s.turning = time.AfterFunc(s.pace(s.told[s.sentence()].Text), func() {
		s.due.Store(true)
		s.host.Changed()
	})
}

// Drain moves to the next sentence once the reading time of the present one is over, up to the end.
func (s *Screen) Drain() tea.Cmd {
	if s.turning == nil || !s.due.Load() {
		return nil
	}
	if !s.goTo(s.sentence() + 1) {
		s.quiet()
		return nil
	}
	s.readOn()
	return s.supply()
}

func (s *Screen) askFind() tea.Cmd {
	return screen.AskFind(s.host, s.host.Theme().Words.Phrase("find in the story"), s.text.Sought(), func(text string) tea.Cmd {
		s.story.Find(text)
		s.refold()
		if !s.text.Find(text, 1, false) {
			s.host.Complain(s.host.Theme().Words.Phrase("the story does not have %s", text))
		}
		return s.supply()
	})
}

func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case keys.Open:
		return s.open()
	case keys.Copy:
		return s.host.Copy(s.all()), true
	}
	return s.Split.Handle(id)
}

// open goes to the step under the cursor.
func (s *Screen) open() (tea.Cmd, bool) {
	step := s.step()
	if step == nil {
		return nil, false
	}
	return s.host.Go(screen.ToRequest{Journey: s.journey.Name, Step: step.ID}), true
}

// all returns the whole story.
func (s *Screen) all() string {
	var b strings.Builder
	for _, l := range s.told {
		b.WriteString(strings.Repeat("  ", l.Depth) + l.Text + "\n")
	}
	return b.String()
}

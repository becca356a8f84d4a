package story

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/shell"
	"github.com/kx-apiserver/kx/tui/source"
)

// The panes.
var (
	textPlace   = keys.Place("story")
	sourcePlace = keys.Place("source of the step")
)

const (
	textPane = iota
	sourcePane
)

// besideFrom is the width from which the source is beside the story.
const besideFrom = 110

// Screen is the screen Story. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host    screen.Host
	journey *v1alpha1.Journey
	others  []*v1alpha1.Journey
	story   *story.Story
	told    []story.Line // of the story, as it is folded
	// lines holds the sentences, wrapped to width w.
	lines []line
	w     int

	text    *pane.Rows
	source  *source.Pane
	sources *source.Library

	// turning fires after the reading time and sets due; it is nil while the user turns the sentences.
	turning *time.Timer
	due     atomic.Bool
	pace    func(text string) time.Duration
}

// line is a line of a sentence.
type line struct {
	text     string
	sentence int
	first    bool
}

var _ screen.Screen = (*Screen)(nil)

// New makes the screen.
func New(host screen.Host) *Screen {
	s := &Screen{host: host, source: source.NewPane(host.Theme), pace: readingTime}
	s.text = pane.NewRows(host.Theme, s.content)
	s.sources = source.NewLibrary(host, s.supply)
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes:   []screen.Place{{Context: textPlace, Pane: s.text}, {Context: sourcePlace, Pane: s.source}},
		Arrange: s.arrange,
		Absent:  func(pane int) bool { return pane == sourcePane && !s.beside() },
		Moved:   func(int) tea.Cmd { return s.supply() },
	})
	return s
}

// readingTime estimates the time for reading a sentence, with a look at the source.
func readingTime(text string) time.Duration {
	const aWord, aCharacter, aLook = 300 * time.Millisecond, 150 * time.Millisecond, 700 * time.Millisecond
	characters := 0 // of Chinese, which has no spaces between words
	for _, r := range text {
		if unicode.Is(unicode.Han, r) {
			characters++
		}
	}
	return aLook + time.Duration(len(strings.Fields(text)))*aWord + time.Duration(characters)*aCharacter
}

func (s *Screen) Name() screen.Name { return screen.Story }

func (s *Screen) beside() bool {
	w, _ := s.Size()
	return w >= besideFrom
}

func (s *Screen) arrange(w, h int) []layout.Rect {
	if w < besideFrom {
		return []layout.Rect{layout.NewRect(0, 0, w, h), {}}
	}
	left := layout.Border(w, w/2, s.Borders().Across, besideFrom/3, besideFrom/3)
	return []layout.Rect{layout.NewRect(0, 0, left, h), layout.NewRect(left, 0, w-left, h)}
}

func (s *Screen) Show(to screen.Target) tea.Cmd {
	if to, ok := to.(screen.ToStory); ok && to.Journey != nil {
		s.quiet()
		s.journey, s.others, s.story = to.Journey, to.Others, story.Tell(to.Journey, s.host.Theme().Words, to.Others...)
		s.source.Show(source.Place{}, nil, nil, "") // until supply has the source of this story
		s.GoTo(textPane)
		s.text.ToTop()
		s.told = nil
		at := s.story.Reveal(to.Step)
		s.refold()
		s.goTo(at)
	}
	return s.supply()
}

// refold takes the sentences anew once the story was folded or unfolded. The cursor stays on its sentence, or goes to
// the first of its layer.
func (s *Screen) refold() {
	var at story.Line
	if len(s.told) > 0 {
		at = s.told[s.sentence()]
	}
	s.told, s.lines, s.w = s.story.Lines(), nil, 0
	s.fit()
	i := slices.Index(s.told, at)
	if i < 0 {
		i = slices.IndexFunc(s.told, func(l story.Line) bool { return l.Part == at.Part })
	}
	s.goTo(i)
}

// Hide ends the reading.
func (s *Screen) Hide() { s.quiet() }

// Close ends the reading.
func (s *Screen) Close() { s.quiet() }

func (s *Screen) quiet() {
	if s.turning != nil {
		s.turning.Stop()
		s.turning = nil
	}
}

// fit wraps the sentences.
func (s *Screen) fit() {
	w, _ := s.text.Size()
	room := max(w-5, 1) // the frame, the cursor, the mark, and a cell at the edge
	if s.w == room {
		return
	}
	at := s.sentence()
	s.w, s.lines = room, nil
	for i, told := range s.told {
		indent := strings.Repeat(" ", min(2*told.Depth, room/3)) + s.mark(i)
		for k, text := range draw.Wrap(draw.Clean(told.Text), max(room-len(indent), 1)) {
			if k > 0 {
				indent = strings.Repeat(" ", len(indent))
			}
			s.lines = append(s.lines, line{text: indent + text, sentence: i, first: k == 0})
		}
	}
	s.goTo(at)
}

// mark is what stands before a sentence: + if its layer is folded, - before the first sentence of an unfolded one.
func (s *Screen) mark(sentence int) string {
	part := s.told[sentence].Part
	switch {
	case !s.story.Parts[part].Folds(), sentence > 0 && s.told[sentence-1].Part == part:
		return "  "
	case s.story.Unfolded(part):
		return "- "
	}
	return "+ "
}

// content draws the story. It is called after fit has wrapped the lines for its width.
func (s *Screen) content() pane.Content {
	words := s.host.Theme().Words
	if s.journey == nil {
		return pane.Content{Title: words.Phrase("Story"),
			Empty: []string{words.Phrase("No request is told: press %s on one in Capture.", keys.Tell.Key())}}
	}
	look := s.host.Theme()
	return pane.Content{Title: words.Phrase("Story") + "  " + draw.Clean(s.journey.Name), Rows: len(s.lines),
		Counted: true, Row: func(i int) pane.Row {
			l := s.lines[i]
			row := pane.Row{Text: l.text}
			if s.told[l.sentence].Failed {
				row.Style = look.Bad
				if l.first {
					row.Mark = "!"
				}
			}
			return row
		}}
}

// sentence returns the sentence under the cursor; 0 if there is none.
func (s *Screen) sentence() int {
	if i := s.text.Cursor(); i >= 0 && i < len(s.lines) {
		return s.lines[i].sentence
	}
	return 0
}

// goTo puts the cursor on a sentence. It reports whether there is one.
func (s *Screen) goTo(sentence int) bool {
	for i, l := range s.lines {
		if l.sentence == sentence {
			s.text.SetCursor(i)
			return true
		}
	}
	return false
}

// step returns the step under the cursor, or nil.
func (s *Screen) step() *v1alpha1.Step { return s.stepOf(s.sentence()) }

func (s *Screen) stepOf(sentence int) *v1alpha1.Step {
	if s.journey == nil || sentence < 0 || sentence >= len(s.told) || s.told[sentence].Step < 0 {
		return nil
	}
	return &s.journey.Status.Steps[s.told[sentence].Step]
}

// supply shows the source of the step under the cursor, as soon as it is there. For a sentence about the request, it
// takes the next step.
func (s *Screen) supply() tea.Cmd {
	step := cmp.Or(s.step(), s.stepOf(s.sentence()+1))
	if step == nil || !s.beside() {
		return nil
	}
	place := source.PlaceOf(s.journey, step, s.host.Theme().Words)
	cmd := s.sources.Want(place.File)
	file, note := s.sources.Get(place.File)
	s.source.Show(place, file, nil, note)
	return cmd
}

func (s *Screen) Render() []string {
	s.SetSize(s.Size())
	s.fit()
	return s.Split.Render()
}

func (s *Screen) Foot() (sameAs, state string) {
	if s.journey == nil {
		return "", ""
	}
	sameAs = s.host.Theme().SameAs(shell.Line("kx", "trace", "show", s.journey.Name, "--story"))
	if s.turning != nil {
		state = s.host.Theme().Notice(" " + s.host.Theme().Words.Phrase("reading on: %s stops", keys.Switch.Key()))
	}
	return sameAs, state
}

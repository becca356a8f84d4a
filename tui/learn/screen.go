package learn

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/play"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The contexts: the text, the text while a question is open, and the learner's inputs.
var (
	textPlace     = keys.Place("lesson")
	questionPlace = keys.Question("question of the lesson")
	commandLine   = keys.Line("command")
	scriptText    = keys.Line("commands of the task")
)

// Play runs the parts of a lesson, one method at a time.
type Play interface {
	// Do does part i of the lesson.
	Do(ctx context.Context, i int) (play.Outcome, error)
	// Attempt runs the learner's own commands for a task.
	Attempt(ctx context.Context, task, script string) (play.Outcome, error)
	// Judge checks an expectation once.
	Judge(ctx context.Context, e lesson.Expect) ([]play.Result, error)
	// Shell runs any command.
	Shell(ctx context.Context, line string) (play.Outcome, error)
	// Find returns the newest request of a run that matches a filter.
	Find(ctx context.Context, of, filter string) (journey string, err error)
}

// Options configure the screen.
type Options struct {
	Lesson *lesson.Lesson
	// Open waits for the lesson's server, and returns a Play for it. The Play calls output with the text that a run
	// prints, from any goroutine. Open is called again if it failed.
	Open func(ctx context.Context, output func(id, text string)) (Play, error)
	// Record is the learner's progress so far. Keep saves the new one; it is called by one goroutine at a time, and
	// may be nil.
	Record play.Record
	Keep   func(play.Record) error
	// Ways are the lessons that may come next; empty if there is none. The learner is asked if there are several.
	Ways []Way
	// Quick stops only at questions: blocks between them run by themselves, and tasks are left out.
	Quick bool
	// Tracks are the tracks of the lesson, with the learner's progress before it. Ends lists those that end with it.
	Tracks []play.Track
	Ends   []lesson.Track
	// Leave is called with the learner's choice for afterwards, before the screen ends. It may be nil. The way is one
	// of Ways if the choice is NextLesson.
	Leave func(After, Way)
}

// Way is a lesson that may come next.
type Way struct {
	ID, Title string
	// Tracks are the tracks on which it is next.
	Tracks []lesson.Track
}

// After is the learner's choice for after the lesson.
type After int

// The choices.
const (
	Nothing    After = iota
	Again            // the same lesson, from its beginning and on a new server
	NextLesson       // the one that comes after it
)

// judgeFor limits how long an attempt at a task is judged until all holds: feedback about a wrong one should come
// soon.
const judgeFor = 2 * time.Second

// Screen is the screen Lesson. Its methods are called by one goroutine. mu guards prints, and saving the calls of Keep.
type Screen struct {
	screen.Split
	host    screen.Host
	options Options
	tasks   map[string]lesson.Task
	record  play.Record

	text    *pane.Rows
	page    page
	play    Play
	entries []entry           // of each part, and one for the end
	next    int               // the next part; those before it are done
	lacking map[string]string // needs of a run or task that this machine does not meet
	before  int               // the parts up to which an earlier run of the screen has come
	acted   int               // the part that the learner did something about last
	quick   bool              // the learner wants the questions alone
	full    bool              // long outputs are shown as a whole
	below   bool              // there is text below the view
	work    *work
	failed  error // why the lesson's server is not there
	link    int   // the one of the page's links that the keys are about, of so many
	links   int

	script   editor.Editor
	editing  bool
	ofTask   bool // the line is for the commands of a task
	history  []string
	recalled int
	judging  time.Duration

	keeping, unkept bool

	saving sync.Mutex
	ended  bool // Close has saved the last record

	mu     sync.Mutex
	prints map[string]string // the output of runs since the last Drain
}

var _ screen.Screen = (*Screen)(nil)

// New makes the screen.
func New(host screen.Host, o Options) *Screen {
	s := &Screen{
		host: host, options: o, tasks: map[string]lesson.Task{}, record: cloneRecord(o.Record),
		entries: make([]entry, len(o.Lesson.Parts)+1),
		judging: judgeFor, prints: map[string]string{}, lacking: map[string]string{}, link: -1,
		quick: o.Quick,
	}
	for _, task := range o.Lesson.Tasks() {
		s.tasks[task.ID] = task
	}
	at, known := o.Lesson.Index(s.record.At)
	s.record.Next = at
	if !known || at == len(o.Lesson.Parts) { // after the end, or after a change of the lesson, it begins anew
		s.record = s.record.Restart()
	}
	s.text = pane.NewRows(host.Theme, s.content)
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes: []screen.Place{{Context: textPlace, Pane: s.text}},
		Line:  &screen.Line{Context: commandLine},
	})
	return s
}

// cloneRecord returns a deep copy of a record.
func cloneRecord(r play.Record) play.Record {
	r.Answers, r.Hints, r.Tries = maps.Clone(r.Answers), maps.Clone(r.Hints), maps.Clone(r.Tries)
	r.Solved, r.Looked, r.Skipped = maps.Clone(r.Solved), maps.Clone(r.Looked), maps.Clone(r.Skipped)
	return r
}

func (s *Screen) phrase(format string, values ...any) string {
	return s.host.Theme().Words.Phrase(format, values...)
}

func (s *Screen) Name() screen.Name { return screen.Lesson }

// Contexts lists the text with and without a question, and the inputs.
func (s *Screen) Contexts() []keys.Context {
	return []keys.Context{textPlace, questionPlace, commandLine, scriptText}
}

func (s *Screen) Context() keys.Context {
	switch _, asks := s.part().(lesson.Predict); {
	case s.editing:
		return scriptText
	case s.Typing():
		return commandLine
	case asks && s.work == nil && s.play != nil:
		return questionPlace
	}
	return textPlace
}

// Veiled reports whether the screen beside the lesson would answer the open question: it shows the requests of a run
// that the lesson has not revealed yet.
func (s *Screen) Veiled() bool {
	if s.Context() != questionPlace {
		return false
	}
	for i := s.next - 1; i >= 0; i-- {
		switch s.options.Lesson.Parts[i].(type) {
		case lesson.Show:
			return false
		case lesson.Run, lesson.Release:
			return len(s.entries[i].outcome.Held) == 0
		}
	}
	return false
}

// SetSize implements screen.Screen. The learner's last action stays in view.
func (s *Screen) SetSize(w, h int) {
	_, before := s.text.Size()
	s.Split.SetSize(w, h)
	if _, now := s.text.Size(); now != before {
		s.reveal()
	}
}

// Focus reports whether the learner is in the context.
func (s *Screen) Focus(ctx keys.Context) bool {
	if ctx == commandLine {
		return false // only commands open the line
	}
	return ctx == s.Context()
}

// Show begins or resumes the lesson.
func (s *Screen) Show(screen.Target) tea.Cmd {
	if s.play != nil || s.work != nil {
		return nil
	}
	return s.open()
}

// Drain takes the output of runs.
func (s *Screen) Drain() tea.Cmd {
	s.mu.Lock()
	prints := s.prints
	s.prints = map[string]string{}
	s.mu.Unlock()
	for i, part := range s.options.Lesson.Parts {
		switch part := part.(type) {
		case lesson.Run:
			s.entries[i].addOutput(prints[part.ID])
		case lesson.Starter:
			s.entries[i].addOutput(prints[part.ID])
		}
	}
	if w := s.work; w != nil {
		w.clock.Reset(tickEvery)
		if len(prints) > 0 {
			s.reveal()
		}
	}
	return nil
}

// addOutput adds what a run prints.
func (e *entry) addOutput(text string) {
	if e.state == working {
		e.live += text
		if cut := len(e.live) - liveMost; cut > 0 {
			e.live = strings.ToValidUTF8(e.live[cut:], "")
		}
	}
}

// liveMost limits the output that is kept while it grows.
const liveMost = 16 << 10

// output stores the output of a run.
func (s *Screen) output(id, text string) {
	s.mu.Lock()
	if len(s.prints[id]) < liveMost {
		s.prints[id] += text
	}
	s.mu.Unlock()
	s.host.Changed()
}

// Close stops the work that runs, and saves the record: also one whose save is still under way, since the process may
// end before that.
func (s *Screen) Close() {
	if s.work != nil {
		s.work.end()
	}
	if (s.unkept || s.keeping) && s.options.Keep != nil {
		_ = s.save(cloneRecord(s.record), true) // an error can't be shown any more
	}
}

// save saves a record. After the last one it saves none: it would be an older one.
func (s *Screen) save(r play.Record, last bool) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	if s.ended {
		return nil
	}
	s.ended = last
	return s.options.Keep(r)
}

func (s *Screen) Render() []string {
	s.lay()
	s.below = !s.text.AtEnd()
	return s.Split.Render()
}

// Type inserts text into the line, or into the commands of a task.
func (s *Screen) Type(text []rune) {
	if !s.editing {
		s.Split.Type(text)
	} else if !s.script.Insert(text) {
		s.host.Complain(s.phrase("there is no room for more"))
	}
}

// Mouse selects the pressed link, and follows it.
func (s *Screen) Mouse(x, y, wheel int) tea.Cmd {
	if wheel == 0 && !s.editing && !s.Typing() {
		if i := s.text.Top() + y - 1; y > 0 && i < len(s.page.lines) && s.page.lines[i].link >= 0 {
			s.link = s.page.lines[i].link
			return s.look()
		}
	}
	return s.Split.Mouse(x, y, wheel)
}

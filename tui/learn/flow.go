package learn

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/play"
	"github.com/kx-apiserver/kx/tui/screen"
)

// state is the progress of a part.
type state int

const (
	waiting state = iota
	working
	done
	failed
	passed // the learner passed over it
)

// entry is the state and outcome of a part.
type entry struct {
	state    state
	outcome  play.Outcome
	err      error
	live     string // its output so far
	replayed bool
	ended    time.Time
	// asides holds the commands that the learner typed before the part.
	asides []typedCommand
	// reading holds the steps of a Reading, once they are found.
	reading []readingLink
	// journey and target are the request that a Show opened, and its place.
	journey string
	target  screen.Target

	// For a task: the learner's commands, whether they ran, the number of hints taken, and whether the solution was
	// shown.
	script   string
	tried    bool
	hints    int
	solution bool
	news     news
}

// news is the newest text before or in a part, to scroll to.
type news int

const (
	ofNothing news = iota
	ofResults
	ofHelp  // a hint, or the solution
	ofAside // a command that the learner typed
)

// typedCommand is a command that the learner typed.
type typedCommand struct {
	line    string
	outcome play.Outcome
	err     error
	ended   bool
}

// part returns the next part; nil at the end.
func (s *Screen) part() lesson.Part {
	if s.next < len(s.options.Lesson.Parts) {
		return s.options.Lesson.Parts[s.next]
	}
	return nil
}

// at returns the entry of the next part, or of the end.
func (s *Screen) at() *entry { return &s.entries[s.next] }

// settle moves on to the part that needs the learner, and runs the parts on the way that do not.
func (s *Screen) settle() tea.Cmd {
	var cmd tea.Cmd
	for s.part() != nil && s.silent(s.next) {
		s.entries[s.next].state = done
		s.next++
	}
	switch part := s.part().(type) {
	case nil:
		s.recordEnd()
	case lesson.Starter:
		s.prepare(part)
		if s.quick {
			return s.skip(part)
		}
	case lesson.Expect, lesson.Show, lesson.Reading:
		if s.quick || !s.afterText() {
			cmd = s.do()
		}
	case lesson.Run, lesson.Release, lesson.Stop, lesson.Server:
		if s.quick && s.at().state == waiting {
			cmd = s.do()
		}
	}
	s.record.Next, s.record.At = s.next, s.place()
	s.reveal()
	return tea.Batch(cmd, s.keep())
}

// place names the learner's position: the next part that is no text, since texts have no names.
func (s *Screen) place() string {
	i := s.next
	for ; i < len(s.options.Lesson.Parts); i++ {
		if _, text := s.options.Lesson.Parts[i].(lesson.Text); !text {
			break
		}
	}
	return s.options.Lesson.Place(i)
}

// silent reports whether a part needs no action at its place: it is read, or belongs to another part.
func (s *Screen) silent(i int) bool {
	if s.leftOut(i) {
		return true
	}
	switch part := s.options.Lesson.Parts[i].(type) {
	case lesson.Text:
		return s.quick || part.Section() == ""
	case lesson.Hold, lesson.Fault, lesson.Hint, lesson.Solution:
		return true
	case lesson.Predict:
		return s.record.Answers[part.ID] > 0
	case lesson.Expect:
		_, ofTask := s.tasks[part.Of]
		return ofTask
	}
	return false
}

// leftOut reports whether a part refers to a run or task that was left out, because the machine lacks its needs.
func (s *Screen) leftOut(i int) bool {
	switch part := s.options.Lesson.Parts[i].(type) {
	case lesson.Run, lesson.Starter:
		return false
	default:
		return s.lacking[lesson.RunOf(part)] != ""
	}
}

// afterText reports whether there is text to read before the next part. A part right after a block runs without a
// key.
func (s *Screen) afterText() bool {
	if s.next == 0 {
		return false
	}
	_, text := s.options.Lesson.Parts[s.next-1].(lesson.Text)
	return text
}

// recordEnd records the end of the lesson; or of its questions alone, if tasks were skipped.
func (s *Screen) recordEnd() {
	at := &s.record.Done
	if len(s.record.Skipped) > 0 {
		at = &s.record.Answered
	}
	if *at == nil {
		now := time.Now()
		*at = &now
	}
}

// quicken switches whether the lesson stops only at its questions.
func (s *Screen) quicken() tea.Cmd {
	if s.quick = !s.quick; !s.quick {
		s.host.Say(s.phrase("the lesson stops everywhere again"))
		return nil
	}
	s.host.Say(s.phrase("the lesson stops at its questions alone, and leaves out the tasks: %s ends that", quickKey))
	if s.part() == nil || s.at().state == failed && !s.atTask() {
		return nil
	}
	return s.settle()
}

// skip leaves out a task while only the questions are wanted.
func (s *Screen) skip(part lesson.Starter) tea.Cmd {
	s.passBy(part)
	return s.settle()
}

// passBy moves on to the next part, and records a task that is left unsolved.
func (s *Screen) passBy(part lesson.Part) {
	if task, ok := part.(lesson.Starter); ok && !s.record.Solved[task.ID] {
		if s.record.Skipped == nil {
			s.record.Skipped = map[string]bool{}
		}
		s.record.Skipped[task.ID] = true
	}
	s.at().state = passed
	s.next++
}

// goOn handles the key that goes on: it turns to unread text, or does the next part.
func (s *Screen) goOn() tea.Cmd {
	s.lay()
	switch {
	case !s.text.AtEnd():
		s.turnPage()
		return nil
	case s.work != nil: // the line of state names the work
		return nil
	case s.play == nil:
		return s.open()
	case s.part() == nil:
		return s.askNext()
	}
	s.acted = s.next
	return s.do()
}

// do does the next part.
func (s *Screen) do() tea.Cmd {
	switch part := s.part().(type) {
	case lesson.Text: // the section begins
		s.at().state = done
		s.next++
		return s.settle()
	case lesson.Run:
		return s.doPart(s.phrase("runs the commands of this block"))
	case lesson.Release:
		return s.doPart(s.phrase("waits until what was held has ended"))
	case lesson.Stop:
		return s.doPart(s.phrase("waits until what ran in the background has ended"))
	case lesson.Server:
		return s.doPart(s.phrase("starts the lesson's server anew"))
	case lesson.Expect:
		return s.doPart(s.phrase("looks whether it is so, for up to %s", part.Within))
	case lesson.Predict:
		s.host.Say(s.phrase("answer first: press the number of an answer"))
	case lesson.Show:
		return s.show(part)
	case lesson.Reading:
		return s.read(part)
	case lesson.Starter:
		return s.attempt(part)
	}
	return nil
}

// passOver leaves a failed part, a task or a question as it is.
func (s *Screen) passOver() tea.Cmd {
	s.acted = s.next
	s.passBy(s.part())
	return s.proceed()
}

func (s *Screen) whyNotPass() string {
	_, question := s.part().(lesson.Predict)
	_, task := s.part().(lesson.Starter)
	switch {
	case s.work != nil:
		return "something is under way: esc stops it"
	case s.part() == nil || s.play == nil:
		return "there is nothing to pass over"
	case s.at().state != failed && !question && !task:
		return "it has not been done yet"
	}
	return ""
}

// answer records the number of an answer. If the answers are below the visible text, it scrolls to them instead.
func (s *Screen) answer(n int) tea.Cmd {
	question, ok := s.part().(lesson.Predict)
	if !ok {
		return nil
	}
	if !s.text.AtEnd() {
		s.toEnd()
		s.host.Say(s.phrase("the answers were below: press the number of yours"))
		return nil
	}
	if s.record.Answers == nil {
		s.record.Answers = map[string]int{}
	}
	s.acted = s.next + 1 // the question was read
	s.record.Answers[question.ID] = n
	return s.settle()
}

// whyNotAnswer returns the reason why there is no such answer.
func (s *Screen) whyNotAnswer(n int) string {
	question, ok := s.part().(lesson.Predict)
	switch {
	case !ok:
		return "no question is asked"
	case n > len(question.Answers):
		return s.phrase("there are %d answers", len(question.Answers))
	}
	return ""
}

// askNext asks whether to begin the next lesson.
func (s *Screen) askNext() tea.Cmd {
	ways := s.options.Ways
	switch len(ways) {
	case 0:
		s.host.Say(s.phrase("the lesson is over: q quits, %s begins anew", anewKey))
		return nil
	case 1:
		question := s.phrase("Go on to the next lesson, %s?", ways[0].Title)
		return s.host.Confirm(question, func() tea.Cmd { return s.leave(NextLesson, ways[0]) })
	}
	menu := screen.Menu{Title: s.phrase("Go on with which lesson?")}
	for _, way := range ways {
		menu.Choices = append(menu.Choices, screen.Choice{Title: way.Title, Help: s.titles(way.Tracks),
			Do: func() tea.Cmd { return s.leave(NextLesson, way) }})
	}
	return s.host.Choose(menu)
}

// titles lists tracks for the learner.
func (s *Screen) titles(tracks []lesson.Track) string {
	var titles []string
	for _, t := range tracks {
		titles = append(titles, s.host.Theme().Words.Text(t.Title()))
	}
	return strings.Join(titles, ", ")
}

// askRestart asks whether to begin anew.
func (s *Screen) askRestart() tea.Cmd {
	return s.host.Confirm(s.phrase("Begin the lesson anew, on a new server, without your answers?"), func() tea.Cmd {
		s.record = s.record.Restart()
		s.unkept = true
		return s.leave(Again, Way{})
	})
}

func (s *Screen) leave(after After, way Way) tea.Cmd {
	if s.options.Leave != nil {
		s.options.Leave(after, way)
	}
	return s.host.Quit()
}

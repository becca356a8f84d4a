package learn

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/play"
	"github.com/kx-apiserver/kx/tui/screen"
)

// task returns the next part's task; ok is false if that is no task.
func (s *Screen) task() (task lesson.Task, ok bool) {
	starter, ok := s.part().(lesson.Starter)
	return s.tasks[starter.ID], ok
}

// prepare sets the learner's commands to the task's first version, or to an earlier solution.
func (s *Screen) prepare(part lesson.Starter) {
	e := s.at()
	if e.script == "" {
		e.script, e.hints, e.solution = part.Script, s.record.Hints[part.ID], s.record.Looked[part.ID]
		if tried := s.record.Tries[part.ID]; tried != "" {
			e.script = tried
		}
	}
}

// attempt runs the learner's commands, and judges the result.
func (s *Screen) attempt(part lesson.Starter) tea.Cmd {
	i, e := s.next, s.at()
	if strings.TrimSpace(e.script) == "" {
		s.host.Complain(s.phrase("there are no commands to run: %s changes them", editKey))
		return nil
	}
	s.acted = i
	e.state, e.tried, e.outcome, e.err, e.live, e.news = working, true, play.Outcome{}, nil, "", ofResults
	s.reveal()
	try := func(ctx context.Context) (play.Outcome, error) { return s.try(ctx, part.ID, e.script) }
	return tea.Batch(s.host.Go(screen.ToNewest{}), start(s, s.phrase("runs your commands, and looks at what came of them"), i, try,
		func(o play.Outcome, err error) tea.Cmd {
			if !s.took(i, o, err) {
				return nil
			}
			if e.state == done {
				s.recordSolution(part.ID, e.script)
			}
			return s.proceed()
		}))
}

// try runs commands for a task, and judges the result until all holds or judgeFor is over.
func (s *Screen) try(ctx context.Context, task, script string) (play.Outcome, error) {
	const lookEvery = 100 * time.Millisecond
	o, err := s.play.Attempt(ctx, task, script)
	if err != nil || o.Lacks != "" {
		return o, err
	}
	for deadline := time.Now().Add(s.judging); ; {
		o.Results = nil
		for _, e := range s.tasks[task].Expects {
			results, err := s.play.Judge(ctx, e)
			if err != nil {
				return o, err
			}
			o.Results = append(o.Results, results...)
		}
		if o.OK() || !time.Now().Before(deadline) {
			return o, nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return o, context.Cause(ctx)
		}
	}
}

// recordSolution records the script that solved a task: later parts may depend on it.
func (s *Screen) recordSolution(task, script string) {
	if s.record.Solved == nil {
		s.record.Solved = map[string]bool{}
	}
	if s.record.Tries == nil {
		s.record.Tries = map[string]string{}
	}
	s.record.Solved[task], s.record.Tries[task] = true, script
	delete(s.record.Skipped, task)
}

func (s *Screen) whyNoTask() string {
	if _, ok := s.task(); !ok {
		return "there is no task here"
	}
	return s.whyBusy()
}

// whyBusy returns the reason why the play is unavailable now.
func (s *Screen) whyBusy() string {
	if s.work != nil {
		return "something is under way: esc stops it"
	}
	return s.whyNoServer()
}

func (s *Screen) whyNoServer() string {
	if s.play == nil {
		return "the lesson's server is not there"
	}
	return ""
}

// edit opens the commands of a task: in the line if the task begins with a single line and a single line solves it,
// otherwise in a text.
func (s *Screen) edit() {
	e := s.at()
	task, _ := s.task()
	several := func(script string) bool { return strings.Contains(strings.TrimRight(script, "\n"), "\n") }
	if script := strings.TrimRight(e.script, "\n"); !several(script) && !several(task.Solution.Script) {
		s.ofTask = true
		s.OpenLine()
		s.Line().Set(script)
		return
	}
	s.script.Reset(strings.TrimRight(e.script, "\n"))
	s.editing = true
}

// leaveText ends the editing of a text.
func (s *Screen) leaveText() {
	s.editing = false
	s.at().script = s.script.String()
	s.toEnd()
}

// sendText runs the commands of a task, even while they are being typed.
func (s *Screen) sendText() tea.Cmd {
	if s.editing {
		s.leaveText()
	}
	if part, ok := s.part().(lesson.Starter); ok {
		return s.attempt(part)
	}
	return s.repeat()
}

// whyNotSend returns the reason why no commands can run: those of a task, or those of a failed part once more.
func (s *Screen) whyNotSend() string {
	if why := s.whyBusy(); why != "" {
		return why
	}
	if _, ok := s.task(); !ok && s.at().state != failed {
		return "there is no task here"
	}
	return ""
}

// inEditor opens the commands of a task in the learner's editor.
func (s *Screen) inEditor() tea.Cmd {
	e := s.at()
	return s.host.Edit([]byte(e.script), ".sh", func(text []byte, err error) tea.Cmd {
		if err != nil {
			s.host.Complain(err.Error())
			return nil
		}
		e.script, e.news = strings.TrimRight(string(text), "\n"), ofNothing
		s.host.Say(s.phrase("the commands are as you saved them: %s runs them", goKey))
		s.toEnd()
		return nil
	})
}

func (s *Screen) whyNoHint() string {
	task, ok := s.task()
	switch {
	case !ok:
		return "there is no task here"
	case len(task.Hints) == 0:
		return "the task has no hints"
	case s.at().hints >= len(task.Hints):
		return s.phrase("all hints are shown: %s shows the solution", solutionKey)
	}
	return ""
}

// hint shows the next hint.
func (s *Screen) hint() tea.Cmd {
	task, _ := s.task()
	e := s.at()
	e.hints++
	e.news = ofHelp
	if s.record.Hints == nil {
		s.record.Hints = map[string]int{}
	}
	s.record.Hints[task.ID] = e.hints
	s.reveal()
	return s.keep()
}

// isSolution reports whether a script is the task's solution.
func isSolution(task lesson.Task, script string) bool {
	return strings.TrimRight(script, "\n") == strings.TrimRight(task.Solution.Script, "\n")
}

func (s *Screen) whyNoSolution() string {
	task, ok := s.task()
	switch {
	case !ok:
		return "there is no task here"
	case s.at().hints < len(task.Hints):
		return s.phrase("there are hints first: %s shows one", hintKey)
	}
	return ""
}

// showSolution shows the task's solution, and then makes it the learner's commands.
func (s *Screen) showSolution() tea.Cmd {
	task, _ := s.task()
	e := s.at()
	if e.solution && !isSolution(task, e.script) {
		e.script, e.news = task.Solution.Script, ofHelp
		s.host.Say(s.phrase("the solution is in your commands now: %s runs them", goKey))
		s.toEnd()
		return nil
	}
	e.solution, e.news = true, ofHelp
	s.reveal()
	if s.record.Solved[task.ID] {
		return nil
	}
	if s.record.Looked == nil {
		s.record.Looked = map[string]bool{}
	}
	s.record.Looked[task.ID] = true
	return s.keep()
}

package learn

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/keys"
)

// The keys that sentences name.
var (
	goKey       = keys.Switch.Key()
	editKey     = keys.Edit.Key()
	sendKey     = keys.Send.Key()
	hintKey     = keys.Hint.Key()
	solutionKey = keys.Solution.Key()
	passKey     = keys.PassOver.Key()
	quickKey    = keys.QuestionsOnly.Key()
	anewKey     = keys.Anew.Key()
	fullKey     = keys.Hidden.Key()
	lookKey     = keys.TheStep.Key()
	sourceKey   = keys.Code.Key()
	nextKey     = keys.Next.Key()
)

// answersMost limits the answers of a question.
const answersMost = 9

func (s *Screen) Commands() []keys.Command {
	return slices.Concat(s.partCommands(), s.taskCommands(), s.linkCommands(), s.answerCommands(), s.typingCommands())
}

// partCommands step through the lesson.
func (s *Screen) partCommands() []keys.Command {
	places := []keys.Context{textPlace, questionPlace}
	return []keys.Command{
		{ID: "lesson.go", Meaning: keys.Switch, Contexts: places, Next: s.nextHint, Do: s.goOn,
			Help: "Go on: read what comes next, or run the next block of the lesson. After a failure, try it again. enter does so too."},
		{ID: "lesson.shell", Meaning: keys.Shell, Contexts: places, Hint: "shell", WhyNot: s.whyNoServer, Do: keys.Call(s.openShell),
			Help: "Type any command. It runs in the lesson's directory and against its server; what it prints stands in the lesson."},
		{ID: "lesson.pass", Meaning: keys.PassOver, Contexts: places, WhyNot: s.whyNotPass, Do: s.passOver,
			Help: "Go on without a part that failed, a task or a question."},
		{ID: "lesson.questions", Meaning: keys.QuestionsOnly, Contexts: places, WhyNot: s.whyNoServer, Do: s.quicken,
			Help: "Stop at the questions alone: the rest runs by itself, tasks are left out, the lesson is not done so. Again: stop " +
				"everywhere."},
		{ID: "lesson.full", Meaning: keys.Hidden, Contexts: places, Do: keys.Call(s.unfold),
			Help: "Show long outputs as a whole, or their beginning and end alone."},
		{ID: "lesson.anew", Meaning: keys.Anew, Contexts: places, Do: s.askRestart,
			Help: "Begin the lesson anew: on a new server, without what you have done and answered. It asks first."},
	}
}

// taskCommands work on a task.
func (s *Screen) taskCommands() []keys.Command {
	places := []keys.Context{textPlace}
	return []keys.Command{
		{ID: "lesson.edit", Meaning: keys.Edit, Contexts: places, Hint: "edit", WhyNot: s.whyNoTask, Do: keys.Call(s.edit),
			Help: "Change the commands of the task."},
		{ID: "lesson.editor", Meaning: keys.InEditor, Contexts: places, WhyNot: s.whyNoTask, Do: s.inEditor,
			Help: "Change the commands of the task in your editor."},
		{ID: "lesson.send", Meaning: keys.Send, Contexts: []keys.Context{textPlace, scriptText}, Hint: "run",
			WhyNot: s.whyNotSend, Do: s.sendText,
			Help: "Run the commands of the task, and see what holds then. After a failure: run the commands of the block once more."},
		{ID: "lesson.hint", Meaning: keys.Hint, Contexts: places, Hint: "hint", WhyNot: s.whyNoHint, Do: s.hint,
			Help: "Show the next hint for the task."},
		{ID: "lesson.solution", Meaning: keys.Solution, Contexts: places, WhyNot: s.whyNoSolution, Do: s.showSolution,
			Help: "Show what solves the task, once all of its hints are shown. Again: put it into your commands."},
	}
}

// linkCommands open links on the screen beside the lesson.
func (s *Screen) linkCommands() []keys.Command {
	places := []keys.Context{textPlace, questionPlace}
	return []keys.Command{
		{ID: "lesson.look", Meaning: keys.TheStep, Contexts: places, Hint: "look", WhyNot: s.whyNoLink, Do: s.look,
			Help: "Open the request at the mark > on the screen beside the lesson, at its step."},
		{ID: "lesson.source", Meaning: keys.Code, Contexts: places, WhyNot: s.whyNoSource, Do: s.lookAtSource,
			Help: "Open the source of the step at the mark > on the screen beside the lesson."},
		{ID: "lesson.next", Meaning: keys.Next, Contexts: places, WhyNot: s.whyNoLink, Do: keys.Bind(s.turnLink, 1),
			Help: "Move the mark > to the next request or function that the lesson shows. After the last comes the first."},
		{ID: "lesson.previous", Meaning: keys.Previous, Contexts: places, WhyNot: s.whyNoLink, Do: keys.Bind(s.turnLink, -1),
			Help: "Move the mark > to the request or function before."},
	}
}

// answerCommands answer a question, each with a number.
func (s *Screen) answerCommands() []keys.Command {
	var all []keys.Command
	for n := 1; n <= answersMost; n++ {
		title := fmt.Sprintf("answer with %d", n)
		all = append(all, keys.Command{
			ID: keys.ID(fmt.Sprintf("lesson.answer-%d", n)), Meaning: keys.Meaning{Title: title, Keys: []string{fmt.Sprint(n)}},
			Contexts: []keys.Context{questionPlace}, WhyNot: keys.Bind(s.whyNotAnswer, n), Do: keys.Bind(s.answer, n),
			Help: "Answer the question of the lesson with the answer of that number.",
		})
	}
	return all
}

// typingCommands apply where the learner types.
func (s *Screen) typingCommands() []keys.Command {
	line, text := []keys.Context{commandLine}, []keys.Context{scriptText}
	return []keys.Command{
		{ID: "lesson.accept", Meaning: keys.Accept, Contexts: line, Hint: "run", Do: s.accept, Help: "Run the command."},
		{ID: "lesson.newline", Meaning: keys.NewLine, Contexts: text, Do: keys.Call(func() { s.script.Newline() }),
			Help: "Begin a new line."},
		{ID: "lesson.indent", Meaning: keys.Indent, Contexts: text, Do: keys.Call(func() { s.Type([]rune("  ")) }),
			Help: "Insert two spaces."},
		{ID: "lesson.undo", Meaning: keys.Undo, Contexts: text, Do: keys.Call(func() { s.script.Undo() }),
			Help: "Undo the last change of the commands."},
		{ID: "lesson.redo", Meaning: keys.Redo, Contexts: text, Do: keys.Call(func() { s.script.Redo() }),
			Help: "Redo the change that was undone last."},
		{ID: "lesson.page-down", Meaning: keys.PageDown, Contexts: text, Do: keys.Call(func() { s.script.Handle(keys.HalfDown) }),
			Help: "Go down half a page."},
		{ID: "lesson.page-up", Meaning: keys.PageUp, Contexts: text, Do: keys.Call(func() { s.script.Handle(keys.HalfUp) }),
			Help: "Go up half a page."},
	}
}

// nextHint returns the hint for the key that goes on.
func (s *Screen) nextHint() string {
	switch {
	case s.work != nil:
		return ""
	case s.play == nil:
		return "try again"
	case !s.text.AtEnd():
		return "read more"
	case s.at().state == failed && !s.atTask():
		return "try again"
	}
	switch s.part().(type) {
	case nil:
		if len(s.options.Ways) == 0 {
			return ""
		}
		return "next lesson"
	case lesson.Run, lesson.Starter:
		return "run it"
	case lesson.Release:
		return "let it go on"
	case lesson.Stop:
		return "stop it"
	case lesson.Server:
		return "start the server"
	case lesson.Predict:
		return ""
	}
	return "go on"
}

func (s *Screen) atTask() bool {
	_, ok := s.task()
	return ok
}

// openShell opens the line for any command.
func (s *Screen) openShell() {
	s.ofTask, s.recalled = false, len(s.history)
	s.OpenLine()
	s.Line().Set("")
}

// accept runs what was typed into the line.
func (s *Screen) accept() tea.Cmd {
	line := s.Line().String()
	if why := s.whyBusy(); why != "" { // the line stays
		s.host.Complain(why)
		return nil
	}
	s.CloseLine()
	if !s.ofTask {
		return s.runLine(line)
	}
	part, ok := s.part().(lesson.Starter)
	if !ok {
		return nil
	}
	s.at().script = line
	return s.attempt(part)
}

// Handle runs the commands that all screens share.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	switch {
	case s.editing && id == keys.Back:
		s.leaveText()
		return nil, true
	case s.editing:
		return nil, s.script.Handle(id)
	case s.Typing():
		return s.inLine(id)
	}
	switch id {
	case keys.Left, keys.Right: // the lines fit
		return nil, false
	case keys.Open:
		return s.goOn(), true
	case keys.Back:
		if s.stop() {
			return nil, true
		}
	case keys.Copy:
		text := s.copyText()
		if text == "" {
			return nil, false
		}
		return s.host.Copy(text), true
	}
	return s.Split.Handle(id)
}

// inLine edits the line, or recalls an earlier command. Leaving the line keeps a text for a task.
func (s *Screen) inLine(id keys.ID) (tea.Cmd, bool) {
	switch {
	case id == keys.Back && s.ofTask:
		s.at().script = s.Line().String()
	case !s.ofTask && id == keys.Up && s.recalled > 0:
		s.recalled--
		s.Line().Set(s.history[s.recalled])
		return nil, true
	case !s.ofTask && id == keys.Down && s.recalled < len(s.history):
		if s.recalled++; s.recalled == len(s.history) {
			s.Line().Set("")
		} else {
			s.Line().Set(s.history[s.recalled])
		}
		return nil, true
	}
	return s.Split.Handle(id)
}

// copyText returns the text to copy: the commands of the next part, or else of the last part with commands.
func (s *Screen) copyText() string {
	for i := min(s.next, len(s.options.Lesson.Parts)-1); i >= 0; i-- {
		switch part := s.options.Lesson.Parts[i].(type) {
		case lesson.Run:
			return part.Script
		case lesson.Starter:
			return strings.TrimRight(s.entries[i].script, "\n")
		}
	}
	return ""
}

package learn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/play"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/source"
)

// layRun draws commands with their output.
func (s *Screen) layRun(i int, part lesson.Run, e *entry) {
	p := &s.page
	if i == s.next && e.state == waiting {
		p.say("", s.phrase("%s runs:", goKey), p.look.Key)
	}
	s.layCommands(part.Script, e.state, scriptMost)
	if e.outcome.Lacks != "" {
		s.layLacks(e)
		return
	}
	if e.state == working && e.live != "" {
		s.layOutput(e.live)
		return
	}
	s.layOutput(e.outcome.Output)
	switch {
	case e.state == working:
		p.say("  ", s.phrase("it runs"), p.look.Notice)
	case e.state == done && e.outcome.Running:
		p.say("  ", s.phrase("it runs on in the background"), p.look.Notice)
	case e.state == done:
		s.layExit(e)
	}
	for _, held := range e.outcome.Held {
		n := p.add(link{journey: held})
		p.sayLink("‖ ", s.phrase("%s is held now", held), p.look.Notice, n)
	}
	s.layTrouble(i, e)
}

// layExit draws how commands ended, and after what time.
func (s *Screen) layExit(e *entry) {
	took := draw.Duration(e.outcome.Took)
	if e.outcome.Exit < 0 { // a signal
		s.page.say("  ", s.phrase("interrupted after %s", took), s.page.look.Dim)
		return
	}
	s.page.say("  ", s.phrase("exit code %d, after %s", e.outcome.Exit, took), s.page.look.Dim)
}

// layLacks draws the reason why a part was left out.
func (s *Screen) layLacks(e *entry) {
	what := s.host.Theme().Words.Text(e.outcome.Lacks)
	s.page.say("  ", s.phrase("Left out: it needs %s, and that is not on this machine.", what), s.page.look.Notice)
}

// layTrouble draws the reason why a part is not done, with the next steps.
func (s *Screen) layTrouble(i int, e *entry) {
	p := &s.page
	switch {
	case errors.Is(e.err, errStopped):
		p.say("", s.phrase("You stopped it. %s tries again.", goKey), p.look.Notice)
		return
	case e.err != nil:
		p.say("✗ ", s.phrase("It did not go as it must: %s", e.err.Error()), p.look.Bad)
	}
	switch {
	case e.state == passed && e.err != nil || e.state == passed && len(e.outcome.Results) > 0:
		p.say("", s.phrase("You passed over it."), p.look.Dim)
	case e.state == failed && i == s.next && s.runOfNext() != "":
		p.say("", s.phrase("%s looks again, %s runs the commands once more, %s passes over it.", goKey, sendKey, passKey), nil)
	case e.state == failed && i == s.next:
		p.say("", s.phrase("%s tries again, %s passes over it.", goKey, passKey), nil)
	}
}

// layWait draws a part in one sentence: what was done, or what the key will do.
func (s *Screen) layWait(i int, e *entry, was, will string) {
	p := &s.page
	switch e.state {
	case done:
		p.say("‖ ", was, p.look.Notice)
		s.layOutput(e.outcome.Output)
		if e.outcome.Took > 0 {
			s.layExit(e)
		}
	default:
		p.say("", will, p.look.Key)
	}
	s.layTrouble(i, e)
}

// layServer draws a new start of the lesson's server, with its flags.
func (s *Screen) layServer(i int, part lesson.Server, e *entry) {
	was, will := s.phrase("The server began anew, without flags."), s.phrase("%s starts the lesson's server anew on the same data.", goKey)
	elsewhere := func(flag string) bool { return strings.HasPrefix(flag, "--etcd-servers=") }
	switch {
	case slices.ContainsFunc(part.Flags, elsewhere):
		was = s.phrase("The server began anew, on another etcd:")
		will = s.phrase("%s starts the lesson's server anew, on another etcd:", goKey)
	case len(part.Flags) > 0:
		was = s.phrase("The server began anew, with")
		will = s.phrase("%s starts the lesson's server anew on the same data, with", goKey)
	}
	p := &s.page
	if e.state == done {
		p.say("‖ ", was, p.look.Notice)
	} else {
		p.say("", will, p.look.Key)
	}
	for _, flag := range part.Flags {
		p.verbatim("  ", flag, p.look.Layer)
	}
	s.layTrouble(i, e)
}

// background returns the last line of a run's commands, as long as fits beside a few words.
func (s *Screen) background(id string) string {
	run := s.options.Lesson.Run(id)
	if run == nil {
		return id
	}
	lines := strings.Split(strings.TrimSpace(run.Script), "\n")
	return draw.Clean(ansi.Truncate(lines[len(lines)-1], s.page.w, draw.Ellipsis))
}

// layQuestion draws a question with its answers.
func (s *Screen) layQuestion(i int, part lesson.Predict, e *entry) {
	p := &s.page
	p.say("? ", part.Question, p.look.Title)
	given := s.record.Answers[part.ID]
	for n, answer := range part.Answers {
		sign := fmt.Sprintf("  %d  ", n+1)
		if given == n+1 {
			p.say(fmt.Sprintf("* %d  ", n+1), answer, p.look.Notice)
			continue
		}
		p.say(sign, answer, nil)
	}
	switch {
	case given > 0 && s.revealed(part.ID):
	case given > 0:
		p.say("  ", s.phrase("* is your answer. The requests will tell."), p.look.Dim)
	case e.state == passed:
		p.say("  ", s.phrase("You passed over it."), p.look.Dim)
	case i == s.next && s.play != nil:
		p.say("", s.phrase("Press the number of your answer."), p.look.Key)
	}
}

// revealed reports whether the answer to a question was shown.
func (s *Screen) revealed(id string) bool {
	for i, part := range s.options.Lesson.Parts {
		if expect, ok := part.(lesson.Expect); ok && expect.Reveal == id && s.entries[i].state == done {
			return true
		}
	}
	return false
}

// layExpect draws the answer to the question that an expectation reveals, and its conditions.
func (s *Screen) layExpect(i int, part lesson.Expect, e *entry) {
	p := &s.page
	if e.state == done && part.Reveal != "" {
		s.layAnswer(part.Reveal)
	}
	switch {
	case len(e.outcome.Results) > 0:
		s.layResults(e.outcome.Results)
	case e.state == waiting && i == s.next && e.err == nil:
		p.say("", s.phrase("%s looks whether this is so:", goKey), p.look.Key)
		s.layConditions(part.Conditions)
	default:
		s.layConditions(part.Conditions)
	}
	s.layTrouble(i, e)
}

func (s *Screen) layConditions(all []lesson.Condition) {
	for _, c := range all {
		s.page.say("· ", c.Text, s.page.look.Dim)
	}
}

// layResults draws judged conditions, each with the result and the request to look at.
func (s *Screen) layResults(all []play.Result) {
	p := &s.page
	if len(all) > 1 && !s.full && (play.Outcome{Results: all}).OK() {
		n := -1
		for _, r := range all {
			if n = s.linkOf(r); n >= 0 {
				break
			}
		}
		p.sayLink("✓ ", s.phrase("holds, all %d: %s shows them", len(all), fullKey), p.look.Good, n)
		return
	}
	for _, r := range all {
		n := s.linkOf(r)
		if r.OK {
			p.sayLink("✓ ", s.phrase("holds: %s", r.Condition.Text), p.look.Good, n)
			continue
		}
		p.sayLink("✗ ", s.phrase("fails: %s", r.Condition.Text), p.look.Bad, n)
		p.say("    ", s.short(s.phrase("seen: %s", s.saw(r))), nil)
		if n >= 0 {
			p.say("    ", s.phrase("look at %s: %s opens it", r.Journeys[len(r.Journeys)-1].Name, lookKey), p.look.Dim)
		}
	}
}

// linkOf makes a link to the newest request of a result, and returns its index; -1 if there is none.
func (s *Screen) linkOf(r play.Result) int {
	k := len(r.Journeys)
	if k == 0 {
		return -1
	}
	return s.page.add(link{journey: r.Journeys[k-1].Name, bad: !r.OK})
}

// short cuts a long text after a few lines, unless everything is unfolded.
func (s *Screen) short(text string) string {
	const lines = 3
	if s.full {
		return text
	}
	return ansi.Truncate(draw.Clean(text), lines*s.page.w, draw.Ellipsis)
}

// saw describes the result of a condition. It translates the words of kx.
func (s *Screen) saw(r play.Result) string {
	switch {
	case r.Condition.Kind != lesson.Requests:
		return s.host.Theme().Words.Text(r.Saw)
	case r.Found == 1:
		return s.phrase("1 request")
	case r.Found > 0:
		return s.phrase("%d requests", r.Found)
	}
	return r.None(s.phrase)
}

// layAnswer draws the learner's answer beside the result.
func (s *Screen) layAnswer(id string) {
	p := &s.page
	for _, part := range s.options.Lesson.Parts {
		q, ok := part.(lesson.Predict)
		if !ok || q.ID != id {
			continue
		}
		p.gap()
		given, right := s.record.Answers[id], q.Answers[q.Answer-1]
		switch {
		case given == q.Answer:
			p.say("✓ ", s.phrase("You said %d, and that is right: %s", given, right), p.look.Good)
		case given > 0:
			p.say("✗ ", s.phrase("You said %d: %s", given, q.Answers[given-1]), p.look.Notice)
			p.say("  ", s.phrase("It is %d: %s", q.Answer, right), p.look.Title)
		default:
			p.say("  ", s.phrase("It is %d: %s", q.Answer, right), p.look.Title)
		}
	}
}

// layShow draws the link to the request that a part opens.
func (s *Screen) layShow(i int, part lesson.Show, e *entry) {
	p := &s.page
	if e.state == waiting && i == s.next && e.err == nil {
		p.say("", s.phrase("%s shows the request.", goKey), p.look.Key)
		return
	}
	n := -1
	if e.journey != "" {
		n = p.add(link{journey: e.journey, step: part.Step, tab: part.Tab, target: e.target})
		what := e.journey
		if part.Step != "" {
			what += "  " + part.Step
		}
		p.sayLink("→ ", s.phrase("beside the text: %s", what), p.look.Key, n)
	}
	if part.Say != "" {
		p.say("  ", part.Say, nil)
	}
	s.layTrouble(i, e)
}

// layRead draws functions worth reading: kx's own and the upstream ones.
func (s *Screen) layRead(i int, part lesson.Reading, e *entry) {
	p := &s.page
	if e.state != done {
		if i == s.next {
			p.say("", s.phrase("%s shows which functions are worth reading.", goKey), p.look.Key)
		}
		s.layTrouble(i, e)
		return
	}
	p.say("", s.phrase("Worth reading (%s opens the source, %s goes to the next):", sourceKey, nextKey), p.look.Title)
	for _, r := range e.reading {
		if r.step == nil {
			why := s.phrase("the requests did not have it")
			if r.err != nil {
				why = r.err.Error()
			}
			p.say("  ", r.id+": "+why, p.look.Notice)
			continue
		}
		step := r.step
		at := source.PlaceOf(r.whole, step, p.look.Words)
		n := p.add(link{journey: r.journey, step: r.id, source: &screen.ToSource{
			File: at.File, Line: at.Line, Function: at.Function,
			Upstream: at.Upstream, UpstreamFile: at.UpstreamFile, Release: at.Release, Because: at.Because,
		}})
		p.sayLink("→ ", r.id+"  "+at.Function, p.look.Key, n)
		p.verbatim("    ", fmt.Sprintf("%s:%d", at.File, at.Line), nil)
		if step.Upstream != "" {
			p.say("    ", s.phrase("upstream: %s", step.Upstream), nil)
			p.verbatim("    ", step.UpstreamFile, p.look.Dim)
		}
	}
}

const (
	// scriptMost limits the lines of a lesson's commands, unless they are unfolded.
	scriptMost = 8
	// scriptOver limits them once the commands have run.
	scriptOver = 2
)

// layCommands draws the commands of a part: at most most lines until the part ends, and fewer after that.
func (s *Screen) layCommands(script string, state state, most int) {
	p := &s.page
	lines := strings.Split(strings.TrimRight(script, "\n"), "\n")
	if state == done || state == passed {
		most = min(most, scriptOver)
	}
	if hidden := len(lines) - most; hidden > 1 && !s.full {
		p.layScript(strings.Join(lines[:most], "\n"))
		p.say("│ ", s.phrase("… %d more lines: %s shows them", hidden, fullKey), p.look.Dim)
		return
	}
	p.layScript(script)
}

// layTask draws a task: its commands, the hints and the solution so far, and the result of the last try.
func (s *Screen) layTask(i int, part lesson.Starter, e *entry) {
	p := &s.page
	task := s.tasks[part.ID]
	script := e.script
	if script == "" {
		script = part.Script
	}
	p.say("", s.phrase("Your commands:"), p.look.Title)
	s.layCommands(script, e.state, len(script))
	if e.outcome.Lacks != "" {
		s.layLacks(e)
		return
	}
	if e.state == working && e.live != "" {
		s.layOutput(e.live)
	} else {
		s.layOutput(e.outcome.Output)
	}
	switch {
	case e.state == working:
		p.say("  ", s.phrase("it runs"), p.look.Notice)
	case e.tried && e.outcome.Exit != 0:
		p.say("  ", s.phrase("exit code %d", e.outcome.Exit), p.look.Dim)
	}
	if len(e.outcome.Results) > 0 {
		p.gap()
		if i == s.next && e.news == ofResults {
			p.news = len(p.lines)
		}
		s.layResults(e.outcome.Results)
	} else if i == s.next && !e.tried {
		s.layChecks(task)
	}
	for n, hint := range task.Hints[:min(e.hints, len(task.Hints))] {
		p.gap()
		if i == s.next && e.news == ofHelp {
			p.news = len(p.lines)
		}
		p.say("* ", s.phrase("Hint %d of %d: %s", n+1, len(task.Hints), joinLines(hint.Text)), p.look.Notice)
	}
	if e.solution {
		p.gap()
		if i == s.next && e.news == ofHelp {
			p.news = len(p.lines)
		}
		p.say("= ", s.phrase("The solution:"), p.look.Notice)
		p.layScript(task.Solution.Script)
	}
	p.gap()
	if i == s.acted && e.state == done && e.news == ofResults {
		p.news = len(p.lines)
	}
	switch {
	case e.state == done && s.record.Looked[part.ID]:
		p.say("= ", s.phrase("Done, with the solution."), p.look.Notice)
	case e.state == done && e.replayed:
		p.say("✓ ", s.phrase("You have solved it before."), p.look.Good)
	case e.state == done:
		p.say("✓ ", s.phrase("Solved."), p.look.Good)
	case e.state == passed:
		p.say("", s.phrase("You passed over it."), p.look.Dim)
	case i == s.next && e.state != working && s.play != nil:
		s.layTaskKeys(task, e)
	}
}

// checksMost limits the checks of a task that are shown before the first try, unless they are unfolded.
const checksMost = 2

// layChecks lists the conditions of a task.
func (s *Screen) layChecks(task lesson.Task) {
	var all []lesson.Condition
	for _, expect := range task.Expects {
		all = append(all, expect.Conditions...)
	}
	if len(all) > checksMost && !s.full {
		s.page.say("", s.phrase("What you see is checked in %d ways: %s shows them.", len(all), fullKey), nil)
		return
	}
	s.page.say("", s.phrase("This must be so then:"), nil)
	s.layConditions(all)
}

// layTaskKeys lists the learner's options for a task.
func (s *Screen) layTaskKeys(task lesson.Task, e *entry) {
	p := &s.page
	switch {
	case errors.Is(e.err, errStopped):
		p.say("", s.phrase("You stopped it."), p.look.Notice)
	case e.err != nil:
		p.say("✗ ", s.phrase("It did not go as it must: %s", e.err.Error()), p.look.Bad)
	}
	text := s.phrase("%s changes the commands, %s runs them.", editKey, goKey)
	switch left := len(task.Hints) - e.hints; {
	case left > 0:
		text += " " + s.phrase("%s shows a hint (%d left).", hintKey, left)
	case !e.solution:
		text += " " + s.phrase("%s shows the solution.", solutionKey)
	case !isSolution(task, e.script):
		text += " " + s.phrase("%s puts the solution into your commands.", solutionKey)
	}
	if e.tried {
		text += " " + s.phrase("%s passes over it.", passKey)
	}
	p.say("", text, p.look.Key)
}

// joinLines joins the lines of a text.
func joinLines(text string) string { return strings.Join(strings.Fields(text), " ") }

// layEnd draws the end of the lesson, with the learner's results.
func (s *Screen) layEnd() {
	p := &s.page
	asked, right, tasks, solved, looked := 0, 0, 0, 0, 0
	for _, part := range s.options.Lesson.Parts {
		switch part := part.(type) {
		case lesson.Predict:
			asked++
			if s.record.Answers[part.ID] == part.Answer {
				right++
			}
		case lesson.Starter:
			tasks++
			switch {
			case s.record.Looked[part.ID]:
				looked++
			case s.record.Solved[part.ID]:
				solved++
			}
		}
	}
	p.say("✓ ", s.phrase("The lesson is over."), p.look.Good)
	if learned := s.options.Lesson.Learned; learned != "" {
		p.say("  ", s.phrase("What you have learned: %s", learned), nil)
	}
	if asked > 0 {
		p.say("  ", s.phrase("You predicted %d of %d.", right, asked), nil)
	}
	switch left := len(s.record.Skipped); {
	case left > 0:
		p.say("  ", s.phrase("You solved %d of %d tasks and left out %d: it is not done yet.", solved, tasks, left), p.look.Notice)
	case tasks > 0:
		p.say("  ", s.phrase("You solved %d of %d tasks.", solved, tasks), nil)
	}
	if looked > 0 {
		p.say("  ", s.phrase("You looked at the solution of %d.", looked), nil)
	}
	for _, t := range s.options.Tracks {
		s.layTrack(t)
	}
	switch ways := s.options.Ways; len(ways) {
	case 0:
	case 1:
		p.say("  ", s.phrase("Next: %s. %s goes there.", ways[0].Title, goKey), p.look.Key)
	default:
		for _, way := range ways {
			p.say("  ", s.phrase("Next for %s: %s", s.titles(way.Tracks), way.Title), nil)
		}
		p.say("  ", s.phrase("%s asks which.", goKey), p.look.Key)
	}
	p.say("  ", s.phrase("%s begins this lesson anew; q quits.", anewKey), p.look.Dim)
}

// layTrack draws the learner's progress on a track of the lesson, or what they know at its end.
func (s *Screen) layTrack(t play.Track) {
	p := &s.page
	if s.record.Done != nil {
		t.Done, t.Left = t.Done+1, t.Left-s.options.Lesson.Minutes
	}
	words := p.look.Words
	title := words.Text(t.Title())
	if t.Done < t.Lessons || t.Lessons == 0 {
		p.say("  ", s.phrase("%s: %d of %d lessons done, %d of %d min to go.", title, t.Done, t.Lessons, t.Left, t.Minutes), p.look.Dim)
		if slices.Contains(s.options.Ends, t.Track) {
			p.say("  ", s.phrase("It ends here; kx learn --track %s lists what you have left out.", string(t.Track)), p.look.Notice)
		}
		return
	}
	p.say("✓ ", s.phrase("Congratulations, you have done all of \"%s\": you know %s.", title, words.Text(t.Outcome())), p.look.Good)
	p.say("  ", s.phrase("Next: %s.", words.Text(t.Next())), nil)
}

// Foot returns the work that runs, or the action that the lesson waits for.
func (s *Screen) Foot() (sameAs, state string) {
	look := s.host.Theme()
	switch {
	case s.work != nil:
		took := time.Since(s.work.began).Round(time.Second)
		state = look.Notice(" ~ " + s.phrase("kx %s (%s): esc stops it", s.work.what, took))
	case s.failed != nil:
		state = look.Bad(" ! " + s.phrase("the lesson's server is not there: %s tries again", goKey))
	case s.at().state == failed && !s.atTask():
		state = look.Bad(" ! " + s.phrase("not as expected: %s tries again, %s passes over it", goKey, passKey))
	}
	return "", state
}

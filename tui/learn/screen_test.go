package learn

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/play"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/theme"
)

const small = "testdata/small.md"

// shown is what the lesson shows, as a whole.
func shown(h *screentest.Host, s *Screen) string {
	frame := strings.Join(h.Frame(72, 200), "\n")
	h.Size(72, 200)
	return frame
}

// golden keeps what is shown at the width that a lesson has on a terminal of 120x40.
func golden(t *testing.T, h *screentest.Host, s *Screen, name string) {
	t.Helper()
	h.Size(48, 36)
	s.reveal()
	lines := h.Frame(48, 36)
	_, state := s.Foot()
	screentest.Golden(t, "testdata/golden/"+name+"-120x40", strings.Join(append(lines, strings.TrimRight(state, " ")), "\n")+"\n")
	h.Size(72, 56)
	s.reveal()
}

// shows fails the test unless all texts are shown at the widths that a lesson has on terminals of the usual sizes.
func shows(t *testing.T, h *screentest.Host, s *Screen, texts ...string) {
	t.Helper()
	for name, size := range map[string][2]int{"80x24": {80, 20}, "120x40": {48, 36}, "200x60": {72, 56}} {
		h.Size(size[0], size[1])
		s.reveal()
		lines := h.Frame(size[0], size[1])
		_, state := s.Foot()
		screentest.Has(t, name, append(lines, state), texts...)
	}
	h.Size(72, 56)
	s.reveal()
}

// TestGolden plays the lesson, and looks at it wherever it wants something.
func TestGolden(t *testing.T) {
	h, s, f := began(t, small, nil)
	h.Size(72, 56)
	shows(t, h, s, "One update, and who lost", "0 of 7 done", "`store.try-update` says who was late.", "space runs:", "$ kx create configmap demo --from-literal=color=red")
	f.during = func() {
		f.output("put", "configmap/demo created\n")
		h.Run(s.Drain())
		shows(t, h, s, "configmap/demo created", "~ kx runs the commands of this block (0s): esc stops it")
		f.during = nil
	}
	h.Press(" ")
	shows(t, h, s, "1 of 7 done", "? Who notices that old.yaml is old?", "3 the watch cache", "Press the number of your answer.")
	f.wrong = true
	h.Press("1")
	golden(t, h, s, "failed")
	f.wrong = false
	h.Press(" ")
	shows(t, h, s, "✗ You said 1: etcd", "It is 2: the registry", "✓ holds, all 3: . shows them", "> → beside the text: 642e7f-14", "space goes on to: Your turn")
	h.Press(" ", "*", " ")
	shows(t, h, s, "4 of 7 done", "Your commands:", "> ✗ fails: 1 verb:patch name:demo code:409", "seen: requests since the run began: 3", "* Hint 1 of 2:")
	h.Press("e")
	shows(t, h, s, "Your commands:", `"black"}}'▏`)
	h.Press("esc", "*", "=")
	h.Press("e")
	h.Type(" # resourceVersion")
	h.Press("enter", " ", " ")
	golden(t, h, s, "debrief")
}

// TestStory plays the lesson by its keys, with a wrong answer, a hint and a wrong try.
func TestStory(t *testing.T) {
	var kept []play.Record
	var after []After
	h, s, f := began(t, small, func(o *Options) {
		o.Keep = func(r play.Record) error { kept = append(kept, r); return nil }
		o.Leave = func(a After, _ Way) { after = append(after, a) }
	})
	h.Size(72, 60)
	if text := shown(h, s); strings.Contains(text, "Who notices") || !strings.Contains(text, "space runs:") {
		t.Errorf("before the first block:\n%s", text)
	}
	h.Press("enter")
	if len(f.ran) != 1 || s.Context() != questionPlace {
		t.Fatalf("ran %q, in %s", f.ran, s.Context())
	}
	if text := shown(h, s); strings.Contains(text, "✓ holds") || strings.Contains(text, "It is 2") {
		t.Errorf("the answer is shown before the question is answered:\n%s", text)
	}
	h.Press("4", " ")
	if len(h.Complained) != 1 || len(h.Said) != 1 || s.record.Answers["who"] != 0 {
		t.Errorf("an answer that there is not: %q %q", h.Complained, h.Said)
	}
	h.Press("1") // wrong; what follows is done by itself
	text := shown(h, s)
	for _, want := range []string{"You said 1: etcd, by", "It is 2: the registry", "✓ holds, all 3: . shows them", "→ beside the text: ", "space goes on to: Your turn"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	want := screen.ToRequest{Journey: f.conflict().Name, Step: "store.try-update", Tab: "Step"}
	if n := len(h.Went); n != 2 || h.Went[1] != want {
		t.Errorf("it went to %v", h.Went)
	}
	if h.Press("."); !strings.Contains(shown(h, s), "✓ holds: 1 verb:update") {
		t.Errorf("not all that was seen is shown:\n%s", shown(h, s))
	}
	h.Press(".", " ", "=")
	if n := len(h.Complained); n != 2 || !strings.Contains(h.Complained[1], "hints first") {
		t.Errorf("the solution before the hints: %q", h.Complained)
	}
	h.Press("*", " ")
	text = shown(h, s)
	for _, want := range []string{"Hint 1 of 2: Which part", "✗ fails: 1 verb:patch", "seen: requests since the run began: 3", "✓ holds: 0 verb:patch"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "The solution:") || strings.Contains(text, "Hint 2") {
		t.Errorf("more is shown than was asked for:\n%s", text)
	}
	h.Press("*", "=")
	if text := shown(h, s); !strings.Contains(text, "The solution:") {
		t.Errorf("no solution:\n%s", text)
	}
	h.Press("e")
	h.Type(` # resourceVersion`)
	h.Press("enter")
	if text := shown(h, s); !strings.Contains(text, "= Done, with the solution.") || strings.Contains(text, "Solved.") || !strings.HasSuffix(f.ran[len(f.ran)-1], "# resourceVersion") {
		t.Errorf("after the right try of %q:\n%s", f.ran, text)
	}
	h.Press(" ", " ")
	text = shown(h, s)
	for _, want := range []string{"→ store.try-update  ", "upstream: ", "The lesson is over.", "You predicted 0 of 1.", "You solved 0 of 1 tasks.", "You looked at the solution of 1."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	h.Press("v", "n", "v")
	first, ok1 := h.Went[len(h.Went)-2].(screen.Look).Target.(screen.ToSource)
	second, ok2 := h.Went[len(h.Went)-1].(screen.Look).Target.(screen.ToSource)
	if !ok1 || !ok2 || first == second || first.File == "" || first.Upstream == "" {
		t.Errorf("the sources of what is worth reading: %+v, %+v", first, second)
	}
	if last := kept[len(kept)-1]; last.Done == nil || last.Next != len(f.lesson.Parts) || last.Answers["who"] != 1 || last.Hints["yours"] != 2 || !last.Solved["yours"] || !last.Looked["yours"] {
		t.Errorf("kept: %+v", last)
	}
	h.Press(" ")
	h.Answer("")
	h.Press("<")
	h.Answer("")
	if h.Quits != 2 || len(after) != 2 || after[0] != NextLesson || after[1] != Again {
		t.Errorf("left %d times: %v", h.Quits, after)
	}
}

// TestResume comes back to a lesson: what was done is done again, up to where the learner was.
func TestResume(t *testing.T) {
	at := func(l *lesson.Lesson) int {
		for i, part := range l.Parts {
			if _, ok := part.(lesson.Starter); ok {
				return i
			}
		}
		return -1
	}
	h, s, f := began(t, small, func(o *Options) {
		o.Record = play.Record{At: o.Lesson.Place(at(o.Lesson)), Answers: map[string]int{"who": 2}, Hints: map[string]int{"yours": 1}}
	})
	text := shown(h, s)
	if n := len(h.Went); n == 0 || h.Went[n-1] != (screen.ToRequest{Journey: f.conflict().Name, Step: "store.try-update", Tab: "Step"}) {
		t.Errorf("it leads to %v", h.Went)
	}
	for _, want := range []string{"You said 2, and that is right", "→ beside the text", "Hint 1 of 2", "Your commands:"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if len(f.ran) != 1 || s.next != at(f.lesson) {
		t.Errorf("ran %q, and stands at %d", f.ran, s.next)
	}
	// One that was solved is done with what solved it.
	h, s, f = began(t, small, func(o *Options) {
		o.Record = play.Record{At: o.Lesson.Place(at(o.Lesson) + 3), Tries: map[string]string{"yours": "kx mine resourceVersion"}, Solved: map[string]bool{"yours": true}}
	})
	if len(f.ran) != 2 || f.ran[1] != "kx mine resourceVersion" || s.next < at(f.lesson)+3 {
		t.Errorf("ran %q, and stands at %d", f.ran, s.next)
	}
	if text := shown(h, s); !strings.Contains(text, "✓ You have solved it before.") || strings.Contains(text, "with the solution") {
		t.Errorf("a task that was solved without its solution:\n%s", text)
	}
	// One that was over begins anew.
	if _, s, f = began(t, small, func(o *Options) { o.Record = play.Record{At: "end"} }); len(f.ran) != 0 || s.next == len(f.lesson.Parts) {
		t.Errorf("a lesson that was over: ran %q, stands at %d", f.ran, s.next)
	}
	// A place that this edition of the lesson does not have, or that an index alone says, begins it anew. That it was done stays.
	was := time.Now()
	for _, r := range []play.Record{{Done: &was, Next: 4, At: "run elsewhere 1", Answers: map[string]int{"who": 1}}, {Done: &was, Next: 4}} {
		if _, s, f = began(t, small, func(o *Options) { o.Record = r }); len(f.ran) != 0 || s.record.Answers["who"] != 0 || s.record.Done != &was {
			t.Errorf("at %q: ran %q, kept %+v", r.At, f.ran, s.record)
		}
	}
}

// TestQuick answers the questions alone: all between them is done, the task is left out, and the lesson is not done by that.
func TestQuick(t *testing.T) {
	var kept play.Record
	track := play.Track{Track: "use", Lessons: 3, Done: 1, Minutes: 30, Left: 20}
	keep := func(o *Options) {
		o.Keep = func(r play.Record) error { kept = r; return nil }
		o.Tracks, o.Lesson.Minutes, o.Lesson.Learned = []play.Track{track}, 8, "The later one loses."
	}
	for name, change := range map[string]func(*Options){"flag": func(o *Options) { o.Quick = true }, "key": func(*Options) {}} {
		h, s, f := began(t, small, func(o *Options) { keep(o); change(o) })
		h.Size(72, 200)
		if name == "key" {
			h.Press("%")
		}
		if len(f.ran) != 1 || s.Context() != questionPlace {
			t.Fatalf("%s: ran %q, in %s:\n%s", name, f.ran, s.Context(), shown(h, s))
		}
		h.Press("2")
		text := shown(h, s)
		for _, want := range []string{"The lesson is over.", "What you have learned: The later one loses.", "You predicted 1 of 1.",
			"You solved 0 of 1 tasks and left out 1: it is not done yet.", "I use Kubernetes: 1 of 3 lessons done, 20 of 30 min to go."} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		if len(f.ran) != 1 || kept.Done != nil || kept.Answered == nil || !kept.Skipped["yours"] || kept.Solved["yours"] {
			t.Errorf("%s: ran %q, kept %+v", name, f.ran, kept)
		}
	}
	// Who does it without leaving anything out has done it.
	h, s, _ := began(t, small, func(o *Options) { keep(o); o.Record = kept })
	h.Size(72, 200)
	h.Press(" ", "2", " ", "e")
	h.Type(" # resourceVersion")
	h.Press("enter", " ", " ")
	if text := shown(h, s); !strings.Contains(text, "I use Kubernetes: 2 of 3 lessons done, 12 of 30 min to go.") || kept.Done == nil {
		t.Errorf("kept %+v:\n%s", kept, text)
	}
	// A task that is passed over, at its place, is left out as well.
	kept = play.Record{}
	h, s, _ = began(t, small, keep)
	h.Size(72, 200)
	h.Press(" ", "2", " ", ";", " ", " ")
	if text := shown(h, s); !strings.Contains(text, "and left out 1: it is not done yet.") || kept.Done != nil || !kept.Skipped["yours"] {
		t.Errorf("passed over: kept %+v:\n%s", kept, text)
	}
}

// TestTrouble: nothing that goes wrong is the end of the lesson.
func TestTrouble(t *testing.T) {
	failing := true
	h, s, f := began(t, small, func(o *Options) {
		open := o.Open
		o.Open = func(ctx context.Context, output func(id, text string)) (Play, error) {
			if failing {
				return nil, errors.New("no room on the disk")
			}
			return open(ctx, output)
		}
	})
	h.Size(72, 60)
	if text := shown(h, s); !strings.Contains(text, "no room on the disk") || !strings.Contains(text, "Two people") {
		t.Errorf("without a server:\n%s", text)
	}
	failing = false
	h.Press(" ")
	f.err = errors.New("it exited with 1, and 0 was expected")
	h.Press(" ")
	if text := shown(h, s); !strings.Contains(text, "✗ It did not go as it must: it exited with 1") || !strings.Contains(text, "space tries again, ; passes over it.") {
		t.Errorf("after a run that failed:\n%s", text)
	}
	f.err = nil
	h.Press(" ")
	if s.Context() != questionPlace {
		t.Fatalf("the run does not go again: %s", shown(h, s))
	}
	f.wrong = true
	h.Press("2")
	text := shown(h, s)
	for _, want := range []string{"✗ fails: 1 verb:update", "seen: requests since the run began: 3", f.conflict().Name + ": P opens it", "r runs the commands once more"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "and that is right") {
		t.Errorf("what was not seen is told to be so:\n%s", text)
	}
	h.Press("P")
	if look, ok := h.Went[len(h.Went)-1].(screen.Look); !ok || look.Target.(screen.ToRequest).Journey != f.conflict().Name {
		t.Errorf("P leads to %v", h.Went[len(h.Went)-1])
	}
	h.Press("r")
	if len(f.ran) != 3 {
		t.Errorf("once more: %q", f.ran)
	}
	h.Press(";", " ")
	if text := shown(h, s); !strings.Contains(text, "Your commands:") || !strings.Contains(text, "You passed over it.") {
		t.Errorf("after passing over it:\n%s", text)
	}
	h.Press(";") // the task too
	if len(h.Complained) != 0 {
		t.Errorf("%q", h.Complained)
	}
}

// TestLacks: what the machine does not have leaves out a run, and all that speaks of it.
func TestLacks(t *testing.T) {
	h, s, f := began(t, small, nil)
	h.Size(72, 60)
	f.lacks = "Go"
	h.Press(" ", "2", " ")
	text := shown(h, s)
	if !strings.Contains(text, "Left out: it needs Go") || strings.Contains(text, "✓ holds") || strings.Contains(text, "beside the text") || !strings.Contains(text, "Your commands:") {
		t.Errorf("without Go:\n%s", text)
	}
}

// TestStop: esc ends what is under way, and it can be tried again.
func TestStop(t *testing.T) {
	h, s, f := began(t, small, nil)
	h.Size(72, 60)
	f.during = func() {
		if _, state := s.Foot(); !strings.Contains(state, "kx runs the commands of this block (0s): esc stops it") {
			t.Errorf("while it runs: %q", state)
		}
		h.Press(" ")
		h.Press("esc")
		f.err = context.Canceled // as a play says that the end of its context was the end
	}
	h.Press(" ")
	if text := shown(h, s); !strings.Contains(text, "You stopped it. space tries again.") || len(f.ran) != 1 {
		t.Errorf("%q\n%s", h.Said, text)
	}
	f.during, f.err = nil, nil
	h.Press(" ")
	if s.Context() != questionPlace {
		t.Errorf("it is not tried again:\n%s", shown(h, s))
	}
}

// TestShell types commands of the learner's own.
func TestShell(t *testing.T) {
	h, s, f := began(t, small, nil)
	h.Press("!")
	h.Type("kx get configmaps")
	h.Press("enter", "$")
	h.Type("false")
	h.Press("enter", "!", "up", "up")
	if s.Line().String() != "kx get configmaps" {
		t.Errorf("recalled: %q", s.Line().String())
	}
	h.Press("down", "down")
	if s.Line().String() != "" {
		t.Errorf("after the last: %q", s.Line().String())
	}
	h.Press("esc")
	f.during = func() { // a line that can't run now stays
		h.Press("!")
		h.Type("false")
		h.Press("enter")
		if !s.Typing() || s.Line().String() != "false" || len(h.Complained) != 1 {
			t.Errorf("while something runs: %q, %q", s.Line().String(), h.Complained)
		}
	}
	h.Press(" ", "enter", "l")
	text := shown(h, s)
	for _, want := range []string{"You typed:", "$ kx get configmaps", "demo   1      3s", "exit code 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if len(f.ran) != 4 || f.ran[3] != "false" {
		t.Errorf("%q", f.ran)
	}
}

// TestScript changes commands of several lines, which have a text of their own.
func TestScript(t *testing.T) {
	h, s, f := began(t, "testdata/more.md", nil)
	h.Size(72, 60)
	h.Press(" ", ";")
	if _, ok := s.task(); !ok {
		t.Fatalf("no task:\n%s", shown(h, s))
	}
	h.Press("e")
	if s.Context() != scriptText {
		t.Fatalf("in %s", s.Context())
	}
	h.Type("# resourceVersion")
	h.Press("enter")
	shows(t, h, s, "# resourceVersion")
	h.Press("alt+r")
	if last := f.ran[len(f.ran)-1]; !strings.HasPrefix(last, "# resourceVersion\nkx create") {
		t.Errorf("ran %q", last)
	}
}

// TestSizes draws the lesson at many sizes, with text that nobody should trust, in English and in Chinese.
func TestSizes(t *testing.T) {
	h, s, f := began(t, small, nil)
	f.output("put", escapetest.Any())
	s.entries[0].asides = append(s.entries[0].asides, typedCommand{line: escapetest.Any(), outcome: play.Outcome{Output: escapetest.Any()}, ended: true})
	for _, pressed := range [][]string{{}, {" "}, {"2"}, {"!"}, {"esc", "*"}, {"e"}, {"esc", ";"}, {" "}} {
		h.Size(72, 200)
		h.Press(pressed...)
		for _, words := range []lang.Language{lang.English, lang.Chinese} {
			h.Look = theme.Plain()
			h.Look.Words = words
			for w := 1; w < 100; w += 7 {
				for _, height := range []int{1, 2, 3, 5, 11, 20, 56} {
					h.Frame(w, height)
				}
			}
		}
		h.Look = theme.Plain()
	}
}

// TestPages reads on a low terminal: the key turns pages until all was in view, and runs the block only then.
func TestPages(t *testing.T) {
	h, s, f := began(t, small, nil)
	h.Size(48, 7)
	s.lay()
	turned := 0
	for ; len(f.ran) == 0 && turned < 50; turned++ {
		before := s.text.Top()
		h.Press(" ")
		s.lay()
		if len(f.ran) == 0 && s.text.Top() <= before {
			t.Fatalf("the page is not turned: %d", before)
		}
	}
	if turned < 3 || len(f.ran) != 1 {
		t.Errorf("%d pages, ran %q", turned, f.ran)
	}
	// The question is below what the run printed: it is shown before it takes an answer.
	if s.Context() != questionPlace || s.text.AtEnd() {
		t.Fatalf("no question is below:\n%s", shown(h, s))
	}
	if h.Press("2"); s.record.Answers["who"] != 0 || !s.text.AtEnd() || !strings.Contains(strings.Join(h.Said, "\n"), "the answers were below") {
		t.Errorf("a question below the screen: answered with %d, said %q", s.record.Answers["who"], h.Said)
	}
	if h.Press("2"); s.record.Answers["who"] != 2 {
		t.Errorf("a question in view: answered with %d", s.record.Answers["who"])
	}
}

// TestFolded: a low terminal shows less of an output, and the key for all shows all.
func TestFolded(t *testing.T) {
	h, s, f := began(t, small, nil)
	f.long = strings.Repeat("a line\n", 15) + "the end\n"
	lines := func(height int) int {
		h.Size(72, height)
		s.lay()
		text := strings.Count(textOf(s), "a line")
		if !strings.Contains(textOf(s), "the end") {
			t.Errorf("%d lines high: the end is not shown:\n%s", height, textOf(s))
		}
		return text
	}
	h.Size(72, 60)
	h.Press(" ")
	if high, low := lines(60), lines(12); high != 15 || low != 7 {
		t.Errorf("of 15 lines %d and, on a low terminal, %d are shown:\n%s", high, low, textOf(s))
	}
	h.Press(".")
	if all := lines(12); all != 15 {
		t.Errorf("of 15 lines %d are shown when all are wanted:\n%s", all, textOf(s))
	}
}

// textOf is the page as it is laid out.
func textOf(s *Screen) string {
	var all strings.Builder
	for _, l := range s.page.lines {
		all.WriteString(l.text + "\n")
	}
	return all.String()
}

// TestTargets: where a part leads that shows a request, by the screen that it names.
func TestTargets(t *testing.T) {
	_, _, f := began(t, small, nil)
	j := f.conflict()
	for name, want := range map[string]screen.Name{"Send": screen.Send, "etcd": screen.Etcd, "Cache": screen.Cache, "Structure": screen.Structure, "Story": screen.Story, "Capture": screen.Capture} {
		whole := partRequest{journey: j.Name, whole: j}
		if name == "Capture" {
			whole.whole = nil
		}
		to := target(lesson.Show{Open: "verb:update", Screen: name, Step: "store.try-update"}, whole)
		if to.Screen() != want {
			t.Errorf("%s leads to %+v", name, to)
		}
		if _, asItWas := to.(screen.ToScreen); asItWas {
			t.Errorf("%s leads to the screen alone", name)
		}
	}
}

// TestNewsInView: on a small terminal the learner sees what came of their last key, whatever stands above it.
func TestNewsInView(t *testing.T) {
	const w, high = 80, 9
	begun := func() (h *screentest.Host, s *Screen, sees func(...string)) {
		h, s, _ = began(t, small, nil)
		h.Size(w, high)
		for range 40 {
			if _, ok := s.task(); ok && s.text.AtEnd() {
				break
			}
			if s.Context() == questionPlace && s.text.AtEnd() {
				h.Press("2")
			} else {
				h.Press(" ")
			}
		}
		return h, s, func(texts ...string) {
			t.Helper()
			screentest.Has(t, "80x9", h.Frame(w, high), texts...)
		}
	}
	h, _, sees := begun()
	h.Press("e")
	h.Type(" # resourceVersion")
	h.Press("enter")
	sees("✓ Solved.")

	h, s, sees := begun()
	h.Press("r")
	sees("✗ fails: 1 verb:patch")
	h.Press("!")
	h.Type("kx get configmaps")
	h.Press("enter")
	sees("You typed:", "demo   1      3s")
	h.Press("*", "*", "=")
	sees("= The solution:")
	task, _ := s.task()
	if isSolution(task, s.at().script) {
		t.Errorf("the solution replaces the learner's commands before they want it")
	}
	h.Press("=")
	if !isSolution(task, s.at().script) {
		t.Errorf("the commands are %q", s.at().script)
	}
	h.Press("e", "enter")
	sees("= Done, with the solution.")
}

// TestOnward: the end of a lesson congratulates on a track that is done, and asks where several lessons come next.
func TestOnward(t *testing.T) {
	var way Way
	h, s, _ := began(t, small, func(o *Options) {
		o.Lesson.Minutes = 8
		o.Tracks = []play.Track{{Track: "use", Lessons: 3, Done: 1, Minutes: 30, Left: 20}, {Track: "extend", Lessons: 2, Done: 1, Minutes: 20, Left: 8}}
		o.Ends = []lesson.Track{"use", "extend"}
		o.Ways = []Way{{ID: "watch", Title: "What a watch sees", Tracks: []lesson.Track{"use", "articles"}}, {ID: "lists", Title: "Lists"}}
		o.Leave = func(_ After, w Way) { way = w }
	})
	h.Size(72, 200)
	h.Press(" ", "2", " ", "e")
	h.Type(" # resourceVersion")
	h.Press("enter", " ", " ")
	text := strings.Join(strings.Fields(strings.ReplaceAll(shown(h, s), "┃", "")), " ")
	for _, want := range []string{"I use Kubernetes: 2 of 3 lessons done", "kx learn --track use lists what you have left out.",
		"Congratulations, you have done all of \"I extend it\"", "docs/own-storage.md",
		"Next for I use Kubernetes, I read the articles: What a watch sees"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if h.Press(" "); h.Menu == nil || len(h.Menu.Choices) != 2 {
		t.Fatalf("no menu of two lessons: %+v", h.Menu)
	}
	h.Menu.Choices[1].Do()
	if way.ID != "lists" || h.Quits != 1 {
		t.Errorf("the way is %+v, and it quit %d times", way, h.Quits)
	}
}

// TestLeaveWhileSaving ends the screen before the save of an answer has begun: the last record is kept, and no older one.
func TestLeaveWhileSaving(t *testing.T) {
	var kept []int
	h, s, _ := began(t, small, func(o *Options) {
		o.Keep = func(r play.Record) error { kept = append(kept, r.Answers["q"]); return nil }
	})
	kept = nil
	s.record.Answers = map[string]int{"q": 1}
	saves := s.keep()
	s.record.Answers["q"] = 2
	if again := s.keep(); again != nil {
		t.Error("two saves are under way")
	}
	s.Close()
	h.Run(saves)
	if len(kept) != 1 || kept[0] != 2 {
		t.Errorf("kept: %v", kept)
	}
}

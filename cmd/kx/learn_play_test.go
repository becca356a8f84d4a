package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui"
	"github.com/kx-apiserver/kx/tui/draw"
	screen "github.com/kx-apiserver/kx/tui/learn"
	"github.com/kx-apiserver/kx/tui/play"
)

// lessonHere plays a lesson on the screen as one would, keys in and frames out, until the learner leaves.
func lessonHere(t *testing.T, o *learnOptions, name string, learner func(*played)) {
	t.Helper()
	shown := 0
	o.show = func(ctx context.Context, options tui.Options) error {
		shown++
		options.Theme = "none"
		var clipboard bytes.Buffer
		s, err := tui.New(ctx, options, &clipboard)
		if err != nil {
			return err
		}
		p := &played{t: t, screen: s, model: s.Model(), msgs: make(chan tea.Msg, 64), ctx: ctx}
		p.run(p.model.Init())
		p.send(tea.WindowSizeMsg{Width: 160, Height: 60})
		learner(p)
		return p.screen.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := o.play(ctx, name, strings.NewReader(""), os.Stderr); err != nil {
		t.Fatal(err)
	}
	if shown != 1 {
		t.Errorf("the screen was shown %d times", shown)
	}
}

// catalogued is a lesson of kx's.
func catalogued(t *testing.T, name string) *lesson.Lesson {
	t.Helper()
	entries, err := learn.Catalogue(lang.English)
	if err != nil {
		t.Fatal(err)
	}
	e, err := learn.Find(entries, name)
	if err != nil {
		t.Fatal(err)
	}
	return e.Lesson
}

// TestLearnOnScreen plays a lesson on a real server, leaves in the middle of it and comes back, goes wrong and puts it right.
func TestLearnOnScreen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := catalogued(t, "conflict")
	task := text.Tasks()[0]
	lessonHere(t, &learnOptions{dataDir: dir}, "conflict", func(p *played) {
		p.see("[, Lesson]", "space goes on to: 1. An update", "live")
		p.press(" ")
		p.see("space runs:")
		p.press(" ")
		p.see("Press the number of your answer.", "The requests are shown here once you have answered.")
		p.press("1")
		p.see("✗ You said 1", "→ beside the text: ", ">!")
		p.press("!", "kx get configmap settings -o name", "enter")
		p.see("You typed:", "configmap/settings")
		p.until("it has ended", func(frame string) bool { return !strings.Contains(frame, "esc stops it") })
		p.press("!", "sleep 100", "enter")
		p.see("kx runs your command")
		p.press("esc")
		p.see("You stopped it.")
	})
	lessonHere(t, &learnOptions{dataDir: dir}, "conflict", func(p *played) {
		p.see("✗ You said 1", "→ beside the text: ")
		p.until("what was done is done again", func(frame string) bool { return !strings.Contains(frame, "esc stops it") })
		for turns := 0; !strings.Contains(p.model.View(), "Your commands:"); turns++ {
			if turns > 60 {
				t.Fatalf("the task does not come:\n%s", p.model.View())
			}
			if p.press(" "); strings.Contains(p.model.View(), "Press the number") {
				p.press("1")
			}
			p.until("it is done", func(frame string) bool { return !strings.Contains(frame, "esc stops it") })
		}
		for strings.Contains(p.model.View(), "more below") {
			p.press(" ")
		}
		p.see("This must be so then:")
		p.press(" ")
		p.see("✗ fails:")
		p.press("e", "ctrl+u", strings.TrimSpace(task.Solution.Script), "enter")
		p.see("✓ Solved.")
	})
	progress, err := play.LoadProgress(filepath.Join(dir, progressFile))
	if err != nil {
		t.Fatal(err)
	}
	if r := progress.Record("conflict"); !r.Solved[task.ID] || r.Answers["where"] == 0 && len(r.Answers) == 0 {
		t.Errorf("kept: %+v", r)
	}
}

// TestLearnInChinese: what the learner types in a lesson answers in the language of the lesson.
func TestLearnInChinese(t *testing.T) {
	t.Parallel()
	lessonHere(t, &learnOptions{dataDir: t.TempDir(), language: lang.Chinese}, "conflict", func(p *played) {
		p.see("继续到：")
		p.press("!", "kx trace steps etcd3.create", "enter")
		p.see("创建该键")
	})
}

// TestLearnWays: where tracks part the learner has a choice, from then on their track decides, and its end is known.
func TestLearnWays(t *testing.T) {
	t.Parallel()
	var seen []string
	o := &learnOptions{dataDir: t.TempDir(), show: func(_ context.Context, options tui.Options) error {
		ways := options.Lesson.Ways
		line := options.Lesson.Lesson.ID + ":"
		for _, way := range ways {
			line += fmt.Sprintf(" %s %v", way.ID, way.Tracks)
		}
		seen = append(seen, fmt.Sprintf("%s, ends %v", line, options.Lesson.Ends))
		if len(ways) > 0 {
			options.Lesson.Leave(screen.NextLesson, ways[len(ways)-1])
		}
		return nil
	}}
	if err := o.play(t.Context(), "admission", strings.NewReader(""), io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := o.play(t.Context(), "deletion", strings.NewReader(""), io.Discard); err != nil {
		t.Fatal(err)
	}
	o.track = ""
	if err := o.play(t.Context(), "watch", strings.NewReader(""), io.Discard); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(seen, "\n") + "\n"
	for _, want := range []string{
		"admission: webhook [use extend], ends []\n", "webhook: debugging [use] many-servers [extend], ends []\n",
		"own-storage: queues [extend], ends []\n", "queues:, ends [extend]\n", "deletion: owners [extend], ends []\n",
		"watch: subresources [use extend] lists [articles], ends []\n", "lists: subresources [articles], ends []\n",
		"own-storage:, ends [articles]\n",
	} {
		if !strings.Contains("\n"+got, "\n"+want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestLearnOnward begins a lesson anew, and goes on to the next, as the learner wants when the screen ends.
func TestLearnOnward(t *testing.T) {
	t.Parallel()
	var shown []string
	wants := []screen.After{screen.Again, screen.NextLesson, screen.Nothing}
	o := &learnOptions{dataDir: t.TempDir(), show: func(_ context.Context, options tui.Options) error {
		shown = append(shown, options.Lesson.Lesson.ID)
		options.Lesson.Leave(wants[len(shown)-1], options.Lesson.Ways[0])
		return options.Lesson.Keep(play.Record{Next: len(shown)})
	}}
	if err := o.play(t.Context(), "1", strings.NewReader(""), io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(shown, " "); got != "first-get first-get create" {
		t.Errorf("shown: %s", got)
	}
	progress, err := o.progress()
	if err != nil {
		t.Fatal(err)
	}
	if first, second := progress.Record("first-get").Next, progress.Record("create").Next; first != 2 || second != 3 {
		t.Errorf("kept: %d and %d", first, second)
	}
	if err := o.play(t.Context(), "nowhere", strings.NewReader(""), io.Discard); err == nil || len(shown) != 3 {
		t.Errorf("a lesson that there is not: %v", err)
	}
}

// strangers is a lesson of a file that hides what it runs: behind spaces and empty lines, in control characters, and where no block is.
const strangers = "---\nid: own\ntitle: Mine\nminutes: 1\nserve: [--watch-cache=false]\nmutation: {of: a, serve: [--event-ttl=1s]}\n---\n" +
	"```run id=a\nkx get ns\ntouch \x1b[31mred\n%s; touch hidden\n%s\ntouch below\n```\n" +
	"```server\n--watch-cache-prefill\n```\n" +
	"```starter id=b\ntouch started\n```\n```solution id=b\ntouch solved\n```\n```expect of=b\n0 verb:get\n```\n"

// strangersFile writes it, and returns what the question must show of it.
func strangersFile(t *testing.T) (file string, shown []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "own.md")
	text := fmt.Sprintf(strangers, strings.Repeat(" ", 3000), strings.Repeat("\n", 3000))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, []string{
		"own.md runs this in sh with your rights: it can read, change and delete all that you can.\n",
		"  kx serve --watch-cache=false\n", "  kx serve --event-ttl=1s  # with kx learn verify --mutate\n", "  kx serve --watch-cache-prefill\n",
		"  kx get ns\n  touch \\x1b[31mred\n  ⋯ 40 blank lines\n  ↳ ", "; touch hidden\n  ⋯ 3001 blank lines\n  touch below\n",
		"  touch started\n",
		"Lines shown: ",
	}
}

// TestLearnAsks shows what a file runs, and runs nothing of it unless the user says so.
func TestLearnAsks(t *testing.T) {
	t.Parallel()
	file, wanted := strangersFile(t)
	for answer, want := range map[string]int{"": 0, "n\n": 0, "yes\n": 0, "y\n": 1, "Y\n": 1} {
		shown := 0
		o := &learnOptions{dataDir: t.TempDir(), show: func(context.Context, tui.Options) error { shown++; return nil }}
		var out bytes.Buffer
		if err := o.play(t.Context(), file, strings.NewReader(answer), &out); err != nil {
			t.Fatal(err)
		}
		questioned(t, out.String(), wanted)
		if shown != want || strings.Contains(out.String(), "touch solved") {
			t.Errorf("after %q the screen is shown %d times: %q", answer, shown, out.String())
		}
	}
}

// questioned looks at a question: it shows this in this order, and nothing that moves other text off the terminal.
func questioned(t *testing.T, question string, wanted []string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(question, want) {
			t.Errorf("it does not show %q:\n%s", want, question)
		}
	}
	if lines := strings.Split(question, "\n"); len(lines) > 20 || strings.ContainsAny(question, "\x1b\r") {
		t.Errorf("it has %d lines: %q", len(lines), question)
	}
	for line := range strings.Lines(question) {
		if strings.HasPrefix(line, "  ") && draw.Width(line) > 80 {
			t.Errorf("a terminal breaks %q", line)
		}
	}
}

// TestLearnVerifyAsks has kx learn verify ask as well, with the solutions, and run nothing if the user does not agree.
func TestLearnVerifyAsks(t *testing.T) {
	t.Parallel()
	file, wanted := strangersFile(t)
	wanted = append(wanted, "  touch solved\n")
	for _, mutate := range []bool{false, true} {
		for _, answer := range []string{"", "n\n"} {
			var question, out bytes.Buffer
			o := &verifyOptions{jobs: 1, mutate: mutate}
			asks := newAgreement(false, lang.English, strings.NewReader(answer), &question)
			err := o.verify(t.Context(), newRootCommand(kubectl.Streams{}), []string{file}, asks, &out)
			if err == nil || err.Error() != "own.md: you did not agree, so nothing was run" || out.Len() > 0 {
				t.Errorf("after %q: %v\n%s", answer, err, &out)
			}
			questioned(t, question.String(), wanted)
		}
	}
}

// TestLearnVerifyInATerminal agrees.
func TestLearnVerifyInATerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "own.md")
	text := "---\nid: own\ntitle: Mine\nminutes: 1\n---\n```run id=a\nkx get ns\n```\n```expect of=a\n1 verb:list resource:namespaces\n```\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m := mux(t, kx(t, "learn", "verify", file))
	m.see("  kx get ns", "Lines shown: 1. Run them? y or n:")
	m.press("y", "Enter")
	m.see("1 of 1 hold", "left with 0")
}

// TestLearnWithoutTerminal runs the commands of a file only with --yes where no user sees the question.
func TestLearnWithoutTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lesson := fmt.Sprintf("---\nid: own\ntitle: Mine\nminutes: 1\n---\n```run id=a\ntouch %s/ran\n```\n", dir)
	if err := os.WriteFile(filepath.Join(dir, "own.md"), []byte(lesson), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := learnHere(t, dir, "verify", "./own.md")
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil || code != 1 ||
		!strings.Contains(out, "own.md: the commands of a file run after you have seen them at a terminal and agreed, or with --yes") {
		t.Errorf("%d: %s", code, out)
	}
	out, code = learnHere(t, dir, "verify", "--yes", "./own.md")
	if _, err := os.Stat(filepath.Join(dir, "ran")); err != nil || code != 0 {
		t.Errorf("%d, %v: %s", code, err, out)
	}
}

// TestLearnInATerminal plays whole lessons in a terminal, as a human would: all questions wrong, each task first as it stands, then
// with all hints and the solution, and to the end.
func TestLearnInATerminal(t *testing.T) {
	for _, name := range []string{"first-get", "conflict"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := catalogued(t, name)
			dir := t.TempDir()
			editor := filepath.Join(dir, "editor")
			command := kx(t, "learn", name, "--data-dir", filepath.Join(dir, "data"))
			command.Env = append(command.Env, "VISUAL="+editor, "TMPDIR="+dir)
			m := mux(t, command)
			m.see("[, Lesson]", "live")
			human := &human{muxed: m, tasks: l.Tasks(), editor: editor}
			human.play()
			m.press("q")
			m.see("left with 0")
			progress, err := play.LoadProgress(filepath.Join(dir, "data", progressFile))
			if err != nil {
				t.Fatal(err)
			}
			r := progress.Record(name)
			if r.Done == nil || len(r.Solved) != len(l.Tasks()) || r.Next != len(l.Parts) {
				t.Errorf("kept: %+v", r)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "kx-learn-*")); len(left) > 0 {
				t.Errorf("it left %q", left)
			}
		})
	}
}

// human is who plays a lesson in a terminal.
type human struct {
	*muxed
	tasks  []lesson.Task
	editor string // a program that writes the solution
	tried  map[string]bool
}

// play plays to the end.
func (h *human) play() {
	h.t.Helper()
	h.tried = map[string]bool{}
	const steps = 300
	for range steps {
		shown := h.quiet()
		switch {
		case strings.Contains(shown, "The lesson is over."):
			return
		case strings.Contains(shown, "space read more"):
			h.key(" ", shown)
		case strings.Contains(shown, "✗ It did not go as it must") || strings.Contains(shown, "space tries again, ; passes"):
			h.t.Fatalf("the lesson fails:\n%s", shown)
		case strings.Contains(shown, "Press the number of your answer."):
			h.press("1")
			h.gone("Press the number of your answer.")
		case strings.Contains(shown, "e changes the commands"):
			h.task()
		default:
			h.key(" ", shown)
		}
	}
	h.t.Fatalf("after %d keys the lesson is not over:\n%s", steps, h.quiet())
}

// task does a task.
func (h *human) task() {
	h.t.Helper()
	task := h.tasks[0]
	if !h.tried[task.ID] {
		h.tried[task.ID] = true
		h.press(" ")
		h.see("✗ fails")
		return
	}
	for range task.Hints {
		h.key("*", h.quiet())
	}
	if n := len(task.Hints); n > 0 {
		h.see(fmt.Sprintf("Hint %d of %d", n, n))
	}
	h.press("=")
	h.see("The solution:")
	script := strings.TrimRight(task.Solution.Script, "\n")
	solution := filepath.Join(filepath.Dir(h.editor), "solution")
	for file, text := range map[string]string{solution: script + "\n", h.editor: "#!/bin/sh\ncat " + solution + ` > "$1"` + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			h.t.Fatal(err)
		}
	}
	h.press("E")
	h.see("as you saved them")
	h.press(" ")
	h.gone("✗ fails")
	if shown := h.quiet(); strings.Contains(shown, "✗ fails") {
		h.t.Fatalf("the solution is none:\n%s", shown)
	}
	h.tasks = h.tasks[1:]
}

// quiet waits until nothing is under way, and returns the screen: one that stays, since tmux shows frames that are half drawn too.
func (h *human) quiet() string {
	h.t.Helper()
	late := time.Now().Add(patience)
	for before := ""; ; {
		shown := h.tell("capture-pane", "-p")
		if !strings.Contains(shown, "esc stops it") && strings.Contains(shown, "q quit") && shown == before {
			return shown
		}
		before = shown
		if time.Now().After(late) {
			h.t.Fatalf("it is still under way:\n%s", shown)
		}
		time.Sleep(80 * time.Millisecond) // longer than a frame takes
	}
}

// gone waits until a text is no longer on the screen.
func (h *human) gone(text string) {
	h.t.Helper()
	for late := time.Now().Add(patience); strings.Contains(h.tell("capture-pane", "-p"), text); {
		if time.Now().After(late) {
			h.t.Fatalf("%q stays on the screen:\n%s", text, h.tell("capture-pane", "-p"))
		}
		time.Sleep(20 * time.Millisecond) // tmux does not say when something changes
	}
}

// key presses a key, and waits until the lesson has changed since: what is beside it changes by itself, and a key that is pressed
// once more before it was seen is one too many.
func (h *human) key(key, before string) {
	h.t.Helper()
	h.press(key)
	for late := time.Now().Add(patience); lessonIn(h.tell("capture-pane", "-p")) == lessonIn(before); {
		if time.Now().After(late) {
			h.t.Fatalf("nothing changes:\n%s", before)
		}
		time.Sleep(20 * time.Millisecond) // tmux does not say when something changes
	}
}

// lessonIn is what the pane of the lesson shows, which is on the left and has the focus.
func lessonIn(shown string) string {
	var text strings.Builder
	for line := range strings.Lines(shown) {
		if _, right, ok := strings.Cut(line, "┃"); ok {
			inner, _, _ := strings.Cut(right, "┃")
			text.WriteString(inner + "\n")
		}
	}
	return text.String()
}

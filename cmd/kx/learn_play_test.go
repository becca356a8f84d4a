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

	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui"
	screen "github.com/kx-apiserver/kx/tui/learn"
	"github.com/kx-apiserver/kx/tui/play"
)

// lessonHere plays a lesson on the screen as one would, keys in and frames out, until the learner leaves.
func lessonHere(t *testing.T, dir, name string, learner func(*played)) {
	t.Helper()
	shown := 0
	o := &learnOptions{dataDir: dir, show: func(ctx context.Context, options tui.Options) error {
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
	}}
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
	lessonHere(t, dir, "conflict", func(p *played) {
		p.see("[, Lesson]", "space runs:", "live")
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
	lessonHere(t, dir, "conflict", func(p *played) {
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
		p.see("✗ not so:")
		p.press("e", "ctrl+u", strings.TrimSpace(task.Solution.Script), "enter")
		p.see("✓ Solved.")
	})
	progress, err := play.LoadProgress(filepath.Join(dir, progressFile))
	if err != nil {
		t.Fatal(err)
	}
	if r := progress.Of("conflict"); !r.Solved[task.ID] || r.Answers["where"] == 0 && len(r.Answers) == 0 {
		t.Errorf("kept: %+v", r)
	}
}

// TestLearnOnward begins a lesson anew, and goes on to the next, as the learner wants when the screen ends.
func TestLearnOnward(t *testing.T) {
	t.Parallel()
	var shown []string
	wants := []screen.After{screen.Again, screen.NextLesson, screen.Nothing}
	o := &learnOptions{dataDir: t.TempDir(), show: func(_ context.Context, options tui.Options) error {
		shown = append(shown, options.Lesson.Lesson.ID)
		options.Lesson.Leave(wants[len(shown)-1])
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
	if first, second := progress.Of("first-get").Next, progress.Of("create").Next; first != 2 || second != 3 {
		t.Errorf("kept: %d and %d", first, second)
	}
	if err := o.play(t.Context(), "nowhere", strings.NewReader(""), io.Discard); err == nil || len(shown) != 3 {
		t.Errorf("a lesson that there is not: %v", err)
	}
}

// TestLearnAsks shows the commands of anybody's file, and runs none of them unless somebody says so.
func TestLearnAsks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "own.md")
	text := "---\nid: own\ntitle: Mine\nminutes: 1\nserve: [--watch-cache=false]\n---\n```run id=a\nkx get ns\ntouch \x1b[31mred\n```\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]int{"": 0, "n\n": 0, "yes\n": 0, "y\n": 1, "Y\n": 1} {
		shown := 0
		o := &learnOptions{dataDir: t.TempDir(), show: func(context.Context, tui.Options) error { shown++; return nil }}
		var out bytes.Buffer
		if err := o.play(t.Context(), file, strings.NewReader(answer), &out); err != nil {
			t.Fatal(err)
		}
		said := out.String()
		if shown != want || !strings.Contains(said, "  kx get ns\n") || !strings.Contains(said, "  kx serve --watch-cache=false\n") || strings.Contains(said, "\x1b") {
			t.Errorf("after %q the screen is shown %d times: %q", answer, shown, said)
		}
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
			r := progress.Of(name)
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
		h.see("✗ not so")
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
	h.gone("✗ not so")
	if shown := h.quiet(); strings.Contains(shown, "✗ not so") {
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

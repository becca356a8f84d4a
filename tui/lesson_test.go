package tui

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/learn"
	"github.com/kx-apiserver/kx/tui/play"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/session"
)

// told is a play whose runs bring recorded requests, and whose expectations hold.
type told struct {
	d *driver
	l *lesson.Lesson
}

// conflict is the recorded update that was refused.
const conflict = "14"

func (p told) recorded() *v1alpha1.Journey {
	for _, j := range p.d.recorded {
		if strings.HasSuffix(j.Name, "-"+conflict) {
			return j
		}
	}
	return nil
}

func (p told) Do(_ context.Context, i int) (play.Outcome, error) {
	switch part := p.l.Parts[i].(type) {
	case lesson.Run:
		p.d.server.Put(p.recorded())
		return play.Outcome{Output: "the object has been modified\n"}, nil
	case lesson.Expect:
		results, err := p.Judge(context.Background(), part)
		return play.Outcome{Results: results}, err
	}
	return play.Outcome{}, nil
}

func (p told) Judge(_ context.Context, e lesson.Expect) (all []play.Result, err error) {
	for _, c := range e.Conditions {
		all = append(all, play.Result{Condition: c, OK: true, Journeys: []v1alpha1.Journey{*p.recorded()}})
	}
	return all, nil
}

func (p told) Attempt(context.Context, string, string) (play.Outcome, error) {
	return play.Outcome{}, nil
}

func (p told) Shell(context.Context, string) (play.Outcome, error) { return play.Outcome{}, nil }

func (p told) Find(context.Context, string, string) (string, error) { return p.recorded().Name, nil }

// playing is the screen with the lesson of tui/learn's tests beside it.
func playing(t *testing.T, language lang.Language) *driver {
	t.Helper()
	const file = "learn/testdata/small.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lesson.Parse(file, text, trace.Names)
	if err != nil {
		t.Fatal(err)
	}
	var d *driver
	return newDriverWith(t, language, func(own *driver, o *Options) {
		d = own
		o.Lesson = &learn.Options{Lesson: l, Ways: []learn.Way{{ID: "watch", Title: "What a watch sees"}}, Open: func(context.Context, func(id, text string)) (learn.Play, error) {
			return told{d, l}, nil
		}}
	})
}

// golden compares the whole frame with a file.
func (d *driver) golden(name string) {
	d.t.Helper()
	var lines []string
	for _, line := range d.frame() {
		lines = append(lines, strings.TrimRight(ansi.Strip(line), " "))
	}
	screentest.Golden(d.t, "testdata/lesson/"+name, strings.Join(lines, "\n")+"\n")
}

// TestLesson plays a lesson beside the screen, and looks at both on terminals of the usual sizes.
func TestLesson(t *testing.T) {
	for _, language := range []lang.Language{lang.English, lang.Chinese} {
		for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
			d := playing(t, language)
			d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			name := func(what string) string { return fmt.Sprintf("%s-%s-%dx%d", what, language, size[0], size[1]) }
			d.until("the lesson's server is there", func() bool { return d.m.server.Config != nil && d.phase() == session.Live })
			d.golden(name("begin"))
			for presses := 0; d.m.context() == d.m.lesson.Contexts()[0] && presses < 9; presses++ {
				d.press(" ")
			}
			d.press("1")
			if size[1] == 15 {
				d.press("1") // the first one brought the answers into view
			}
			d.until("the request is shown", func() bool {
				return strings.Contains(strings.Join(d.m.current.Render(), ""), " "+told{d: d}.recorded().Name+" ─")
			})
			d.golden(name("shown"))
			d.press(",")
			if d.m.onLesson {
				t.Error("the key does not lead to the screen")
			}
			d.golden(name("screen"))
			d.press(",")
			if !d.m.onLesson {
				t.Error("the key does not lead back")
			}
		}
	}
}

// TestLessonFocus: keys go to the side that has the focus, and the palette, clicks and digits give it to where they lead.
func TestLessonFocus(t *testing.T) {
	d := playing(t, lang.English)
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.settle()
	seen := func(want bool, after string) {
		t.Helper()
		if d.m.onLesson != want {
			t.Errorf("after %s the lesson has the focus: %v", after, d.m.onLesson)
		}
		heavy := strings.Count(strings.Join(d.frame(), ""), "┏")
		if heavy != 1 {
			t.Errorf("after %s %d panes show the focus", after, heavy)
		}
	}
	click := func(x, y int) {
		d.send(tea.MouseMsg{Action: tea.MouseActionPress, Button: tea.MouseButtonLeft, X: x, Y: y})
		d.settle()
	}
	seen(true, "the start")
	d.press("2")
	seen(false, "2")
	if d.m.current.Name() != screen.Send {
		t.Errorf("2 leads to %s", d.m.current.Name())
	}
	d.press(",", "j")
	seen(true, ",")
	click(90, 20)
	seen(false, "a click on the screen")
	click(20, 20)
	seen(true, "a click on the lesson")
	d.press(":", "list.follow", "enter")
	seen(false, "a command of the screen")
	d.press(",", "tab")
	seen(false, "tab")
	d.press(":", "lesson.full", "enter")
	seen(true, "a command of the lesson")
	d.press("z")
	if !d.m.frame.OneSide() {
		t.Error("zoomed, the lesson does not have all of the terminal")
	}
	d.press("esc")
	was := d.m.frame.Lesson.W
	if d.press("+"); d.m.frame.Lesson.W <= was || d.m.frame.Lesson.W+d.m.frame.Screen.W != 120 {
		t.Errorf("%d cells wide, and larger %d", was, d.m.frame.Lesson.W)
	}
	d.send(tea.MouseMsg{Action: tea.MouseActionPress, Button: tea.MouseButtonWheelDown, X: 90, Y: 20})
	seen(true, "a turn of the wheel on the screen")
}

// TestLessonSizes draws the lesson and the screen at many sizes: every frame has the size of the terminal.
func TestLessonSizes(t *testing.T) {
	d := playing(t, lang.Chinese)
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	for _, pressed := range [][]string{{}, {" "}, {"1"}, {"!"}, {"esc", "?"}, {"esc", ":"}, {"esc", ","}, {",", "z"}} {
		d.press(pressed...)
		for w := 1; w <= 220; w += 13 {
			for _, h := range []int{1, 14, 15, 24, 40, 61} {
				screentest.Exact(t, d.resized(w, h), w, h)
			}
		}
		d.resized(120, 40)
	}
}

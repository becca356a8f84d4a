package tui

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"go.uber.org/goleak"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/theme"
)

// filled is a screen that follows a server with all that was recorded.
func filled(t testing.TB) *driver {
	d := newDriver(t)
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	for _, j := range d.recorded {
		d.put(j.Name[strings.LastIndexByte(j.Name, '-')+1:])
	}
	d.settle()
	return d
}

// resized is the frame at a size. What the screen asks for meanwhile is not done: nothing depends on it.
func (d *driver) resized(w, h int) []string {
	d.m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	d.m.dirty = true
	return strings.Split(d.m.View(), "\n")
}

// TestEverySize draws the screen in many states at many sizes, in each state at others: every frame has the size of the
// terminal.
func TestEverySize(t *testing.T) {
	d := filled(t)
	states := [][]string{{}, {"enter"}, {"enter"}, {"d"}, {"]"}, {"z"}, {"z", "?"}, {"esc", "/"}, {"a", "(", "esc"}, {":"}, {"esc", "2"}, {"j", "tab"}, {"3"},
		{"tab", "z"}, {"esc", "4"}, {"?"}, {"esc", "5"}, {"1", "B"}, {"esc", "ctrl+l"}, {"esc", "m", "a"}}
	for i, state := range states {
		d.resized(120, 40)
		d.press(state...)
		for w := 1 + i; w <= 300; w += 29 {
			for h := 1 + i%11; h <= 100; h += 11 {
				screentest.Exact(t, d.resized(w, h), w, h)
			}
		}
		for _, size := range [][2]int{{1, 1}, {59, 15}, {60, 14}, {60, 15}, {80, 24}, {99, 23}, {100, 24}, {120, 40}, {200, 60}, {300, 100}} {
			screentest.Exact(t, d.resized(size[0], size[1]), size[0], size[1])
		}
		if t.Failed() {
			t.Fatalf("after %v", states[:i+1])
		}
	}
}

// FuzzSize presses keys and resizes: whatever happens, the frame has the size of the terminal.
func FuzzSize(f *testing.F) {
	f.Add(80, 24, "jjkG")
	f.Add(1, 1, "z?:/q")
	f.Add(300, 100, "/verb:\x1b[31m日本")
	d := filled(f)
	f.Fuzz(func(t *testing.T, w, h int, text string) {
		d.t = t
		w, h = w&0xff+1, h&0x7f+1
		screentest.Exact(t, d.resized(w, h), w, h)
		for _, r := range text {
			d.m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
			screentest.Exact(t, d.resized(w, h), w, h)
		}
		d.m.Update(tea.KeyMsg{Type: tea.KeyEsc})
		if err := d.m.crash.failure(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestColoursChangeNoText draws every screen in every theme and with every number of colours: the text is the same, and without
// colours, as with NO_COLOR, there is no escape code.
func TestColoursChangeNoText(t *testing.T) {
	d := filled(t)
	none := d.m.theme
	for _, keys := range [][]string{{"enter", "d", "n", "n", "n"}, {"S"}, {"esc", "g", "m", "j", "D"}, {"esc", "B"}, {"esc", "ctrl+l"}, {"esc", "2"}, {"3"}, {"4"}, {"5"}, {"1", ":"}, {"esc", "/", "v"}} {
		d.m.theme = none
		d.press(keys...)
		for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
			d.m.theme = none
			plain := d.resized(size[0], size[1])
			if raw := escapetest.Find(strings.Join(plain, "\n"), "\n"); raw != "" {
				t.Errorf("after %v, without colours: %s", keys, raw)
			}
			d.colours(plain, fmt.Sprint("after ", keys, " at ", size))
		}
	}
}

// colours draws the frame in all colours.
func (d *driver) colours(plain []string, when string) {
	d.t.Helper()
	for _, name := range []theme.Name{theme.Light, theme.Dark, theme.HighContrast, theme.ColourBlind} {
		for _, profile := range []termenv.Profile{termenv.ANSI, termenv.ANSI256, termenv.TrueColor} {
			d.m.theme = theme.NewTheme(name, profile)
			d.m.theme.Name += theme.Name(fmt.Sprint(profile)) // the profile is no other theme to the panes
			coloured := d.m.render()
			for i, line := range coloured {
				if ansi.Strip(line) != plain[i] {
					d.t.Errorf("%s, %s, %v, line %d:\n%s\n%s", when, name, profile, i, ansi.Strip(line), plain[i])
				}
			}
			if !strings.Contains(strings.Join(coloured, ""), "\x1b[") {
				d.t.Errorf("%s, %s, %v: there are no colours", when, name, profile)
			}
		}
	}
}

// TestRegistry holds the table of commands to what is said of it.
func TestRegistry(t *testing.T) {
	d := filled(t)
	sentence := regexp.MustCompile(`^([A-Z]|etcd ).*[^ ]$`)
	for _, c := range d.m.table.Commands() {
		if c.Title == "" || !sentence.MatchString(c.Help) || len(c.Contexts) == 0 {
			t.Errorf("%s lacks something: %+v", c.ID, c)
		}
		for _, ctx := range c.Contexts {
			d.m.helpOf = ctx
			if help := ansi.Strip(strings.Join(d.m.helpLines(), "\n")); !strings.Contains(help, strings.Fields(c.Help)[0]) {
				t.Errorf("help of %s does not have %s", ctx, c.ID)
			}
		}
		if !d.m.inPalette(c) {
			continue
		}
		d.m.typing.Set(string(c.ID))
		found := false
		for _, listed := range d.m.paletteCommands() {
			found = found || listed == c
		}
		if !found {
			t.Errorf("the palette does not find %s", c.ID)
		}
	}
}

// TestEveryCommandDoesSomething runs each command from the palette, in a state in which it can be done.
func TestEveryCommandDoesSomething(t *testing.T) {
	d := filled(t)
	d.resized(120, 40)
	for _, c := range d.m.table.Commands() {
		if !d.m.inPalette(c) || c.ID == quitID || c.ID == quitAlwaysID {
			continue
		}
		d.press("esc", "esc", "esc", "esc", "1", "g", "j", "j")
		switch c.ID {
		case "detail.unchanged":
			d.press("j", "j", "j", "j", "j", "d")
		case "detail.step":
			d.press("d") // another tab
		}
		before := d.whole()
		d.press(":")
		d.m.typing.Set(string(c.ID))
		d.m.chosen.Cursor = 0
		for i, listed := range d.m.paletteCommands() {
			if listed == c {
				d.m.chosen.Cursor = i
			}
		}
		d.press("enter")
		if d.whole() == before && d.clipboard.Len() == 0 && !quiet[c.ID] {
			t.Errorf("%s does nothing that is seen:\n%s", c.ID, before)
		}
		d.clipboard.Reset()
	}
	for _, key := range []string{"q", "ctrl+c"} {
		d.quit = false
		d.press(key)
		if !d.quit {
			// The message comes from a command.
			d.until("it quits", func() bool { return d.quit })
		}
	}
}

// quiet are the commands of which nothing is seen where the test does them.
var quiet = map[keys.ID]bool{
	keys.Up: true, "steps.previous": true, "request.refresh": true, keys.Left: true, keys.Right: true, quitID: true, quitAlwaysID: true,
	"detail.edit":            true,
	screenID(screen.Capture): true,
}

func (d *driver) whole() string { return strings.Join(d.resized(120, 40), "\n") }

func TestRandomKeys(t *testing.T) {
	d := filled(t)
	t.Chdir(t.TempDir()) // some keys save files
	rnd := rand.New(rand.NewSource(7))
	all := []string{"esc"}
	for _, c := range d.m.table.Commands() {
		for _, k := range c.Keys {
			if _, ok := named[k]; ok || len([]rune(k)) == 1 {
				all = append(all, k)
			}
		}
	}
	for range 300 {
		d.press(all[rnd.Intn(len(all))])
		d.frame()
		if err := d.m.crash.failure(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestForgotten(t *testing.T) {
	d := filled(t)
	d.press("g")
	name := d.recorded[0].Name
	d.server.Forget(name)
	d.until("the row is marked", func() bool { return strings.Contains(d.part("list"), "gone") })
	d.press("ctrl+r")
	if !strings.Contains(d.part("all"), "the server no longer has this journey") {
		t.Errorf("what is on the screen:\n%s", d.part("all"))
	}
	if !strings.Contains(d.part("list"), "gone") {
		t.Errorf("the row is not marked:\n%s", d.part("list"))
	}
}

func TestObjectsNotRecorded(t *testing.T) {
	d := newDriver(t)
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	j := d.recorded[0].DeepCopy()
	j.Status.Level = "Steps"
	for i := range j.Status.Steps {
		j.Status.Steps[i].Before, j.Status.Steps[i].After = nil, nil
	}
	d.server.Put(j)
	d.until("it is there", func() bool { return d.requests() == 1 })
	d.press("d")
	if text := d.part("detail"); !strings.Contains(text, "objects were not recorded") || !strings.Contains(text, "kx trace record") {
		t.Errorf("the screen says\n%s", text)
	}
}

func TestRunningEnds(t *testing.T) {
	d := newDriver(t)
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	j := d.recorded[0].DeepCopy()
	j.Status.Phase, j.Status.Code = v1alpha1.JourneyRunning, 0
	j.Status.Steps = j.Status.Steps[:16]
	d.server.Put(j)
	d.until("it runs", func() bool { return strings.Contains(d.part("steps"), "16 steps") })
	d.server.Put(d.recorded[0])
	all := fmt.Sprintf("%d steps", len(d.recorded[0].Status.Steps))
	d.until("all its steps are there", func() bool { return strings.Contains(d.part("steps"), all) })
}

func TestPanicIsReported(t *testing.T) {
	for name, provoke := range map[string]func(*driver){
		"in Update":             func(d *driver) { d.m.current = nil; d.m.Update(tea.KeyMsg{Type: tea.KeyEnter}) },
		"in View":               func(d *driver) { d.m.current = nil; d.m.dirty = true; d.m.View() },
		"in a command":          func(d *driver) { d.m.guardPanic(func() tea.Msg { panic("it broke") })() },
		"in what a screen does": func(d *driver) { host{d.m}.Do(func() func() tea.Cmd { panic("it broke") })() },
		"in a screen's goroutine": func(d *driver) {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer screen.Host(host{d.m}).Guard()
				panic("it broke")
			}()
			<-ended
		},
	} {
		d := filled(t)
		ended := false
		d.m.crash.onPanic = func() { ended = true }
		d.press("j")
		provoke(d)
		err := d.m.crash.failure()
		if err == nil || !ended {
			t.Fatalf("%s: %v, ended: %v", name, err, ended)
		}
		file := regexp.MustCompile(`is in (\S+)$`).FindStringSubmatch(err.Error())
		if file == nil {
			t.Fatalf("%s: no file is named: %v", name, err)
		}
		text, err := os.ReadFile(file[1])
		if err != nil || !strings.Contains(string(text), "goroutine") || !strings.Contains(string(text), "tea.KeyMsg j") || !strings.Contains(string(text), "tui.") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

func TestTooSmall(t *testing.T) {
	d := filled(t)
	frame := strings.Join(d.resized(40, 10), "\n")
	if !strings.Contains(frame, fmt.Sprintf("needs %dx%d", layout.MinWidth, layout.MinHeight)) {
		t.Errorf("%s", frame)
	}
	d.press("q")
	d.until("it quits", func() bool { return d.quit })
}

// TestProgram runs the screen as a program, as far as that needs no terminal: it ends when it is told to, when its
// context ends, and when something in it panics.
func TestProgram(t *testing.T) {
	for name, end := range map[string]struct {
		do    func(*tea.Program, context.CancelFunc)
		fails bool
	}{
		"a key":       {do: func(p *tea.Program, _ context.CancelFunc) { p.Send(tea.KeyMsg{Type: tea.KeyCtrlC}) }},
		"the context": {do: func(_ *tea.Program, cancel context.CancelFunc) { cancel() }},
		"a panic":     {do: func(p *tea.Program, _ context.CancelFunc) { p.Send(editedMsg{}) }, fails: true},
	} {
		server := tuitest.New(t)
		leaks := goleak.IgnoreCurrent()
		ctx, cancel := context.WithCancel(context.Background())
		s, err := New(ctx, Options{CrashDir: t.TempDir(), Start: func(context.Context) (Server, error) { return Server{Config: server.Config}, nil }}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		p := tea.NewProgram(s.Model(), tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithoutSignals())
		s.crash.onPanic = func() { go p.Quit() }
		ended := make(chan error, 1)
		go func() {
			_, err := p.Run()
			ended <- err
		}()
		p.Send(tea.WindowSizeMsg{Width: 80, Height: 24})
		end.do(p, cancel)
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatalf("%s does not end it", name)
		}
		cancel()
		if err := s.Close(); (err != nil) != end.fails {
			t.Errorf("%s: %v", name, err)
		}
		server.EndWatches()
		goleak.VerifyNone(t, leaks)
	}
}

// TestMissingRequests: what the server left out is explained beside the list, and takes no room from the header; who
// stops following is told what he misses.
func TestMissingRequests(t *testing.T) {
	d := newDriver(t)
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.put("2", "4")
	before := d.part("header")
	d.server.LeaveOut(7)
	d.until("it is told", func() bool { return strings.Contains(d.m.View(), "7 left out: too many at once") })
	if after := d.part("header"); after != before {
		t.Errorf("the header was\n%s\nand is\n%s", before, after)
	}
	d.press("k")
	d.put("6", "12")
	if got := d.m.View(); !strings.Contains(got, "2 newer · F") {
		t.Error(got)
	}
	d.press("F")
	if got := d.m.View(); !strings.Contains(got, "follow on") {
		t.Error(got)
	}
}

package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/capture"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/theme"
)

// stateText is what is said in the line of state, and asked there.
func (d *driver) stateText() string {
	d.m.dirty = true // it may have been said from outside of Update
	return strings.TrimSpace(d.part("state"))
}

func TestAsk(t *testing.T) {
	d := filled(t)
	answered := ""
	ask := func() {
		host{d.m}.Ask("name it", "old", func(answer string) tea.Cmd {
			answered = answer
			return nil
		})
	}
	ask()
	if got := d.stateText(); got != "name it old▏" {
		t.Errorf("asked: %q", got)
	}
	d.press("home", "x1q:", "enter")
	if answered != "x1q:old" {
		t.Errorf("the answer is %q", answered)
	}
	answered = ""
	ask()
	d.press("esc", "j")
	if answered != "" || d.m.context() != keys.List {
		t.Errorf("given up: %q in %s", answered, d.m.context())
	}
}

// TestPropose types over a number that is proposed, takes it, and edits it.
func TestPropose(t *testing.T) {
	d := filled(t)
	for _, test := range []struct {
		press      []string
		line, want string
	}{
		{nil, "[271]▏", "271"},
		{[]string{"1"}, "1▏", "1"},
		{[]string{"end", "1"}, "2711▏", "2711"},
		{[]string{"backspace"}, "27▏", "27"},
	} {
		answered := ""
		host{d.m}.Propose("from where?", "271", func(answer string) tea.Cmd {
			answered = answer
			return nil
		})
		d.press(test.press...)
		if got := d.stateText(); got != "from where? "+test.line {
			t.Errorf("%v: %q", test.press, got)
		}
		if d.press("enter"); answered != test.want {
			t.Errorf("%v: the answer is %q", test.press, answered)
		}
	}
}

func TestConfirm(t *testing.T) {
	d := filled(t)
	done := 0
	for _, test := range []struct {
		key  string
		want int
	}{{"n", 0}, {"esc", 0}, {"j", 0}, {"y", 1}} {
		host{d.m}.Confirm("do it?", func() tea.Cmd {
			done++
			return nil
		})
		if got := d.stateText(); got != "do it? y/n" {
			t.Errorf("asked: %q", got)
		}
		d.press(test.key, "esc")
		if done != test.want {
			t.Errorf("%s: done %d times", test.key, done)
		}
	}
}

// leaving is a screen that has something to lose.
type leaving struct {
	screen.Screen
	lost string
}

func (l *leaving) QuitWarning() string { return l.lost }

func TestQuitAsks(t *testing.T) {
	d := filled(t)
	l := &leaving{Screen: d.capture, lost: "2 requests are held"}
	d.m.order[0] = l
	d.press("q")
	if got := d.stateText(); d.quit || !strings.Contains(got, "2 requests are held. Quit?") {
		t.Errorf("q says %q", got)
	}
	d.press("n")
	d.resized(40, 10)
	d.press("q")
	if frame := strings.Join(d.resized(40, 10), "\n"); !strings.Contains(frame, "held. Quit? y/n") {
		t.Errorf("where there is no room:\n%s", frame)
	}
	d.press("y")
	d.until("it quits", func() bool { return d.quit })
	d.quit = false
	d.press("ctrl+c")
	d.until("ctrl+c asks nothing", func() bool { return d.quit })
}

func TestCopyHasALimit(t *testing.T) {
	d := filled(t)
	d.run(d.m.copy(strings.Repeat("ä", clipboardMost)))
	d.settle()
	if got := d.stateText(); !strings.Contains(got, fmt.Sprintf("the first %d of %d bytes", clipboardMost, 2*clipboardMost)) {
		t.Errorf("it says %q", got)
	}
	if d.clipboard.Len() < clipboardMost || d.clipboard.Len() > 2*clipboardMost {
		t.Errorf("%d bytes are written", d.clipboard.Len())
	}
}

func TestGoAndBack(t *testing.T) {
	d := filled(t)
	d.press("g")
	d.run(host{d.m}.Go(screen.ToLog{}))
	if d.m.current.Name() != screen.Log || !strings.Contains(d.part("header"), "[Log]") {
		t.Errorf("the screen is %s: %s", d.m.current.Name(), d.part("header"))
	}
	d.run(host{d.m}.Go(screen.ToRequest{Journey: d.recorded[0].Name}))
	d.settle()
	for _, want := range []screen.Name{screen.Log, screen.Capture} {
		d.press("esc")
		if d.m.current.Name() != want {
			t.Errorf("esc leads to %s, not to %s", d.m.current.Name(), want)
		}
	}
	d.press("ctrl+l")
	d.run(host{d.m}.Back())
	if d.m.current.Name() != screen.Capture {
		t.Errorf("back leads to %s", d.m.current.Name())
	}
	for range 2 * pathMost {
		d.m.lead(screen.ToLog{})
		d.m.lead(screen.ToRequests{})
	}
	if len(d.m.path) > pathMost {
		t.Errorf("there are %d screens to go back through", len(d.m.path))
	}
	d.m.lead(screen.ToLog{})
	d.press("1", "esc", "esc")
	if d.m.current.Name() != screen.Capture || len(d.m.path) > 0 {
		t.Errorf("a digit leaves %v to go back through", d.m.path)
	}
}

func TestMouse(t *testing.T) {
	d := filled(t)
	click := func(x, y int, button tea.MouseButton) {
		d.send(tea.MouseMsg{X: x, Y: y, Button: button, Action: tea.MouseActionPress})
		d.settle()
	}
	d.press("ctrl+l")
	tabs := d.m.tabs()
	click(tabs[0].x+1, 0, tea.MouseButtonLeft)
	if d.m.current.Name() != screen.Capture {
		t.Errorf("a click on the tab leads to %s", d.m.current.Name())
	}
	d.press("g")
	before := d.part("list")
	click(5, 5, tea.MouseButtonWheelDown)
	if d.part("list") == before {
		t.Error("the wheel does nothing in the list")
	}
	d.press(":")
	click(20, 8, tea.MouseButtonWheelDown)
	if d.m.chosen.Cursor != 1 {
		t.Errorf("the wheel leads the palette to row %d", d.m.chosen.Cursor)
	}
	d.press("esc", "enter", "enter")
	// What has a name on the screen is clicked by its name.
	clickOn := func(text string) {
		t.Helper()
		for y, line := range d.frame() {
			if before, _, ok := strings.Cut(line, text); ok {
				click(draw.Width(before)+1, y, tea.MouseButtonLeft)
				return
			}
		}
		t.Fatalf("%q is not on the screen:\n%s", text, strings.Join(d.frame(), "\n"))
	}
	for _, name := range []string{" Source ", " Object ", " Step "} {
		clickOn(name)
		if open := "[" + strings.TrimSpace(name) + "]"; !strings.Contains(d.part("all"), open) {
			t.Errorf("a click on the tab does not open %s", open)
		}
	}
	clickOn("? help")
	if d.m.overlay != keys.Help {
		t.Error("a click on the hint does not open help")
	}
	clickOn("esc back")
	if d.m.overlay != keys.None {
		t.Error("a click on the hint does not close help")
	}
	d.press("M")
	if !strings.Contains(d.stateText(), "the terminal's") {
		t.Errorf("M says %q", d.stateText())
	}
}

func TestEditor(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // as Windows calls it
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "code --wait")
	if got := userEditor(); strings.Join(got, "|") != "code|--wait" {
		t.Errorf("the editor is %q", got)
	}
	// The go command stands in for an editor: there is one wherever this test runs.
	for command, want := range map[string]string{"go version": "<nil> kind: Pod\n", "no-such-editor": "VISUAL", "go run": "exit status"} {
		t.Setenv("EDITOR", command)
		e := &editorRun{ctx: context.Background(), text: []byte("kind: Pod\n"), suffix: ".yaml"}
		err := e.Run()
		if got := fmt.Sprint(err, " ", string(e.edited)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", command, got)
		}
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	file, err := temporary([]byte("kind: Pod\n"), ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' || !strings.HasSuffix(file, ".yaml") {
		t.Errorf("%s, %v, %v", file, info, err)
	}
	if text, err := readEdited(file); err != nil || string(text) != "kind: Pod\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Truncate(file, editMost+1); err != nil {
		t.Fatal(err)
	}
	if _, err := readEdited(file); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("a file that is too long: %v", err)
	}
}

func TestThemes(t *testing.T) {
	d := filled(t)
	for _, want := range theme.Names { // it begins with none, the last
		d.press("ctrl+t")
		if d.m.theme.Name != want || d.stateText() != "theme "+string(want) {
			t.Errorf("the theme is %s, and it says %q", d.m.theme.Name, d.stateText())
		}
	}
}

// again is a program with a file of state.
func again(t *testing.T, file string) *model {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{StateFile: file, CrashDir: t.TempDir(), Start: func(context.Context) (Server, error) { return Server{}, ctx.Err() }}
	s, err := New(ctx, o, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		s.model.close()
	})
	return s.model
}

func TestState(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	file := filepath.Join(t.TempDir(), "kx", "tui.json")
	m := again(t, file)
	m.mouse = false
	m.keptTheme = theme.ColourBlind
	m.resize(120, 40)
	m.key("+")
	m.key("3")
	m.key("-")
	m.key("1")
	moved := map[screen.Name]layout.Borders{screen.Capture: {Down: 5}, screen.Etcd: {Across: -5}}
	if err := m.current.(screen.Keeper).Restore(json.RawMessage(`{"filter":"code:404"}`)); err != nil {
		t.Fatal(err)
	}
	if err := m.keep(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	m = again(t, file)
	m.resize(80, 24)
	if m.mouse || m.theme.Name != theme.ColourBlind || m.note.text != "" || !strings.Contains(strings.Join(m.render(), "\n"), "/ code:404") {
		t.Errorf("mouse %v, theme %s, %q", m.mouse, m.theme.Name, m.note.text)
	}
	for _, s := range m.order {
		if *s.Borders() != moved[s.Name()] {
			t.Errorf("%s has %+v, want %+v", s.Name(), *s.Borders(), moved[s.Name()])
		}
	}
	for text, want := range map[string]string{
		`{"theme":"pink"}`: "pink",
		`{`:                "tui.json",
		`{"screens":{"Capture":{"filter":"code:"}}}`: "Capture: the filter",
		`{"screens":{"Nowhere":1}}`:                  "",
		"":                                           "tui.json",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := again(t, file)
		if want == "" && m.note.text != "" || !strings.Contains(m.note.text, want) {
			t.Errorf("%s: it says %q", text, m.note.text)
		}
		if err := m.keep(); err != nil {
			t.Error(err)
		}
	}
}

func TestKeysFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	for text, want := range map[string]string{
		"quit: f9\nlist.follow: f5": "",
		"quit: f9\nfly: x":          "keys.yaml: fly: there is no such command",
		"quit: j":                   `"j" is both`,
		"quit: [":                   "keys.yaml",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := New(context.Background(), Options{KeysFile: file, CrashDir: t.TempDir()}, &strings.Builder{})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer s.model.close()
		if c := s.model.table.Resolve(keys.List, "f9"); c == nil || c.ID != quitID || s.model.table.Resolve(keys.List, "q") != nil {
			t.Errorf("Q is %+v", c)
		}
	}
}

func TestSavedCapture(t *testing.T) {
	d := filled(t) // for what was recorded
	o := Options{Saved: &Capture{File: "kx.ndjson", Journeys: d.recorded, Dropped: 3}, CrashDir: t.TempDir(), Theme: theme.None}
	s, err := New(context.Background(), o, &d.clipboard)
	if err != nil {
		t.Fatal(err)
	}
	d.m.close()
	d.m, d.capture = s.model, s.model.screens[screen.Capture].(*capture.Screen)
	d.messages = make(chan tea.Msg, 64)
	d.run(d.m.Init())
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.until("all are there", func() bool { return d.requests() == len(d.recorded) })
	d.press("g", "enter")
	frame := d.part("all")
	for _, want := range []string{"kx.ndjson", "saved", "3 dropped", "34 steps"} {
		if !strings.Contains(frame, want) {
			t.Errorf("%q is not seen:\n%s", want, frame)
		}
	}
	d.run(host{d.m}.Go(screen.ToRules{}))
	if d.m.current.Name() != screen.Capture || !strings.Contains(d.stateText(), "there is no server") {
		t.Errorf("the screen is %s, it says %q", d.m.current.Name(), d.stateText())
	}
	d.press("T")
	if !strings.Contains(d.stateText(), "there is no server") {
		t.Errorf("the demo: %q", d.stateText())
	}
}

// TestSavedNames has the names of a capture be one word of a command, whatever a shell makes of them.
func TestSavedNames(t *testing.T) {
	j := &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Method: "GET", URI: "/x", Verb: "get"}}
	j.Name, j.Status.Steps = "a; touch b #", make([]v1alpha1.Step, 1)
	d := openSaved(t, []*v1alpha1.Journey{j}, lang.English)
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.until("it is there", func() bool { return d.requests() == 1 })
	d.press("g", "enter", "S")
	if got := d.part("same"); !strings.Contains(got, "kx trace show 'a; touch b #' --story") {
		t.Errorf("%q", got)
	}
}

// TestEscAndAKey has esc and the next key come together, as they do over a slow line.
func TestEscAndAKey(t *testing.T) {
	d := filled(t)
	d.press("g", "?")
	d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("j"), Alt: true})
	d.settle()
	if d.m.context() != keys.List || !strings.Contains(d.part("list"), "2 of") {
		t.Errorf("in %s:\n%s", d.m.context(), d.part("list"))
	}
}

func TestRevisions(t *testing.T) {
	d := filled(t)
	r := &d.m.revisions
	cache := func(etcd, watches int64, state v1alpha1.CacheState) (c v1alpha1.Cache) {
		c.Status.EtcdRevision, c.Status.Watches, c.Status.State = etcd, watches, state
		return c
	}
	r.again = true
	if !r.take(revisionsMsg{caches: []v1alpha1.Cache{cache(117, 1, v1alpha1.CacheFresh), cache(115, 2, v1alpha1.CacheLagging)}}) || r.again {
		t.Error("what happened meanwhile is not asked for")
	}
	if header := strings.Join(d.resized(140, 40)[:1], ""); !strings.Contains(header, "watches 3  caches behind 1  etcd rev 117") {
		t.Errorf("%q", header)
	}
	if !r.take(revisionsMsg{caches: []v1alpha1.Cache{cache(117, 1, v1alpha1.CacheLagging)}}) {
		t.Error("that a cache is no longer behind is not asked for")
	}
	if r.take(revisionsMsg{caches: []v1alpha1.Cache{cache(117, 0, v1alpha1.CacheUninitialized)}}) || strings.Contains(strings.Join(r.facts(), " "), "behind") {
		t.Errorf("a cache that nobody asked for counts as behind: %q", r.facts())
	}
	if r.take(revisionsMsg{err: errors.New("gone")}) || len(r.facts()) > 0 {
		t.Errorf("after an error: %q", r.facts())
	}
}

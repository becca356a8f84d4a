package tui

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/cockroachdb/datadriven"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/subject"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/capture"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/theme"
)

// patience is how long a test waits for what must happen.
const patience = 3 * time.Minute

// driver is who sits before the screen: it presses keys, runs what the screen asks for, and waits until that is done.
type driver struct {
	t         testing.TB
	m         *model
	capture   *capture.Screen
	server    *tuitest.Server
	recorded  []*v1alpha1.Journey
	messages  chan tea.Msg
	clipboard bytes.Buffer
	quit      bool
	had       map[string]bool // the numbers of the journeys that the server has
}

func newDriver(t testing.TB) *driver {
	t.Helper()
	return newDriverIn(t, lang.English)
}

func newDriverIn(t testing.TB, language lang.Language) *driver {
	t.Helper()
	return newDriverWith(t, language, func(*driver, *Options) {})
}

// newDriverWith is newDriverIn with options that a test changes.
func newDriverWith(t testing.TB, language lang.Language, change func(*driver, *Options)) *driver {
	t.Helper()
	t.Setenv("HOME", t.TempDir()) // what the screen calls ~
	d := &driver{t: t, had: map[string]bool{}, server: tuitest.New(t), messages: make(chan tea.Msg, 64), recorded: tuitest.Recorded(t, "testdata/journeys.json")}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		d.m.close()
	})
	server := Server{Config: named7443(d.server.Config), Kubeconfig: "/home/you/.kx/kubeconfig", InProcess: true}
	o := Options{Zone: time.UTC, CrashDir: t.TempDir(), Theme: theme.None, Language: language, Start: func(context.Context) (Server, error) { return server, nil }}
	change(d, &o)
	s, err := New(ctx, o, &d.clipboard)
	if err != nil {
		t.Fatal(err)
	}
	d.m = s.model
	d.capture = d.m.screens[screen.Capture].(*capture.Screen)
	d.run(d.m.Init())
	return d
}

// named7443 is a config that reaches a server by a name that is the same in every run.
func named7443(config *rest.Config) *rest.Config {
	address := strings.TrimPrefix(config.Host, "http://")
	return &rest.Config{Host: "http://127.0.0.1:7443", Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
}

// requests is how many requests the screen has.
func (d *driver) requests() int {
	n, _ := d.capture.Status()
	return n
}

func (d *driver) phase() session.Phase {
	_, state := d.capture.Status()
	return state.Phase
}

// run does what the screen asked for, on a goroutine of its own as Bubble Tea does.
func (d *driver) run(cmd tea.Cmd) {
	if cmd != nil {
		messages := d.messages // a test that begins another screen has another channel for it
		go func() { messages <- cmd() }()
	}
}

// send gives the screen a message.
func (d *driver) send(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			d.run(cmd)
		}
	case tea.QuitMsg:
		d.quit = true
	default:
		_, cmd := d.m.Update(msg)
		d.run(cmd)
	}
}

// informed reports whether the screen knows what a server that it follows records: the header says so.
func (d *driver) informed() bool {
	return d.phase() != session.Live || d.m.held.View().Recording.Known
}

// until gives the screen what its commands bring, until something holds and the screen waits for nothing but news.
func (d *driver) until(what string, yes func() bool) {
	d.t.Helper()
	deadline := time.After(patience)
	for !yes() || d.m.busy > 0 || !d.informed() {
		select {
		case msg := <-d.messages:
			d.send(msg)
		case <-deadline:
			d.t.Fatalf("it did not come to pass that %s:\n%s", what, d.m.View())
		}
	}
}

// named are keys by the names that the screen has for them.
var named = func() map[string]tea.KeyType {
	all := map[string]tea.KeyType{}
	for t := tea.KeyType(-100); t < 128; t++ {
		if name := (tea.Key{Type: t}).String(); len([]rune(name)) > 1 && t != tea.KeyRunes {
			all[name] = t
		}
	}
	return all
}()

// press presses keys. What has no name is typed, in one message, as it comes over a slow line.
func (d *driver) press(pressed ...string) {
	for _, k := range pressed {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		if t, ok := named[k]; ok {
			msg = tea.KeyMsg{Type: t}
		}
		d.send(msg)
		d.settle()
	}
}

// settle waits until every command but the wait for news has answered.
func (d *driver) settle() { d.until("all is answered", func() bool { return true }) }

// put lets the server have journeys, by the number in their names, and waits for them.
func (d *driver) put(numbers ...string) {
	d.t.Helper()
	for _, n := range numbers {
		found := false
		for _, j := range d.recorded {
			if strings.HasSuffix(j.Name, "-"+n) {
				found = true
				before, again := d.requests(), d.had[n]
				d.had[n] = true
				d.server.Put(j)
				d.until(j.Name+" is there", func() bool { return again || d.requests() > before })
			}
		}
		if !found {
			d.t.Fatalf("no journey %s was recorded", n)
		}
	}
}

// frame is what is on the screen, which must be of its size.
func (d *driver) frame() []string {
	d.t.Helper()
	lines := strings.Split(d.m.View(), "\n")
	screentest.Exact(d.t, lines, d.m.w, d.m.h)
	return lines
}

// part is a part of the frame, by its name.
func (d *driver) part(name string) string {
	lines := d.frame()
	f := d.m.frame
	pane := func(which int) layout.Rect { // a story that zooms looks at all
		r := d.capture.Area(which)
		if other := layout.Steps + layout.Detail - which; which != layout.List && r.W == 0 {
			r = d.capture.Area(other) // they share one place
		}
		r.Y += f.Screen.Y
		return r
	}
	rect, ok := map[string]layout.Rect{
		"all": {W: d.m.w, H: d.m.h}, "header": f.Header, "filter": {Y: f.Screen.Y, W: f.Screen.W, H: 1}, "same": f.SameAs, "state": f.State, "hints": f.Hint,
		"list": pane(layout.List), "steps": pane(layout.Steps), "detail": pane(layout.Detail),
	}[name]
	if !ok {
		d.t.Fatalf("the screen has no part %q", name)
	}
	var out []string
	for _, l := range lines[rect.Y : rect.Y+rect.H] {
		out = append(out, strings.TrimRight(ansi.Cut(l, rect.X, rect.X+rect.W), " "))
	}
	return strings.Join(out, "\n") + "\n"
}

// TestStories runs the scripts: what is done, and what is then on the screen, in Chinese if the name of the script begins so. With
// -rewrite it writes what is there.
//
//	size 120x40          the terminal's size
//	put 2 4              the server has these journeys
//	press j enter        keys; a name that is not a key's is typed
//	type "verb:get a"    text
//	paste "jj"           text from the clipboard
//	wait 3               until the list has that many rows
//	trouble 503          the server answers so, or is gone; 0 ends it
//	frame steps          a part of the screen: all header filter list steps detail same state hints
//	clipboard            what was copied
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, file string) {
		language := lang.English
		if strings.HasPrefix(filepath.Base(file), "chinese") {
			language = lang.Chinese
		}
		d := newDriverIn(t, language)
		datadriven.RunTest(t, file, func(t *testing.T, td *datadriven.TestData) string {
			d.t = t
			return d.do(td)
		})
	})
}

// do does one command of a script.
func (d *driver) do(td *datadriven.TestData) string {
	var args []string
	for _, a := range td.CmdArgs {
		args = append(args, a.Key)
	}
	switch td.Cmd {
	case "size":
		var w, h int
		if _, err := fmt.Sscanf(args[0], "%dx%d", &w, &h); err != nil {
			d.t.Fatal(err)
		}
		d.send(tea.WindowSizeMsg{Width: w, Height: h})
		d.until("the server is there", func() bool { return d.phase() != session.Connecting })
	case "put":
		d.put(args...)
	case "press":
		d.press(args...)
	case "type":
		d.press(strings.TrimSpace(td.Input))
	case "paste":
		d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(strings.TrimSpace(td.Input)), Paste: true})
		d.settle()
	case "wait":
		n, _ := strconv.Atoi(args[0])
		d.until("there are "+args[0]+" rows", func() bool { return d.requests() == n && d.phase() == session.Live })
	case "trouble":
		code, _ := strconv.Atoi(args[0])
		if args[0] == "gone" {
			code = tuitest.Gone
		}
		d.server.Refuse(code)
		d.until("the screen knows", func() bool { return (d.phase() == session.Retrying) == (code != 0) })
	case "frame":
		return d.part(args[0])
	case "clipboard":
		defer d.clipboard.Reset()
		return fmt.Sprintf("%q\n", d.clipboard.String())
	default:
		d.t.Fatalf("no command %q", td.Cmd)
	}
	if d.quit {
		return "quit\n"
	}
	return ""
}

// BenchmarkFilter asks filters of 50,000 recorded requests with their steps and objects.
func BenchmarkFilter(b *testing.B) {
	recorded := tuitest.Recorded(b, "testdata/journeys.json")
	all := make([]*v1alpha1.Journey, 50_000)
	for i := range all {
		j := *recorded[i%len(recorded)]
		j.Name = fmt.Sprint("rec-", i)
		all[i] = &j
	}
	for _, text := range []string{"", "verb:update code:409", "step(etcd.txn why:still)", "store.try-update -> etcd.txn", "steps(etcd.*)>1", "touched:data.*"} {
		b.Run(text, func(b *testing.B) {
			f, err := filter.Parse(text, trace.Names)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := subject.Select(all, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 120, Height: 40}, {Width: 200, Height: 60}} {
		b.Run(fmt.Sprintf("%dx%d", size.Width, size.Height), func(b *testing.B) {
			d := newDriver(b)
			d.send(size)
			d.put("2", "4", "12")
			d.press("k")
			var move bool
			for b.Loop() {
				move = !move
				id := map[bool]keys.ID{true: keys.Down, false: keys.Up}[move]
				d.m.do(d.m.table.Lookup(id))
				d.m.dirty = true
				d.m.View()
			}
		})
	}
}

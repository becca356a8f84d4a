package screentest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/theme"
)

// patience limits the wait for an event that must happen.
const patience = 3 * time.Minute

// Question is an open question of a screen: Then takes a line, Yes takes yes or no.
type Question struct {
	Text, Initial string
	Then          func(string) tea.Cmd
	Yes           func() tea.Cmd
}

// Take takes a choice of the open menu: the one whose title begins with text, or else the one that typing text makes.
func (h *Host) Take(text string) {
	h.t.Helper()
	if h.Menu == nil {
		h.t.Fatal("no menu is open")
	}
	menu := h.Menu
	h.Menu = nil
	for _, c := range menu.Choices {
		if strings.HasPrefix(c.Title, text) {
			if c.Why != "" {
				h.Complain("can't " + c.Title + ": " + c.Why)
				return
			}
			h.Run(c.Do())
			return
		}
	}
	if menu.Typed == nil {
		h.t.Fatalf("the menu has no %q", text)
	}
	c, err := menu.Typed(text)
	if err != nil {
		h.Complain(err.Error())
		return
	}
	h.Run(c.Do())
}

// Edit is a text that a screen opened in the editor.
type Edit struct {
	Text   []byte
	Suffix string
	Then   func([]byte, error) tea.Cmd
}

// Host implements screen.Host and records the calls. Only the test's goroutine uses it, except for Guard and Changed.
type Host struct {
	t       testing.TB
	ctx     context.Context
	client  *api.Client
	screen  screen.Screen
	table   *keys.Table
	changed chan struct{}
	panics  chan string
	swept   int // counts the calls of Sizes
	gone    atomic.Bool

	// Known are the reasons that filters can ask for; none by default.
	Known trace.Catalogue
	// Look is the theme; plain by default.
	Look theme.Theme

	// Said, Complained and Copied record the texts of the screen, in order. A test may empty them.
	Said, Complained, Copied []string
	// Went records the targets that the screen led to; Backs and Quits count the calls of Back and Quit.
	Went  []screen.Target
	Quits int
	Backs int
	// Questions and Edits hold the questions and edits that the test has not answered yet.
	Questions []Question
	Edits     []Edit
	// Menu is the open menu, or nil.
	Menu *screen.Menu
}

var _ screen.Host = (*Host)(nil)

// Address is the server's address as the screen sees it, the same in every run.
const Address = "http://127.0.0.1:7443"

// New makes a host with a server that handler implements.
func New(t testing.TB, handler http.Handler) *Host {
	t.Helper()
	h := &Host{t: t, changed: make(chan struct{}, 1), panics: make(chan string, 1), Look: theme.Plain()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.gone.Load() {
			panic(http.ErrAbortHandler) // the client sees a connection that is closed
		}
		handler.ServeHTTP(w, r)
	}))
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(server.URL, "http://"))
	}
	client, err := api.New(&rest.Config{Host: Address, Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.ctx, h.client = ctx, client
	t.Cleanup(func() {
		cancel()
		if h.screen != nil {
			h.screen.Close()
		}
		client.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return h
}

// Gone makes the server unreachable, or reachable again. The screen is notified when it is back.
func (h *Host) Gone(gone bool) {
	h.gone.Store(gone)
	if r, ok := h.screen.(screen.Retrier); ok && !gone {
		h.Run(r.Retry())
	}
}

// Attach gives the host its screen, shows it, and checks its keys.
func (h *Host) Attach(s screen.Screen) {
	h.t.Helper()
	h.screen = s
	shared := func(id keys.ID) tea.Cmd {
		cmd, _ := s.Handle(id)
		return cmd
	}
	own := append(s.Commands(), keys.Command{ID: keys.Back, Meaning: keys.GoBack, Contexts: s.Contexts(),
		Do: func() tea.Cmd { return shared(keys.Back) }})
	table, err := keys.New(append(own, keys.SharedCommands(s.Contexts(), own, shared)...))
	if err != nil {
		h.t.Fatal(err)
	}
	h.table = table
	h.Size(120, 36)
	h.Run(s.Show(nil))
}

// Size gives the screen a size.
func (h *Host) Size(width, height int) { h.screen.SetSize(width, height) }

// Show leads the screen to a target.
func (h *Host) Show(to screen.Target) { h.Run(h.screen.Show(to)) }

// Run runs a command of the screen, and the commands that its answers return.
func (h *Host) Run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			h.Run(c)
		}
	case func() tea.Cmd:
		if msg != nil {
			h.Run(msg())
		}
	default:
		h.t.Fatalf("a screen sent a message: %T", msg)
	}
}

// Press presses keys, by their names in the table. A key without a command in its context, and without a line to be
// typed into, fails the test.
func (h *Host) Press(pressed ...string) {
	h.t.Helper()
	for _, key := range pressed {
		ctx := h.screen.Context()
		c := h.table.Resolve(ctx, key)
		switch {
		case c == nil && ctx.Typing:
			h.screen.Type([]rune(key))
		case c == nil:
			h.t.Fatalf("%q means nothing in %s", key, ctx)
		case c.DisabledReason() != "":
			h.Complain("can't " + c.Title + ": " + c.DisabledReason())
		default:
			h.Run(c.Do())
		}
	}
}

// Command runs a command by its ID, as the palette would: in the first of its contexts that the screen can focus.
func (h *Host) Command(id keys.ID) {
	h.t.Helper()
	c := h.table.Lookup(id)
	if c == nil {
		h.t.Fatalf("there is no command %s", id)
	}
	for _, ctx := range c.Contexts {
		if c.AppliesIn(h.screen.Context()) || h.screen.Focus(ctx) {
			break
		}
	}
	if why := c.DisabledReason(); why != "" {
		h.Complain("can't " + c.Title + ": " + why)
		return
	}
	h.Run(c.Do())
}

// Type types text.
func (h *Host) Type(text string) { h.screen.Type([]rune(text)) }

// Click presses the left button at a cell of the screen, or turns the wheel there.
func (h *Host) Click(x, y, wheel int) { h.Run(h.screen.Mouse(x, y, wheel)) }

// Answer answers the latest question with a line, or with yes.
func (h *Host) Answer(line string) {
	h.t.Helper()
	if len(h.Questions) == 0 {
		h.t.Fatal("nothing was asked")
	}
	q := h.Questions[len(h.Questions)-1]
	h.Questions = h.Questions[:len(h.Questions)-1]
	if q.Yes != nil {
		h.Run(q.Yes())
		return
	}
	h.Run(q.Then(line))
}

// Save ends the latest edit.
func (h *Host) Save(text string, err error) {
	h.t.Helper()
	if len(h.Edits) == 0 {
		h.t.Fatal("nothing is edited")
	}
	e := h.Edits[len(h.Edits)-1]
	h.Edits = h.Edits[:len(h.Edits)-1]
	h.Run(e.Then([]byte(text), err))
}

// Until drains the screen, whenever it has something, until yes holds.
func (h *Host) Until(what string, yes func() bool) {
	h.t.Helper()
	deadline := time.After(patience)
	for !yes() {
		select {
		case <-h.changed:
			h.Run(h.screen.Drain())
		case text := <-h.panics:
			h.t.Fatal(text)
		case <-deadline:
			h.t.Fatalf("it did not come to pass that %s:\n%s", what, strings.Join(h.screen.Render(), "\n"))
		}
	}
}

func (h *Host) Context() context.Context { return h.ctx }

func (h *Host) API() *api.Client { return h.client }

func (h *Host) Theme() theme.Theme { return h.Look }

func (h *Host) Zone() *time.Location { return time.UTC }

func (h *Host) Reasons() trace.Catalogue { return h.Known }

func (h *Host) Kubeconfig() string { return "/home/you/.kx/kubeconfig" }

func (h *Host) KubeContext() string { return "" }

func (h *Host) Say(text string) { h.Said = append(h.Said, text) }

func (h *Host) Complain(text string) { h.Complained = append(h.Complained, text) }

func (h *Host) Go(to screen.Target) tea.Cmd {
	h.Went = append(h.Went, to)
	return nil
}

func (h *Host) Back() tea.Cmd {
	h.Backs++
	return nil
}

func (h *Host) Copy(text string) tea.Cmd {
	h.Copied = append(h.Copied, text)
	return nil
}

func (h *Host) Ask(text, initial string, then func(string) tea.Cmd) tea.Cmd {
	h.Questions = append(h.Questions, Question{Text: text, Initial: initial, Then: then})
	return nil
}

func (h *Host) Propose(text, proposal string, then func(string) tea.Cmd) tea.Cmd {
	return h.Ask(text, proposal, then)
}

func (h *Host) Choose(menu screen.Menu) tea.Cmd {
	h.Menu = &menu
	return nil
}

func (h *Host) Confirm(text string, then func() tea.Cmd) tea.Cmd {
	h.Questions = append(h.Questions, Question{Text: text, Yes: then})
	return nil
}

func (h *Host) Edit(text []byte, suffix string, then func([]byte, error) tea.Cmd) tea.Cmd {
	h.Edits = append(h.Edits, Edit{Text: text, Suffix: suffix, Then: then})
	return nil
}

func (h *Host) Do(work func() func() tea.Cmd) tea.Cmd {
	return func() tea.Msg { return work() }
}

func (h *Host) Quit() tea.Cmd {
	h.Quits++
	return nil
}

func (h *Host) Guard() {
	if v := recover(); v != nil {
		select {
		case h.panics <- fmt.Sprintf("panic: %v\n%s", v, debug.Stack()):
		default:
		}
	}
}

func (h *Host) Changed() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

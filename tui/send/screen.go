package send

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/send/schema"
	"github.com/kx-apiserver/kx/tui/shell"
)

// The contexts of the screen: its panes, the body editor, and the line of the picker.
var (
	requestContext = keys.Place("send request")
	bodyContext    = keys.Place("send body")
	answerContext  = keys.Place("send answer")
	historyContext = keys.Place("send history")
	textContext    = keys.Line("send text")
	valueContext   = keys.Line("send value")
)

// The panes.
const (
	requestPart = iota
	bodyPart
	answerPart
	historyPart
	parts
)

// Screen is the screen Send.
type Screen struct {
	screen.Split
	host    screen.Host
	now     func() time.Time
	holding func(breakpoint string)
	seen    bool // the user is here

	editing bool    // the body is typed into
	picker  *picker // open, or nil

	form     form
	formRows pane.Scroll

	body     editor.Editor
	template string // the body's template, while the body is unchanged
	checked  verdict

	answer  answerPane
	history history
	shown   *entry // the entry of the answer in view
	way     int    // which program's command is seen
	file    string // that was saved or opened last

	found lookup
	made  build

	resources    *request.Resources
	resourcesErr error
	holdAt       hold                      // where the next one that is held is
	waiting      *pending                  // the request that waits for them
	schemas      map[request.Kind]*schemas // of a group and version
}

// schemas holds the schemas of a group and version, or the reason why there are none.
type schemas struct {
	doc   *schema.Document
	err   error
	asked bool
}

var (
	_ screen.Screen  = (*Screen)(nil)
	_ screen.Retrier = (*Screen)(nil)
)

// New makes the screen. holding is called, by any goroutine, with each breakpoint that holds a request of this
// screen.
func New(host screen.Host, holding func(breakpoint string)) *Screen {
	s := &Screen{host: host, now: time.Now, holding: holding, schemas: map[request.Kind]*schemas{}}
	s.form = newForm(request.Request{Verb: request.Create, Resource: "v1/configmaps", Namespace: "default"})
	s.form.version = 1
	place := func(ctx keys.Context, id int) screen.Place {
		return screen.Place{Context: ctx, Pane: &part{screen: s, id: id}}
	}
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes: []screen.Place{
			place(requestContext, requestPart), place(bodyContext, bodyPart),
			place(answerContext, answerPart), place(historyContext, historyPart),
		},
		Arrange: s.arrange,
		Absent:  func(pane int) bool { return pane == bodyPart && !s.form.hasBody() },
		Focused: func(pane int) { s.editing = s.editing && pane == bodyPart },
	})
	return s
}

func (s *Screen) Name() screen.Name { return screen.Send }

// Contexts lists the contexts of the panes, of the body editor, and of the picker.
func (s *Screen) Contexts() []keys.Context {
	return append(s.Split.Contexts(), textContext, valueContext)
}

func (s *Screen) Context() keys.Context {
	switch {
	case s.picker != nil:
		return valueContext
	case s.editing:
		return textContext
	}
	return s.Split.Context()
}

func (s *Screen) Focus(ctx keys.Context) bool {
	switch ctx {
	case valueContext:
		return s.picker != nil
	case textContext:
		s.editing = s.form.hasBody() && s.Split.Focus(bodyContext)
	default:
		s.editing = false
		if !s.Split.Focus(ctx) {
			return false
		}
	}
	s.picker = nil
	return ctx != textContext || s.editing
}

func (s *Screen) Show(to screen.Target) tea.Cmd {
	s.seen = true
	if t, ok := to.(screen.ToSend); ok {
		s.load(request.ParseHTTP(t.Method, t.URI, t.ContentType, t.Body))
		s.GoTo(requestPart)
		s.holdAt = hold{step: t.HeldAt, skip: t.Skip}
		if t.Held {
			return tea.Batch(s.askResources(), s.sendHeld())
		}
		s.host.Say(s.host.Theme().Words.Phrase("%s sends it again; you can change it before", keys.Send.Key()))
	}
	return tea.Batch(s.askResources(), s.wantSchemas())
}

// sendHeld sends the request of the target, as soon as the server's resources are known.
func (s *Screen) sendHeld() tea.Cmd {
	if s.resources == nil {
		r := s.request()
		s.waiting, s.holdAt = &pending{r.Clone(), s.holdAt}, hold{}
		return nil
	}
	return s.sendRequest(s.request(), true, s.holdAt)
}

// load puts a request into the fields.
func (s *Screen) load(r request.Request) {
	version := s.form.version
	s.form = newForm(r)
	s.form.version = version + 1
	s.picker, s.editing, s.template, s.waiting, s.holdAt = nil, false, "", nil, hold{}
	s.formRows = pane.Scroll{}
	s.body.Reset(r.Body)
	s.noBody()
}

// noBody replaces a hidden body with the answer.
func (s *Screen) noBody() {
	if !s.form.hasBody() && s.Behind() == bodyPart {
		s.Bring(answerPart)
	}
}

func (s *Screen) Hide() { s.seen = false }

func (s *Screen) Close() {
	for _, e := range s.history.entries {
		if e.running() {
			e.exchange.Stop()
			e.exchange.Wait()
		}
	}
}

// QuitWarning describes the requests that end with the program.
func (s *Screen) QuitWarning() string {
	for _, e := range s.history.entries {
		if e.running() && e.answer.HeldAt != "" && e.answer.Code == 0 {
			return "a request that was sent from here is held: it will be let go"
		}
	}
	return ""
}

func (s *Screen) Drain() tea.Cmd {
	var cmds []tea.Cmd
	for _, e := range s.history.entries {
		if !e.running() {
			continue
		}
		e.answer = e.exchange.Answer()
		if e.answer.HeldAt != "" && !e.led {
			e.led = true
			if s.seen && e == s.shown {
				cmds = append(cmds, s.host.Go(screen.ToRequest{Journey: e.answer.Journey}))
			}
		}
	}
	if e := s.shown; e != nil && e.held && e.answer.Ended && e.answer.HeldAt == "" && e.answer.Err == nil && !e.missed {
		e.missed = true
		if e.heldAt == "" {
			s.host.Complain(s.host.Theme().Words.Phrase("it ended with %d before it could be held", e.answer.Code))
		} else {
			s.host.Complain(s.host.Theme().Words.Phrase("it ended with %d and never came to %s: nothing held it", e.answer.Code, e.heldAt))
		}
	}
	s.history.trim()
	return tea.Batch(cmds...)
}

func (s *Screen) Type(text []rune) {
	switch {
	case s.picker != nil:
		if !s.picker.typeText(text) {
			s.host.Complain("there is no room for more")
		}
	case s.editing:
		if !s.body.Insert(text) {
			s.host.Complain(s.host.Theme().Words.Phrase("a body may have %s here: %s opens it in your editor",
				size(editor.BytesMost), keys.InEditor.Key()))
		}
	}
}

// resource returns the resource of the form, or nil if it is unknown.
func (s *Screen) resource() *request.Resource {
	if s.form.verb == "" {
		return nil
	}
	if f := &s.found; f.in != s.resources || f.name != s.form.resource {
		*f = lookup{s.resources, s.form.resource, s.resources.Find(s.form.resource)}
	}
	return s.found.resource
}

// lookup caches the resource of a name.
type lookup struct {
	in       *request.Resources
	name     string
	resource *request.Resource
}

// rows returns the present lines of the form.
func (s *Screen) rows() []row { return s.form.rows(s.resource(), s.resources != nil) }

// request returns the shown request.
func (s *Screen) request() request.Request { return s.form.request(s.body.String()) }

// build caches the wire form of the request, with its inputs.
type build struct {
	form, body int
	resources  *request.Resources

	request request.Request
	http    request.HTTP
	err     error

	way     *shell.Way // the command of a program, made on first use
	program int
}

// buildRequest returns the wire form of the request. It is cached, since a frame needs it several times and a body may
// be long.
func (s *Screen) buildRequest() (request.Request, request.HTTP, error) {
	m := &s.made
	if m.form != s.form.version || m.body != s.body.Version() || m.resources != s.resources {
		*m = build{form: s.form.version, body: s.body.Version(), resources: s.resources, request: s.request()}
		m.http, m.err = m.request.Build(s.resources)
	}
	return m.request, m.http, m.err
}

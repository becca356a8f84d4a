package send

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/send/exchange"
	"github.com/kx-apiserver/kx/tui/shell"
)

// runningMost limits the requests under way.
const runningMost = 16

// send sends the shown request, or the one under the cursor of the history.
func (s *Screen) send(held bool) tea.Cmd {
	if s.At() == historyPart && !s.editing {
		return s.sendRequest(s.history.selected().request, held, hold{})
	}
	return s.sendRequest(s.request(), held, s.holdAt)
}

// sendRequest sends a request, which is held at a step if held is set.
func (s *Screen) sendRequest(r request.Request, held bool, at hold) tea.Cmd {
	h, err := r.Build(s.resources)
	if err != nil {
		s.host.Complain(err.Error())
		return nil
	}
	running := 0
	for _, e := range s.history.entries {
		if e.running() {
			running++
		}
	}
	if running == runningMost {
		s.host.Complain(s.host.Theme().Words.Phrase("%d requests are under way: %s stops one", running, keys.End.Key()))
		return nil
	}
	if r.Verb == request.DeleteCollection && r.Query.Get("dryRun") == "" {
		return s.host.Confirm(s.host.Theme().Words.Phrase("delete all of %s that it selects?",
			r.Title()[len(request.DeleteCollection)+1:]), func() tea.Cmd {
			s.start(r, h, held, at)
			return nil
		})
	}
	s.start(r, h, held, at)
	return nil
}

// hold is the step that holds a request, after skip passes; an empty step is the first of all.
type hold struct {
	step string
	skip int
}

// start sends a request in the background.
func (s *Screen) start(r request.Request, h request.HTTP, held bool, at hold) {
	e := &entry{request: r.Clone(), at: s.now(), held: held, heldAt: at.step}
	e.exchange = exchange.Start(s.host.Context(), s.host.API(), h, exchange.Options{Held: held,
		HeldAt: at.step, Skip: at.skip, Made: s.holding, Guard: s.host.Guard}, s.now, s.host.Changed)
	if at == s.holdAt { // it holds one request
		s.holdAt = hold{}
	}
	e.answer = exchange.Answer{Started: e.at}
	s.history.add(e)
	s.shown = e
	s.GoTo(answerPart)
}

// proxy is the address of kubectl proxy and kx proxy, through which curl needs no credentials.
const proxy = "http://127.0.0.1:8001"

// command returns the equivalent command of the chosen program. ok is false if the request has no path.
func (s *Screen) command() (way shell.Way, ok bool) {
	if _, _, err := s.buildRequest(); err != nil {
		return way, false
	}
	if m := &s.made; m.way == nil || m.program != s.way {
		shown := s.commandFor("")
		m.way, m.program = &shown, s.way
	}
	return *s.made.way, true
}

// commandFor returns the command with a kubeconfig.
func (s *Screen) commandFor(kubeconfig string) shell.Way {
	r, h, _ := s.buildRequest()
	way := shell.WayOf(s.way, &r, &h, shell.Target{Kubeconfig: kubeconfig, Context: s.host.KubeContext(), Server: proxy})
	if way.Program == "curl" && way.Text != "" {
		way.Note = "through kx proxy, which must run"
	}
	return way
}

// copyCommand puts the command on the clipboard, with the kubeconfig that it needs.
func (s *Screen) copyCommand() tea.Cmd {
	way := s.commandFor(s.host.Kubeconfig())
	if way.Note != "" {
		s.host.Say(way.Program + ": " + way.Note)
	}
	return s.host.Copy(way.Text)
}

// copy copies the contents of the focused pane: the body, the answer, else the command.
func (s *Screen) copy() tea.Cmd {
	switch {
	case s.At() == bodyPart && !s.body.Empty():
		return s.host.Copy(s.body.String())
	case s.At() == answerPart && s.shown != nil:
		text := ""
		for _, l := range s.answer.text {
			text += l + "\n"
		}
		return s.host.Copy(text)
	}
	if why := s.withCommand(); why != "" {
		s.host.Complain(why)
		return nil
	}
	return s.copyCommand()
}

package send

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/shell"
)

func (s *Screen) Commands() []keys.Command {
	return slices.Concat(s.requestCommands(), s.bodyCommands(), s.fileCommands(), s.typingCommands())
}

// requestCommands act on the request as a whole.
func (s *Screen) requestCommands() []keys.Command {
	panes := s.Panes()
	return []keys.Command{
		{ID: "send.send", Meaning: keys.Send, Contexts: append(s.Panes(), textContext), Hint: "send",
			WhyNot: s.sendable, Do: keys.Bind(s.send, false),
			Help: "Send the request with the body as it is now. In the history: send what is under the cursor again."},
		{ID: "send.held", Meaning: keys.SendHeld, Contexts: panes, Hint: "send held", WhyNot: s.sendable, Do: keys.Bind(s.send, true),
			Help: "Send the request, held at its first step. The screen Capture steps it from there."},
		{ID: "send.stop", Meaning: keys.End, Contexts: panes, WhyNot: s.whyNotRunning, Do: keys.Call(s.stop),
			Help: "Give up the request whose answer is shown: a watch, a held request, or one that takes long."},
		{ID: "send.resource", Meaning: keys.Narrow, Contexts: panes, Hint: "resource", Do: s.find,
			Help: "Filter the resources, and pick one for the request: type a part of a plural, kind, short name or group."},
		{ID: "send.clear", Meaning: keys.Remove, Contexts: []keys.Context{requestContext}, Do: s.clear,
			Help: "Delete the value of the field under the cursor."},
	}
}

// bodyCommands act on the body.
func (s *Screen) bodyCommands() []keys.Command {
	panes, body := s.Panes(), []keys.Context{bodyContext, textContext}
	return []keys.Command{
		{ID: "send.type", Meaning: keys.Edit, Contexts: panes, Hint: "edit", WhyNot: s.withBody, Do: keys.Call(s.typeBody),
			Help: "Change the body here. esc ends that."},
		{ID: "send.editor", Meaning: keys.InEditor, Contexts: panes, Hint: "$EDITOR", WhyNot: s.withBody, Do: s.external,
			Help: "Change the body in your editor."},
		{ID: "send.template", Meaning: keys.Example, Contexts: panes, Hint: "template", WhyNot: s.withTemplate,
			Do:   keys.Call(s.writeTemplate),
			Help: "Replace the body with an example of the kind: the fields that it needs, and what each field is."},
		{ID: "send.load", Meaning: keys.Refresh, Contexts: panes, WhyNot: s.loadable, Do: s.fetchObject,
			Help: "Replace the body with the object that the request names, as the server has it now."},
		{ID: "send.undo", Meaning: keys.Undo, Contexts: body, WhyNot: s.withBody, Do: keys.Call(s.undo),
			Help: "Undo the last change of the body."},
		{ID: "send.redo", Meaning: keys.Redo, Contexts: body, WhyNot: s.withBody, Do: keys.Call(s.redo),
			Help: "Redo the change of the body that was undone last."},
		{ID: "send.problem", Meaning: keys.Next, Contexts: body, WhyNot: s.whyNoProblem, Do: keys.Call(s.nextProblem),
			Help: "Go to the next problem of the body."},
	}
}

// fileCommands take the request elsewhere.
func (s *Screen) fileCommands() []keys.Command {
	panes := s.Panes()
	return []keys.Command{
		{ID: "send.copy-command", Meaning: keys.CopyCommand, Contexts: panes, WhyNot: s.withCommand, Do: s.copyCommand,
			Help: "Copy the whole command that sends the same request."},
		{ID: "send.program", Meaning: keys.AnotherForm, Contexts: panes, Hint: "kubectl/kx/curl", Do: keys.Call(s.nextProgram),
			Help: "Turn to the next form of that command: for kubectl, kx or curl."},
		{ID: "send.save", Meaning: keys.Save, Contexts: panes, Hint: "save", Do: s.save,
			Help: "Save the request to a file, which kx send -f sends too."},
		{ID: "send.open", Meaning: keys.OpenFile, Contexts: panes, Do: s.open,
			Help: "Open a file of requests. The first is shown, and all are in the history."},
	}
}

// typingCommands apply where the user types: in the body, and in the line of a field.
func (s *Screen) typingCommands() []keys.Command {
	text, value := []keys.Context{textContext}, []keys.Context{valueContext}
	return []keys.Command{
		{ID: "send.newline", Meaning: keys.NewLine, Contexts: text, Do: keys.Call(func() { s.body.Newline() }),
			Help: "Begin a new line, with the indent of YAML."},
		{ID: "send.indent", Meaning: keys.Indent, Contexts: text, Do: keys.Call(func() { s.Type([]rune("  ")) }),
			Help: "Insert two spaces."},
		{ID: "send.page-down", Meaning: keys.PageDown, Contexts: text, Do: keys.Call(func() { s.body.Handle(keys.HalfDown) }),
			Help: "Go down half a page."},
		{ID: "send.page-up", Meaning: keys.PageUp, Contexts: text, Do: keys.Call(func() { s.body.Handle(keys.HalfUp) }),
			Help: "Go up half a page."},
		{ID: "send.choose", Meaning: keys.Accept, Contexts: value, Hint: "take", Do: s.choose,
			Help: "Take the typed text, or the value under the cursor."},
		{ID: "send.complete", Meaning: keys.Complete, Contexts: value, Hint: "complete", Do: s.complete,
			Help: "Put the value under the cursor into the line."},
	}
}

// sendable returns the reason why nothing can be sent.
func (s *Screen) sendable() string {
	if s.At() == historyPart && !s.editing {
		if s.history.selected() == nil {
			return "nothing was sent yet"
		}
		return ""
	}
	if _, _, err := s.buildRequest(); err != nil {
		return err.Error()
	}
	return ""
}

func (s *Screen) withBody() string {
	if !s.form.hasBody() {
		return "this request has no body"
	}
	return ""
}

func (s *Screen) withTemplate() string {
	if why := s.withBody(); why != "" {
		return why
	}
	if s.resource() == nil {
		return "the resource is not known"
	}
	return ""
}

func (s *Screen) loadable() string {
	switch {
	case s.form.verb == "" || !s.form.hasBody():
		return "this request has no object for a body"
	case !s.form.named() || s.form.name == "":
		return "the request names no object"
	}
	return ""
}

func (s *Screen) withCommand() string {
	if w, ok := s.command(); !ok || w.Text == "" {
		return "there is no such command for this request"
	}
	return ""
}

func (s *Screen) whyNotRunning() string {
	if s.shown == nil || !s.shown.running() {
		return "no request is under way"
	}
	return ""
}

func (s *Screen) whyNoProblem() string {
	if len(s.check().problems) == 0 {
		return "no problem was found"
	}
	return ""
}

func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	switch {
	case id == keys.Back:
		return nil, s.back()
	case s.picker != nil:
		return nil, s.picker.handle(id)
	case s.editing && s.body.Handle(id):
		return nil, true
	}
	switch id {
	case keys.Copy:
		return s.copy(), true
	case keys.Open:
		return s.enter(), true
	}
	return s.Split.Handle(id)
}

// back closes the picker, the body editor, or a pane: whichever was opened last. It reports whether there was
// anything.
func (s *Screen) back() bool {
	switch {
	case s.picker != nil:
		s.picker = nil
	case s.editing:
		s.editing = false
	case s.At() != requestPart && !s.Zoomed():
		s.GoTo(requestPart)
	default:
		_, ok := s.Split.Handle(keys.Back)
		return ok
	}
	return true
}

func (s *Screen) stop() { s.shown.exchange.Stop() }

func (s *Screen) nextProgram() { s.way = (s.way + 1) % shell.Programs }

func (s *Screen) typeBody() {
	s.GoTo(bodyPart)
	s.editing = true
}

func (s *Screen) writeTemplate() {
	s.putTemplate()
	s.GoTo(bodyPart)
}

func (s *Screen) fetchObject() tea.Cmd {
	s.GoTo(bodyPart)
	return s.loadObject()
}

func (s *Screen) undo() {
	if !s.body.Undo() {
		s.host.Say("there is nothing to undo")
	}
}

func (s *Screen) redo() {
	if !s.body.Redo() {
		s.host.Say("nothing was undone")
	}
}

// nextProblem puts the cursor on the next problem, or on the first of all.
func (s *Screen) nextProblem() {
	problems := s.check().problems
	next := problems[0]
	for _, p := range problems {
		if p.Line > s.body.Line() {
			next = p
			break
		}
	}
	s.GoTo(bodyPart)
	s.body.Go(next.Line, next.Column)
	s.host.Say(next.String())
}

// clear makes the field under the cursor empty.
func (s *Screen) clear() tea.Cmd {
	switch r := s.row(); r.id {
	case verbRow, patchRow, methodRow, addQueryRow, addHeaderRow:
		s.host.Say(s.host.Theme().Words.Phrase("%s can't be empty", r.label))
		return nil
	default:
		return s.set(r.id, "")
	}
}

// enter opens what is under the cursor.
func (s *Screen) enter() tea.Cmd {
	switch s.At() {
	case requestPart:
		return s.edit()
	case bodyPart:
		s.editing = true
	case answerPart:
		if s.shown == nil || s.shown.answer.Journey == "" {
			s.host.Say("there is no journey to go to")
			return nil
		}
		return s.host.Go(screen.ToRequest{Journey: s.shown.answer.Journey})
	case historyPart:
		if e := s.history.selected(); e != nil {
			s.shown = e
			s.load(e.request)
			return s.wantSchemas()
		}
	}
	return nil
}

// external edits the body in the user's editor.
func (s *Screen) external() tea.Cmd {
	suffix := ".yaml"
	if s.form.verb == request.Patch && s.form.patch == request.JSONPatch {
		suffix = ".json-patch.yaml"
	}
	return s.host.Edit([]byte(s.body.String()), suffix, func(edited []byte, err error) tea.Cmd {
		if err != nil {
			s.host.Complain(err.Error())
		} else if !s.body.Set(string(edited)) {
			s.host.Complain(s.host.Theme().Words.Phrase("it is too long: a body may have %s here", size(loadBytesMost)))
		}
		return nil
	})
}

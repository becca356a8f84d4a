package send

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/send/sameas"
)

// The commands of the screen.
const (
	sendID     keys.ID = "send.send"
	sendNowID  keys.ID = "send.send-now"
	heldID     keys.ID = "send.held"
	stopID     keys.ID = "send.stop"
	findID     keys.ID = "send.resource"
	clearID    keys.ID = "send.clear"
	typeID     keys.ID = "send.type"
	editorID   keys.ID = "send.editor"
	templateID keys.ID = "send.template"
	loadID     keys.ID = "send.load"
	undoID     keys.ID = "send.undo"
	redoID     keys.ID = "send.redo"
	programID  keys.ID = "send.program"
	commandID  keys.ID = "send.copy-command"
	saveID     keys.ID = "send.save"
	openID     keys.ID = "send.open"
	newlineID  keys.ID = "send.newline"
	indentID   keys.ID = "send.indent"
	pageDownID keys.ID = "send.page-down"
	pageUpID   keys.ID = "send.page-up"
	problemID  keys.ID = "send.problem"
	chooseID   keys.ID = "send.choose"
	completeID keys.ID = "send.complete"
)

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command {
	panes := s.Panes()
	text, value := []keys.Context{textContext}, []keys.Context{valueContext}
	return []keys.Command{
		{ID: sendID, Title: "send the request", Help: "Send what is shown. In the history: what is under the cursor, again.", Hint: "send",
			Contexts: panes, Keys: []string{"r"}, Enabled: s.sendable},
		{ID: sendNowID, Title: "send the request from where one types", Help: "Send what is shown, with the body as it is now.", Hint: "send",
			Contexts: text, Keys: []string{"ctrl+r"}, Enabled: s.sendable},
		{ID: heldID, Title: "send the request, held", Help: "Send what is shown, held at its first step: the screen Capture steps it from there.", Hint: "send held",
			Contexts: panes, Keys: []string{"R"}, Enabled: s.sendable},
		{ID: stopID, Title: "stop waiting", Help: "Give up the request whose answer is shown: a watch, one that is held, one that takes long.",
			Contexts: panes, Keys: []string{"K"}, Enabled: func() string {
				if s.shown == nil || !s.shown.running() {
					return "nothing is under way"
				}
				return ""
			}},
		{ID: findID, Title: "find the resource", Help: "Pick what the request is about: type a part of a plural, kind, short name or group.", Hint: "resource",
			Contexts: panes, Keys: []string{"/"}},
		{ID: clearID, Title: "clear the field", Help: "Make the field under the cursor empty.",
			Contexts: []keys.Context{requestContext}, Keys: []string{"backspace", "delete"}},
		{ID: typeID, Title: "type into the body", Help: "Edit the body here; esc ends that.", Hint: "edit",
			Contexts: panes, Keys: []string{"e"}, Enabled: s.withBody},
		{ID: editorID, Title: "edit the body in $EDITOR", Help: "Open the body in the editor that the environment names.", Hint: "$EDITOR",
			Contexts: panes, Keys: []string{"E"}, Enabled: s.withBody},
		{ID: templateID, Title: "write a template", Help: "Replace the body with a template of the kind: what it needs, and what each field is.", Hint: "template",
			Contexts: panes, Keys: []string{"T"}, Enabled: s.withTemplate},
		{ID: loadID, Title: "load the object", Help: "Replace the body with the object that the request is about, as the server has it now.",
			Contexts: panes, Keys: []string{"L"}, Enabled: s.loadable},
		{ID: undoID, Title: "take the last change back", Help: "Undo in the body.", Contexts: append(text, bodyContext), Keys: []string{"u", "ctrl+z"}, Enabled: s.withBody},
		{ID: redoID, Title: "do it again", Help: "Redo in the body what was taken back.", Contexts: append(text, bodyContext), Keys: []string{"U", "ctrl+y"}, Enabled: s.withBody},
		{ID: problemID, Title: "go to the next problem", Help: "Put the cursor where the next problem of the body is.",
			Contexts: append(text, bodyContext), Keys: []string{"N", "ctrl+n"}, Enabled: func() string {
				if len(s.check().problems) == 0 {
					return "no problem was found"
				}
				return ""
			}},
		{ID: programID, Title: "show the next program's command", Help: "The line below has the same request as a command of kubectl, kx or curl, in turn.", Hint: "kubectl/kx/curl",
			Contexts: panes, Keys: []string{"Y"}},
		{ID: commandID, Title: "copy the command", Help: "Put the command that sends the same request on the clipboard, whole.",
			Contexts: panes, Enabled: s.withCommand},
		{ID: saveID, Title: "save the request", Help: "Write the request to a file, which kx send -f sends too.", Hint: "save", Contexts: panes, Keys: []string{"w"}},
		{ID: openID, Title: "open a file of requests", Help: "Take the requests of a file: the first is shown, all are in the history.", Contexts: panes, Keys: []string{"o"}},
		{ID: newlineID, Title: "end the line", Help: "Begin a new line, indented as YAML wants it.", Contexts: text, Keys: []string{"enter"}},
		{ID: indentID, Title: "indent", Help: "Two spaces.", Contexts: text, Keys: []string{"tab"}},
		{ID: pageDownID, Title: "go down half a page in the body", Help: "Half a page down.", Contexts: text, Keys: []string{"pgdown", "ctrl+d"}},
		{ID: pageUpID, Title: "go up half a page in the body", Help: "Half a page up.", Contexts: text, Keys: []string{"pgup"}},
		{ID: chooseID, Title: "take the value", Help: "Take what is typed, or what the cursor is on.", Hint: "take", Contexts: value, Keys: []string{"enter"}},
		{ID: completeID, Title: "complete", Help: "Take what the cursor is on into the line.", Hint: "complete", Contexts: value, Keys: []string{"tab"}},
	}
}

// sendable is why nothing can be sent.
func (s *Screen) sendable() string {
	if s.At() == historyPart && !s.editing {
		if s.history.selected() == nil {
			return "nothing was sent yet"
		}
		return ""
	}
	if _, _, err := s.built(); err != nil {
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

// Handle implements screen.Screen.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case keys.Back:
		return nil, s.back()
	case chooseID:
		return s.choose(), true
	case completeID:
		return s.complete(), true
	}
	if s.picker != nil && s.picker.handle(id) {
		return nil, true
	}
	if s.editing && s.body.Handle(id) {
		return nil, true
	}
	if cmd, ok := s.act(id); ok {
		return cmd, true
	}
	if cmd, ok := s.bodyAct(id); ok {
		return cmd, true
	}
	return s.Split.Handle(id)
}

// back closes what was opened last: the picker, the body that is typed into, or a pane. It reports whether there was anything.
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

// act does what is done to the request as a whole.
func (s *Screen) act(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case sendID, sendNowID:
		return s.send(false), true
	case heldID:
		return s.send(true), true
	case stopID:
		s.shown.exchange.Stop()
		return nil, true
	case findID:
		return s.find(), true
	case clearID:
		return s.clear(), true
	case programID:
		s.way = (s.way + 1) % sameas.Programs
		return nil, true
	case commandID:
		return s.copyCommand(), true
	case saveID:
		return s.save(), true
	case openID:
		return s.open(), true
	case keys.Copy:
		return s.copy(), true
	case keys.Open:
		return s.enter(), true
	}
	return nil, false
}

// bodyAct does what is done to the body.
func (s *Screen) bodyAct(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case typeID:
		s.GoTo(bodyPart)
		s.editing = true
	case editorID:
		return s.external(), true
	case templateID:
		s.putTemplate()
		s.GoTo(bodyPart)
	case loadID:
		s.GoTo(bodyPart)
		return s.loadObject(), true
	case undoID:
		if !s.body.Undo() {
			s.host.Say("there is nothing to take back")
		}
	case redoID:
		if !s.body.Redo() {
			s.host.Say("nothing was taken back")
		}
	case newlineID:
		s.body.Newline()
	case indentID:
		s.Type([]rune("  "))
	case pageDownID:
		s.body.Handle(keys.HalfDown)
	case pageUpID:
		s.body.Handle(keys.HalfUp)
	case problemID:
		s.nextProblem()
	default:
		return nil, false
	}
	return nil, true
}

// nextProblem puts the cursor on the first problem behind its line, or the first of all.
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
		s.host.Say(r.label + " can't be empty")
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
			s.host.Complain("it is too long: a body may have " + size(loadBytesMost) + " here")
		}
		return nil
	})
}

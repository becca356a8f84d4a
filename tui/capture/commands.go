package capture

import (
	"net/http"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane/detail"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/shell"
)

var (
	inSteps  = []keys.Context{keys.Steps}
	inDetail = []keys.Context{keys.Detail}
	inFilter = []keys.Context{keys.Filter}
)

// Commands implements screen.Screen. Steps and Detail follow each command.
func (s *Screen) Commands() []keys.Command {
	all := slices.Concat(s.listCommands(), s.foldCommands(), s.treeCommands(), s.detailCommands(), s.linkCommands(), s.markCommands(),
		s.stepCommands(), s.runCommands(), s.whatIfCommands(), s.fileCommands(), s.filterCommands())
	return keys.RunAfter(all, s.sync)
}

func (s *Screen) listCommands() []keys.Command {
	return []keys.Command{
		{ID: "filter.edit", Meaning: keys.Narrow, Contexts: keys.Panes, Hint: "filter", Do: keys.Call(s.OpenLine),
			Help: "Type which requests to show, such as: verb:create,update code>=400"},
		{ID: "filter.named", Meaning: keys.NamedFilters, Contexts: keys.Panes, WhyNot: s.whyNoNamed, Do: s.chooseNamed,
			Help: "Keep the filter that is on under a name, or take one that is kept. The next run remembers them."},
		{ID: "list.follow", Meaning: keys.Follow, Contexts: keys.Panes, Hint: "follow", Do: keys.Call(s.list.ToggleFollow),
			Help: "Keep the cursor on the newest request. To move the cursor or to open a request stops that."},
	}
}

// treeCommands move among the steps.
func (s *Screen) treeCommands() []keys.Command {
	return []keys.Command{
		{ID: "steps.next", Meaning: keys.Next, Contexts: keys.Panes, Hint: "next step", Next: keys.Bind(s.wouldStop, v1alpha1.ActionNext),
			WhyNot: s.whyNotOpen, Do: s.onceOpen(keys.Bind(s.goOn, v1alpha1.ActionNext)),
			Help: "Go to the next step of the open request, from any pane. A held request runs to the step after what this one calls."},
		{ID: "steps.story", Meaning: keys.Tell, Contexts: keys.Panes, Hint: "story", WhyNot: s.whyNoStory, Do: s.onceOpen(s.tellStory),
			Help: "Tell the open request in sentences, one a step, beside the source. The space bar reads on by itself."},
		{ID: "steps.picture", Meaning: keys.Draw, Contexts: keys.Panes, Hint: "picture", WhyNot: s.whyNoStory,
			Do:   s.onceOpen(s.drawPicture),
			Help: "Draw the layers of the server as boxes, and walk the open request through them, to be read from far away."},
		{ID: "steps.previous", Meaning: keys.Previous, Contexts: keys.Panes, WhyNot: s.whyNotOpen,
			Do:   s.onceOpen(keys.Call(s.steps.Previous)),
			Help: "Go to the previous step of the open request, from any pane."},
		{ID: "steps.fold", Meaning: keys.Outward, Contexts: inSteps, Hint: "fold", WhyNot: s.whyNotOpen,
			Do:   s.onceOpen(keys.Call(s.steps.Fold)),
			Help: "Fold what the step called. If there is nothing to fold, go to the step that called it."},
		{ID: "steps.unfold", Meaning: keys.Inward, Contexts: inSteps, Hint: "unfold", WhyNot: s.whyNotOpen,
			Do:   s.onceOpen(keys.Call(s.steps.Unfold)),
			Help: "Unfold what the step called. If it is unfolded, go to the first step that it called."},
	}
}

// detailCommands change the contents of Detail.
func (s *Screen) detailCommands() []keys.Command {
	all := []keys.Command{
		{ID: "detail.previous-tab", Meaning: keys.PreviousTab, Contexts: keys.Panes, Do: s.reveal(s.detail.PreviousTab),
			Help: "Show the previous tab of Detail."},
		{ID: "detail.next-tab", Meaning: keys.NextTab, Contexts: keys.Panes, Hint: "tab of detail", Do: s.reveal(s.detail.NextTab),
			Help: "Show the next tab of Detail: Step, Diff, Source, Object, etcd, Timing, Watchers, Request."},
		{ID: "detail.step", Meaning: keys.TheStep, Contexts: keys.Panes, Next: s.whyHint, Do: s.tab(detail.StepTab),
			Help: "Show in Detail what is known of the step: why it went as it did, what went in and came out, and where the code is."},
		{ID: "detail.object", Meaning: keys.TheObject, Contexts: keys.Panes, Do: s.tab(detail.ObjectTab),
			Help: "Show in Detail the object at the step."},
		{ID: "detail.etcd", Meaning: keys.EtcdAsked, Contexts: keys.Panes, Do: s.tab(detail.EtcdTab),
			Help: "Show in Detail what etcd was asked, and what it answered."},
		{ID: "detail.timing", Meaning: keys.TheTime, Contexts: keys.Panes, Do: s.tab(detail.TimingTab),
			Help: "Show in Detail where the time of the request went."},
		{ID: "detail.watchers", Meaning: keys.WhoGotIt, Contexts: keys.Panes, Do: s.tab(detail.WatchersTab),
			Help: "Show in Detail who was sent the event that the request's write caused, and who was not, and why."},
		{ID: "detail.request", Meaning: keys.TheRequest, Contexts: keys.Panes, Do: s.tab(detail.RequestTab),
			Help: "Show in Detail the request as a whole: who sent it, with what, and what came of it."},
		{ID: "detail.diff", Meaning: keys.Differences, Contexts: keys.Panes, Hint: "diff", Do: keys.Call(s.showDiff),
			Help: "Show what the request changed in the object, and which step changed each field. Again: what this step changed."},
		{ID: "detail.source", Meaning: keys.Code, Contexts: keys.Panes, Hint: "source", Do: keys.Call(s.showSource),
			Help: "Show the function that took the step, with the lines that ran, and its name upstream."},
		{ID: "detail.unchanged", Meaning: keys.Unchanged, Contexts: inDetail, Hint: "unchanged",
			WhyNot: s.detail.WhyNotDiff, Do: keys.Call(s.detail.ToggleUnchanged),
			Help: "In Diff, show the fields that stayed the same and all of managedFields, or only their number."},
		{ID: "detail.before", Meaning: keys.OtherSide, Contexts: inDetail, Hint: "other side",
			WhyNot: s.detail.WhyNotSides, Do: keys.Call(s.detail.Turn),
			Help: "In Object, turn between the object before the step and after it. In Source, show the code of the Kubernetes API " +
				"server that does the same: then y copies a link to it."},
		{ID: "detail.form", Meaning: keys.AnotherForm, Contexts: inDetail, Hint: "form", WhyNot: s.detail.WhyNotObject,
			Do:   keys.Call(s.detail.NextForm),
			Help: "In Object, turn to the next form: YAML, JSON, or raw as it was recorded."},
	}
	for i := range all {
		if all[i].WhyNot == nil {
			all[i].WhyNot = s.whyNoRequest
		}
	}
	return all
}

// fileCommands copy, fetch, save and make requests.
func (s *Screen) fileCommands() []keys.Command {
	return []keys.Command{
		{ID: "copy.command", Meaning: keys.CopyCommand, Contexts: keys.Panes, WhyNot: s.whyNoCommand, Do: s.copyCommand,
			Help: "Copy a kubectl command that sends the same request."},
		{ID: "request.refresh", Meaning: keys.Refresh, Contexts: keys.Panes, WhyNot: s.whyNoRequest, Do: s.refetch,
			Help: "Fetch the request again: one that runs has more steps by now, and a write has more deliveries."},
		{ID: "capture.save", Meaning: keys.Save, Contexts: keys.Panes, WhyNot: s.whyNoRequest, Do: s.chooseForm,
			Help: "Save this request, or all of the list: as a page for any browser, as Markdown for an issue, as a drawing, or as a " +
				"capture for kx tui -r and kx trace. Secrets are masked."},
		{ID: "demo.create", Meaning: keys.Example, Contexts: keys.Panes, Next: s.demoHint, WhyNot: s.host.API().Absent, Do: s.createDemo,
			Help: "Create a demo over the API: the definition of a resource CronTab, two objects of it, a conflict of two writers, a " +
				"patch that is tried twice, and a GET."},
	}
}

// filterCommands apply while the filter is typed.
func (s *Screen) filterCommands() []keys.Command {
	return []keys.Command{
		{ID: "filter.apply", Meaning: keys.Accept, Contexts: inFilter, Hint: "apply", Do: keys.Call(s.apply),
			Help: "Show the requests that match the filter."},
		{ID: "filter.complete", Meaning: keys.Complete, Contexts: inFilter, Hint: "complete", Do: keys.Call(s.complete),
			Help: "Complete the field before the cursor, or its value from the requests in the list."},
	}
}

// whyNoRequest returns the reason to disable a command that needs a request.
func (s *Screen) whyNoRequest() string {
	if s.list.Selected() == nil {
		return "there is no request"
	}
	return ""
}

// whyNotOpen returns the reason to disable a command that needs steps.
func (s *Screen) whyNotOpen() string {
	if s.open.journey == nil && len(s.heldAt()) == 0 && !s.coming() {
		return "no request is open"
	}
	return ""
}

func (s *Screen) whyNoStory() string {
	if s.open.journey == nil && !s.coming() {
		return "no request is open"
	}
	return ""
}

// tellStory tells the story of the open request.
func (s *Screen) tellStory() tea.Cmd {
	return s.host.Go(screen.ToStory{Journey: s.open.journey, Others: s.relatedRequests(), Step: s.tellFrom()})
}

// drawPicture draws the picture of the open request.
func (s *Screen) drawPicture() tea.Cmd {
	return s.host.Go(screen.ToPicture{Journey: s.open.journey, Others: s.relatedRequests(), Step: s.tellFrom()})
}

// tellFrom is the step under the cursor if Steps or Detail has the focus; else -1, for the beginning.
func (s *Screen) tellFrom() int {
	if s.Context() == keys.List {
		return -1
	}
	return s.steps.Selected()
}

func (s *Screen) whyNoCommand() string {
	if _, command := s.sameAs(); command == "" {
		return "there is no kubectl command for it"
	}
	return ""
}

func (s *Screen) copyCommand() tea.Cmd {
	row, command := s.sameAs()
	note := ""
	if j := s.open.journey; j != nil && j.Name == row.Name {
		command, note = runnable(j)
	}
	if name := s.host.KubeContext(); name != "" {
		command = "kubectl --context " + shell.Quote(name) + strings.TrimPrefix(command, "kubectl")
	}
	if config := s.host.Kubeconfig(); config != "" {
		command = "kubectl --kubeconfig " + shellPath(config) + strings.TrimPrefix(command, "kubectl")
	}
	cmd := s.host.Copy(command)
	if note != "" {
		s.host.Say(note)
	}
	return cmd
}

func (s *Screen) refetch() tea.Cmd { return s.fetch(s.list.Selected().Name) }

func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	cmd, ok := s.handle(id)
	if !ok {
		return nil, false
	}
	return tea.Batch(cmd, s.sync()), true
}

func (s *Screen) handle(id keys.ID) (tea.Cmd, bool) {
	if s.coming() && s.Context() == keys.Steps && s.steps.Moves(id) {
		return s.onceOpen(func() tea.Cmd {
			cmd, _ := s.steps.Handle(id)
			return cmd
		})(), true
	}
	if cmd, ok := s.Split.Handle(id); ok {
		return cmd, true
	}
	switch id {
	case keys.Back:
		return nil, s.back()
	case keys.Open:
		return s.enter(), true
	case keys.Copy:
		return s.copy()
	}
	return nil, false
}

// enter moves the focus to the next pane, or follows the link under the cursor of Detail.
func (s *Screen) copy() (tea.Cmd, bool) {
	row := s.list.Selected()
	if row == nil {
		s.host.Complain("can't copy: there is no request")
		return nil, true
	}
	if s.At() == layout.Detail && s.open.journey != nil {
		if link := s.detail.Link(); link != "" {
			return s.host.Copy(link), true
		}
		text, _ := s.detail.Text()
		return s.host.Copy(text), true
	}
	return s.host.Copy(row.Name), true
}

// whyHint is the hint of the step while the card of a refusal is out of view.
func (s *Screen) whyHint() string {
	if j := s.list.Selected(); j != nil && j.Status.Code >= http.StatusBadRequest && s.Area(layout.Detail).W == 0 {
		return "why"
	}
	return ""
}

// tab makes a command that shows a tab of Detail.
func (s *Screen) tab(t detail.Tab) func() tea.Cmd {
	return s.reveal(func() { s.detail.Open(t) })
}

// reveal makes a command of a change to Detail: it brings Detail into view first.
func (s *Screen) reveal(change func()) func() tea.Cmd {
	return keys.Call(func() {
		change()
		switch {
		case s.Area(layout.Detail).W > 0:
		case s.At() == layout.List && !s.Zoomed():
			s.Bring(layout.Detail)
		default:
			s.GoTo(layout.Detail)
		}
	})
}

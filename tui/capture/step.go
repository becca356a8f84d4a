package capture

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/rules"
	"github.com/kx-apiserver/kx/tui/screen"
)

// stepCommands step through a request, and hold others.
func (s *Screen) stepCommands() []keys.Command {
	return []keys.Command{
		{ID: "step.into", Meaning: keys.Into, Contexts: keys.Panes, Next: s.intoHint,
			WhyNot: s.whyNotOpen, Do: s.onceOpen(keys.Bind(s.goOn, v1alpha1.ActionInto)),
			Help: "Go to the first step that this one calls, or else to the next. A held request runs to there."},
		{ID: "step.out", Meaning: keys.Out, Contexts: keys.Panes, Next: keys.Bind(s.wouldStop, v1alpha1.ActionOut),
			WhyNot: s.whyNotOpen, Do: s.onceOpen(keys.Bind(s.goOn, v1alpha1.ActionOut)),
			Help: "Go to the step after the one that called this one. A held request runs to there."},
		{ID: "step.continue", Meaning: keys.Continue, Contexts: keys.Panes, Hint: "continue", Next: func() string { return "continue" },
			WhyNot: s.whyNoContinue, Do: keys.Bind(s.goOn, v1alpha1.ActionContinue),
			Help: "Let the held request run to the next breakpoint, or to its end."},
		{ID: "step.continue-all", Meaning: keys.ContinueAll, Contexts: keys.Panes, WhyNot: s.whyNoneHeld,
			Do:   s.continueAll,
			Help: "Let all held requests run to the next breakpoint, or to their ends."},
		{ID: "step.break", Meaning: keys.Break, Contexts: keys.Panes, Hint: "break", WhyNot: s.whyNoBreak,
			Do:   keys.Bind(s.askRule, v1alpha1.BreakpointHold),
			Help: "Hold the requests that reach this step. You can change the filter that says which."},
		{ID: "step.trace", Meaning: keys.Trace, Contexts: keys.Panes, WhyNot: s.whyNoBreak,
			Do:   keys.Bind(s.askRule, v1alpha1.BreakpointTrace),
			Help: "Count the requests that reach this step and note it in their journeys, without holding them."},
		{ID: "breakpoints.open", Meaning: keys.ToRules, Contexts: keys.Panes, Do: keys.Bind(s.host.Go, screen.Target(screen.ToRules{})),
			Help: "Show all breakpoints, tracepoints and faults with their hits, and the requests that are held."},
	}
}

// askRule asks for the filter of a breakpoint or tracepoint, and proposes the step under the cursor.
func (s *Screen) askRule(action v1alpha1.BreakpointAction) tea.Cmd {
	return rules.Ask(s.host, s.held, action, s.filterHere())
}

func (s *Screen) continueAll() tea.Cmd { return rules.ContinueAll(s.host, s.held) }

func (s *Screen) whyNoneHeld() string {
	if len(s.held.View().Held) == 0 {
		return "no request is held"
	}
	return ""
}

// heldAt returns the steps at which the request under the cursor is held.
func (s *Screen) heldAt() []v1alpha1.HeldStep {
	row := s.list.Selected()
	if row == nil {
		return nil
	}
	if j := s.open.journey; j != nil && j.Name == row.Name && !newer(row.Journey, j) {
		return j.Status.Held
	}
	return row.Status.Held
}

// newer reports whether a is a later state of a journey than b.
func newer(a, b *v1alpha1.Journey) bool {
	x, errA := strconv.ParseUint(a.ResourceVersion, 10, 64)
	y, errB := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return errA == nil && errB == nil && x > y
}

func (s *Screen) whyNotHeld() string {
	if len(s.heldAt()) == 0 {
		return "the request is not held"
	}
	return ""
}

// whyNoContinue is whyNotHeld, except for a request that runs to its next hold: it continues from there.
func (s *Screen) whyNoContinue() string {
	if row := s.list.Selected(); row != nil && s.orders.busy && s.orders.id == row.Name {
		return ""
	}
	return s.whyNotHeld()
}

func (s *Screen) whyNoBreak() string {
	switch why := s.held.View().Refused[control.Breakpoint]; {
	case why != "":
		return why
	case s.steps.Mark() >= 0:
		return "this is what a watch cache does for all requests: nobody can be held there"
	}
	return s.whyNoRequest()
}

// queueMost limits the steps that can be requested while the request is still running.
const queueMost = 64

// orders holds the commands for the open request, run one after the other.
type orders struct {
	id    string
	queue []func() tea.Cmd
	busy  bool
}

// enqueue queues a command while the request has not answered the previous one. It reports whether it did.
func (o *orders) enqueue(id string, do func() tea.Cmd) bool {
	if o.id != id {
		*o = orders{id: id}
	}
	if o.busy && len(o.queue) < queueMost {
		o.queue = append(o.queue, do)
	}
	return o.busy
}

// goOn runs a held request to the next step, or moves the cursor in one that is not held.
func (s *Screen) goOn(action v1alpha1.JourneyAction) tea.Cmd {
	row := s.list.Selected()
	if row == nil {
		return nil
	}
	if s.orders.enqueue(row.Name, func() tea.Cmd { return s.goOn(action) }) {
		return nil
	}
	s.list.Hold() // the one that is stepped through is the one that is looked at
	held := s.heldAt()
	if len(held) == 0 {
		s.moveOn(action)
		return nil
	}
	s.running = running{id: row.Name, stolen: s.running.stolenFrom(row.Name)}
	return s.tell(row.Name, v1alpha1.JourneyCommandSpec{Action: action, Step: &s.heldHere(held).Step})
}

// heldHere returns the held step under the cursor, or else the first held step.
func (s *Screen) heldHere(held []v1alpha1.HeldStep) *v1alpha1.HeldStep {
	at := s.steps.Selected()
	for i := range held {
		if int(held[i].Step) == at {
			return &held[i]
		}
	}
	return &held[0]
}

// tell sends a command to a held request.
func (s *Screen) tell(id string, spec v1alpha1.JourneyCommandSpec) tea.Cmd {
	return s.command(id, "", func(ctx context.Context) (*v1alpha1.Journey, error) {
		if spec.Action == v1alpha1.ActionContinue { // it need not be held again
			return s.held.Tell(ctx, id, spec)
		}
		return s.step(ctx, id, spec)
	})
}

// stopWait limits the wait for a running request to reach a step before the screen goes on without it. It is long
// enough for a slow server, and short enough for a watch that runs on.
const stopWait = 10 * time.Second

// step sends a command to a held request, and waits until it is held again or has ended: longer than the server
// waits.
func (s *Screen) step(ctx context.Context, id string, spec v1alpha1.JourneyCommandSpec) (*v1alpha1.Journey, error) {
	j, err := s.held.Tell(ctx, id, spec)
	for began := time.Now(); err == nil && len(j.Status.Held) == 0 &&
		j.Status.Phase == v1alpha1.JourneyRunning && time.Since(began) < stopWait; {
		j, err = s.session.Get(ctx, id)
	}
	return j, err
}

// command runs f, which acts on a request and returns its journey.
func (s *Screen) command(id, did string, f func(context.Context) (*v1alpha1.Journey, error)) tea.Cmd {
	s.orders.id, s.orders.busy = id, true
	run := func() (*v1alpha1.Journey, error) { return f(s.host.Context()) }
	return screen.Do(s.host, countFields(run), func(j journey, err error) tea.Cmd {
		return tea.Batch(s.finishCommand(id, did, j, err), s.sync())
	})
}

// finishCommand shows the journey after a command, and runs the next command in the queue.
func (s *Screen) finishCommand(id, did string, j journey, err error) tea.Cmd {
	var queue []func() tea.Cmd // another request, by now the user's, keeps its own
	if id == s.orders.id {
		queue = s.orders.queue
		s.orders.busy, s.orders.queue = false, nil
	}
	switch {
	case errors.Is(err, context.Canceled): // the program ends
		return nil
	case err != nil:
		s.host.Complain(control.Reason(err))
		if api.Code(err) == http.StatusConflict && id == s.open.id {
			return s.fetch(id) // it went on by itself
		}
		return nil
	case did != "":
		s.host.Say(did)
	}
	if id != s.open.id {
		return nil // the cursor is elsewhere by now
	}
	if s.take(j); did != "" && len(j.Status.Held) > 0 {
		s.host.Say(did) // once more: take clears notes from before a new hold
	}
	if len(queue) == 0 || len(j.Status.Held) == 0 {
		return nil
	}
	cmd := queue[0]()
	s.orders.queue = queue[1:]
	return cmd
}

// take shows a fetched journey, with the cursor on the step at which it is held.
func (s *Screen) take(j journey) {
	if s.open.journey != nil && s.open.journey.Name == j.Name && newer(s.open.journey, j.Journey) {
		return
	}
	before := s.open.journey
	s.open.journey = j.Journey
	s.steps.Show(j.Journey, j.changed)
	if held := j.Status.Held; len(held) > 0 && !heldSame(before, j.Journey) {
		s.steps.SelectStep(int(held[0].Step))
		s.host.Say("") // a new hold replaces any earlier note
	}
	s.showStep()
	s.tellEnd(j.Journey)
}

// atFilter reports whether a request is held before one of the filters.
func (s *Screen) atFilter(h *v1alpha1.HeldStep) bool {
	j := s.open.journey
	return j != nil && int(h.Step) < len(j.Status.Steps) && j.Status.Steps[h.Step].Layer == filterLayer
}

// heldSame reports whether a journey is held at the same places as before.
func heldSame(before, now *v1alpha1.Journey) bool {
	return before != nil && before.Name == now.Name && slices.EqualFunc(before.Status.Held, now.Status.Held,
		func(a, b v1alpha1.HeldStep) bool {
			return a.Step == b.Step && a.At == b.At && a.Since.Equal(&b.Since)
		})
}

// moveOn moves the cursor in a request that is not held: n to the next row, so that p leads back, i and o as the
// request would run it.
func (s *Screen) moveOn(action v1alpha1.JourneyAction) {
	j := s.open.journey
	if j == nil || action == v1alpha1.ActionContinue {
		return
	}
	moved := false
	if action == v1alpha1.ActionNext {
		moved = s.steps.Next()
	} else if to := stepAfter(j.Status.Steps, s.steps.Selected(), action); to >= 0 {
		s.steps.SelectStep(to)
		moved = true
	}
	if !moved {
		s.host.Say("there is no further step")
		return
	}
	s.showStep()
}

// stepAfter returns the step that follows at under an action, by the server's rules for a held request; -1 for none.
func stepAfter(all []v1alpha1.Step, at int, action v1alpha1.JourneyAction) int {
	if at < 0 || at >= len(all) {
		return -1
	}
	within := -1 // the steps below this one are skipped; -1 for none
	switch action {
	case v1alpha1.ActionNext:
		within = at
	case v1alpha1.ActionOut:
		if within = int(all[at].Parent); within < 0 {
			return -1
		}
	}
	for i := at + 1; i < len(all); i++ {
		if within < 0 || !below(all, i, within) {
			return i
		}
	}
	return -1
}

// below reports whether the i-th step was called by the step within, directly or not.
func below(all []v1alpha1.Step, i, within int) bool {
	for at := int(all[i].Parent); at >= 0 && at < i; at = int(all[at].Parent) {
		if at == within {
			return true
		}
		i = at
	}
	return false
}

// filterHere returns a filter for the step under the cursor, of requests like this one.
func (s *Screen) filterHere() string {
	row := s.list.Selected()
	if row == nil {
		return ""
	}
	step := s.stepHere()
	q, name := &row.Spec, ""
	if q.Verb != "create" { // its name is not known from the beginning
		name = q.Name
	}
	return filter.Compose("step", step, "verb", q.Verb, "resource", q.Resource, "ns", q.Namespace, "name", name)
}

// stepHere returns the ID of the step under the cursor; any step while the list has the focus.
func (s *Screen) stepHere() string {
	if at := s.steps.Selected(); s.Context() != keys.List && s.open.journey != nil && at >= 0 {
		return s.open.journey.Status.Steps[at].ID
	}
	return ""
}

// heldFacts returns the number of held requests, and how long the first of them has been held: the only text on the
// screen that changes without an event.
func (s *Screen) heldFacts() []string {
	view := s.held.View()
	since, ok := view.Oldest()
	if !ok {
		return nil
	}
	took := max(time.Since(since), 0)
	return []string{s.host.Theme().Notice("|| " + s.phrase("held %d %02d:%02d", len(view.Held),
		int(took.Minutes()), int(took.Seconds())%60))}
}

// pausedState returns the line of state for a held request.
func (s *Screen) pausedState() string {
	held := s.heldAt()
	if len(held) == 0 {
		return ""
	}
	look, h := s.host.Theme(), s.heldHere(held)
	edge := ""
	if h.At == v1alpha1.AtEnd {
		edge = s.phrase("the end of") + " "
	}
	part := func(weight int, text string) draw.Part { return draw.Part{Text: text, Weight: weight} }
	parts := []draw.Part{
		part(9, look.Notice(" "+s.phrase("PAUSED"))+"  "+s.phrase("%s at %s%d %s", s.list.Selected().Name, edge, h.Step+1, h.ID)),
		part(1, " "+s.phrase("since %s", h.Since.In(s.host.Zone()).Format("15:04:05"))),
	}
	if len(held) > 1 {
		parts = append(parts, part(4, " "+s.phrase("and at %d more", len(held)-1)))
	}
	parts = append(parts, part(4, look.Dim("   "+s.phrase("what if:"))))
	for _, c := range s.whatIfCommands() {
		if c.Hint != "" && c.DisabledReason() == "" {
			weight := 3
			if c.ID == failID { // it leads to the others too
				weight = 5
			}
			parts = append(parts, part(weight, "  "+look.Key(keys.FormatKeys(c.Keys[0]))+" "+look.Words.Text(c.Hint)))
		}
	}
	if like := s.precedent; like.of == s.open.id && like.journey != nil {
		parts = append(parts, part(2, look.Dim("   "+s.phrase("next as in %s", like.journey.Name))))
	}
	w, _ := s.Size()
	return draw.JoinFitting(w, parts...)
}

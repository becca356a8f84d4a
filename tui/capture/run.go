package capture

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

// runCommands run to a step beyond the next one, or go back over the recorded steps.
func (s *Screen) runCommands() []keys.Command {
	return []keys.Command{
		{ID: "run.to", Meaning: keys.RunTo, Contexts: keys.Panes, Next: s.runToHint, WhyNot: s.whyNoRunTo, Do: s.runTo,
			Help: "Send the request again, held when it reaches the step under the cursor. A request that is held runs to a step that " +
				"you name."},
		{ID: "run.next-layer", Meaning: keys.NextLayer, Contexts: keys.Panes, Next: s.pastFiltersHint, WhyNot: s.whyNotOpen,
			Do:   s.onceOpen(keys.Bind(s.run, toLayer)),
			Help: "Go to the next step in another lane. A held request runs to there."},
		{ID: "run.last-layer", Meaning: keys.LastLayer, Contexts: keys.Panes, WhyNot: s.whyNotOpen,
			Do:   s.onceOpen(keys.Bind(s.goBack, toLayer)),
			Help: "Go back to the step before that was in another lane."},
		{ID: "run.next-change", Meaning: keys.NextChange, Contexts: keys.Panes, WhyNot: s.whyNotOpen,
			Do:   s.onceOpen(keys.Bind(s.run, toChange)),
			Help: "Go to the next step that changed the object, or wrote it to etcd. A held request runs until a step has done that."},
		{ID: "run.last-change", Meaning: keys.LastChange, Contexts: keys.Panes, WhyNot: s.whyNotOpen,
			Do:   s.onceOpen(keys.Bind(s.goBack, toChange)),
			Help: "Go back to the step before that changed the object, or wrote it to etcd."},
	}
}

// goal describes the step that a run stops at.
type goal struct {
	// step reports whether the step at an index is the goal, seen from another step.
	step func(all []v1alpha1.Step, from, at int) bool
	// changes reports that the goal depends on the step's changes, which are known only after its end.
	changes bool
	what    string
}

var (
	toLayer = goal{what: "another layer", step: func(all []v1alpha1.Step, from, at int) bool {
		lane, ok := steps.LaneOf(all[at].Layer)
		if from < 0 || !ok {
			return ok
		}
		before, _ := steps.LaneOf(all[from].Layer)
		return lane != before
	}}
	toChange = goal{what: "a change", changes: true, step: func(all []v1alpha1.Step, _, at int) bool {
		_, _, wrote := blame.StepWrite(&all[at])
		return wrote || blame.CountChanges(&all[at]) > 0
	}}
)

// toID returns the goal of the next step with an ID.
func toID(id string) goal {
	return goal{what: id, step: func(all []v1alpha1.Step, _, at int) bool { return all[at].ID == id }}
}

// count counts the steps that match the goal.
func (g goal) count(all []v1alpha1.Step) (n int) {
	for i := range all {
		if g.step(all, -1, i) {
			n++
		}
	}
	return n
}

// run runs a held request to a goal, or moves the cursor to it in one that is not held.
func (s *Screen) run(to goal) tea.Cmd {
	row := s.list.Selected()
	if row == nil || s.orders.enqueue(row.Name, func() tea.Cmd { return s.run(to) }) {
		return nil
	}
	held := s.heldAt()
	s.list.Hold()
	if len(held) == 0 {
		s.seek(to, 1)
		return nil
	}
	s.running = running{id: row.Name, stolen: s.running.stolenFrom(row.Name), to: to.what}
	return s.runOn(row.Name, int(s.heldHere(held).Step), to)
}

// runMost limits the steps of one run.
const runMost = 512

// runOn continues a held request step by step until it reaches its goal.
func (s *Screen) runOn(id string, from int, to goal) tea.Cmd {
	before := 0
	if j := s.open.journey; j != nil && to.changes {
		before = to.count(j.Status.Steps)
	}
	reached := func(j *v1alpha1.Journey) bool {
		at := int(j.Status.Held[0].Step)
		if to.changes {
			return to.count(j.Status.Steps) > before
		}
		return at != from && at < len(j.Status.Steps) && to.step(j.Status.Steps, min(from, len(j.Status.Steps)-1), at)
	}
	return s.command(id, "", func(ctx context.Context) (j *v1alpha1.Journey, err error) {
		for range runMost {
			j, err = s.step(ctx, id, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionInto})
			if err != nil || len(j.Status.Held) == 0 || reached(j) {
				return j, err
			}
		}
		return j, err
	})
}

// goBack moves the cursor back to a goal, over the recorded steps.
func (s *Screen) goBack(to goal) tea.Cmd {
	s.list.Hold()
	s.seek(to, -1)
	return nil
}

// seek moves the cursor to the next step, or the one before, that matches the goal.
func (s *Screen) seek(to goal, by int) {
	if s.open.journey == nil {
		return
	}
	all, from := s.open.journey.Status.Steps, s.steps.Selected()
	for at := from + by; at >= 0 && at < len(all); at += by {
		if to.step(all, from, at) {
			s.steps.SelectStep(at)
			s.showStep()
			return
		}
	}
	if by < 0 {
		s.host.Say(s.phrase("there is none of these before: %s", s.phrase(to.what)))
		return
	}
	s.host.Say(s.phrase("there is none of these behind: %s", s.phrase(to.what)))
}

func (s *Screen) whyNoRunTo() string {
	switch {
	case len(s.heldAt()) > 0:
		return ""
	case s.open.journey == nil:
		return "no request is open"
	case s.steps.Selected() < 0 || s.steps.Mark() >= 0:
		return "no step is under the cursor"
	}
	return s.whyNoBreak()
}

// runTo runs a held request to a step that the user chooses. For any other request, it sends the request again, held
// at the step under the cursor.
func (s *Screen) runTo() tea.Cmd {
	if len(s.heldAt()) == 0 {
		return s.replayTo(s.holdHere())
	}
	s.list.Hold()
	return s.host.Propose(s.phrase("run to the step"), steps.EtcdTxn.String(), func(id string) tea.Cmd {
		id = strings.ToLower(id)
		if _, err := filter.Parse("step="+strconv.Quote(id), s.session.Names); err != nil {
			s.host.Complain(screen.FilterProblem(s.host.Theme().Words, err))
			return nil
		}
		return s.run(toID(id))
	})
}

// holdHere returns a target that holds a new request at the step under the cursor: it counts the steps of the same ID
// before it.
func (s *Screen) holdHere() screen.ToSend {
	all, at := s.open.journey.Status.Steps, s.steps.Selected()
	hold := screen.ToSend{Held: true, HeldAt: all[at].ID}
	for i := range at {
		if all[i].ID == hold.HeldAt {
			hold.Skip++
		}
	}
	return hold
}

// runToHint is the hint of running to a step while a request is held.
func (s *Screen) runToHint() string {
	if len(s.heldAt()) > 0 {
		return "run to a step"
	}
	return ""
}

// pastFiltersHint is the hint of running to the next layer while a request is held at one of the filters, which are
// many and seldom what is looked for.
func (s *Screen) pastFiltersHint() string {
	if held := s.heldAt(); len(held) > 0 && s.atFilter(s.heldHere(held)) {
		return "past the filters"
	}
	return ""
}

// running is the request that the user let go on, until its end.
type running struct {
	id     string
	to     string // where it was to stop; empty if nowhere
	stolen bool   // another writer has committed meanwhile
}

// stolenFrom reports whether another writer has committed before the request.
func (r running) stolenFrom(id string) bool { return r.id == id && r.stolen }

// tellEnd says what became of the request that the user let go on, once it has ended.
func (s *Screen) tellEnd(j *v1alpha1.Journey) {
	r := s.running
	if r.id != j.Name || j.Status.Phase != v1alpha1.JourneyComplete {
		return
	}
	s.running = running{}
	text := s.phrase("%s ended with %d", j.Name, j.Status.Code)
	switch {
	case r.to != "":
		text = s.phrase("%s ended with %d, and never came to %s", j.Name, j.Status.Code, s.phrase(r.to))
	case r.stolen && j.Status.Code == http.StatusConflict:
		text = s.phrase("%s ended with 409: it met the conflict", j.Name)
	case r.stolen && j.Status.Tries > 1:
		text = s.phrase("%s ended with %d: it met the conflict, and succeeded at attempt %d", j.Name, j.Status.Code, j.Status.Tries)
	case r.stolen:
		text = s.phrase("%s ended with %d: it met no conflict", j.Name, j.Status.Code)
	}
	if r.to != "" {
		s.host.Complain(text)
	} else {
		s.host.Say(text)
	}
}

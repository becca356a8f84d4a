package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
)

// acts collects the rules' actions on one step.
type acts struct {
	ctx     context.Context
	subject string
	object  apiruntime.Object // that may be edited, if there is one
	fail    error             // what the step fails with; written on its own goroutine alone
}

// Action is a command to a held request.
type Action uint8

const (
	// Continue runs to the next breakpoint.
	Continue Action = iota
	// Next runs to the next step outside of this one.
	Next
	// Into runs to the next step.
	Into
	// Out runs to the next step outside of this one's caller.
	Out
	// Fail makes the step fail.
	Fail
	// Delay makes the step wait while the request's deadline runs.
	Delay
)

// Command is an Action and who gave it.
type Command struct {
	Action Action
	Err    error         // for Fail
	Delay  time.Duration // for Delay
	By     string

	why string // instead of By
}

// HeldStep is a step at which a request is held.
type HeldStep struct {
	// Step is its index.
	Step int
	ID   steps.ID
	Rule string
	// AtEnd says that the step has done its work.
	AtEnd bool
	Since time.Time
	// Fails and Edits say whether the step can fail and whether its object can be edited.
	Fails, Edits bool
}

// hold is a request that waits at a step. mu guards released.
type hold struct {
	rule  *Rule
	step  *Step
	end   bool
	since time.Time
	tell  chan Command // has room for the one command that ends it

	mu       sync.Mutex
	released bool
}

// release ends the hold, unless it has ended already.
func (h *hold) release(cmd Command) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released {
		return ErrNotHeld
	}
	if cmd.Action == Fail && !h.fails() {
		return fmt.Errorf("%s: %w", h.step.id, ErrNoFail)
	}
	h.released = true
	h.tell <- cmd
	return nil
}

func (h *hold) fails() bool { return h.step.id.Info().Fails && h.step.acts.fail == nil }
func (h *hold) edits() bool { return h.step.acts.object != nil && !h.end }

// hold makes the request wait at a step for a command.
func (c *Control) hold(s *Step, r *Rule, end bool) Command {
	h := &hold{rule: r, step: s, end: end, since: time.Now(), tell: make(chan Command, 1)}
	if !c.beginHold(h) {
		return Command{Action: Continue}
	}
	s.j.beginHold(h)
	r.changed()
	var cmd Command
	select {
	case cmd = <-h.tell:
	case <-s.acts.ctx.Done():
		_ = h.release(Command{Action: Continue, why: "the request ended: " + context.Cause(s.acts.ctx).Error()})
		cmd = <-h.tell
	}
	c.mu.Lock()
	delete(c.held, h)
	c.mu.Unlock()
	s.j.endHold(h, cmd)
	r.changed()
	return cmd
}

// beginHold adds a hold. It refuses when too many requests are held, and when the rule or the server has ended, since
// no release would come.
func (c *Control) beginHold(h *hold) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	rules := c.rules.Load()
	if rules == nil || !slices.Contains(*rules, h.rule) {
		return false
	}
	if len(c.held) >= maxHeld {
		h.rule.missed++
		return false
	}
	c.held[h] = true
	return true
}

func (r *Rule) changed() {
	if r.Changed != nil {
		r.Changed()
	}
}

func (j *Journey) beginHold(h *hold) {
	j.pausing.pause()
	j.mu.Lock()
	j.holds = append(j.holds, h)
	j.tellStopped()
	j.mu.Unlock()
	j.rec.tellChanged(j)
}

func (j *Journey) endHold(h *hold, cmd Command) {
	took := time.Since(h.since)
	how := cmd.why
	if how == "" {
		how = [...]string{"continued", "to the next step", "into the next step", "out of its caller", "to fail",
			"to be delayed"}[cmd.Action]
	}
	j.addIntervention(Intervention{
		Kind: Held, Step: int(h.step.index), AtEnd: h.end, Rule: h.rule.title(), By: cmd.By,
		Text: fmt.Sprintf("held by %s for %s: %s", h.rule.title(), took.Round(time.Millisecond), how),
		At:   h.since.Sub(j.started), Took: took,
	})
	j.heldFor.Add(int64(took))
	j.forgetHold(h)
	j.rec.tellChanged(j)
	j.pausing.resume()
}

func (r *Rule) title() string { return fmt.Sprintf("%s %q", r.Kind, r.Name) }

func (j *Journey) forgetHold(h *hold) {
	j.mu.Lock()
	j.holds = slices.DeleteFunc(j.holds, func(other *hold) bool { return other == h })
	j.mu.Unlock()
}

// heldSteps are the steps at which the journey is held. The caller holds mu.
func (j *Journey) heldSteps() []HeldStep {
	var taken []HeldStep
	for _, h := range j.holds {
		taken = append(taken, HeldStep{
			Step: int(h.step.index), ID: h.step.id, Rule: h.rule.title(), AtEnd: h.end, Since: h.since,
			Fails: h.fails(), Edits: h.edits(),
		})
	}
	return taken
}

// Errors of commands.
var (
	ErrNotHeld  = errors.New("the request is not held there")
	ErrNoFail   = errors.New("the step can't be made to fail")
	ErrNoObject = errors.New("the step has no object that can be edited")
)

// Tell gives a held request a command. step is the index of the step at which it is held, or -1 for the oldest hold.
func (j *Journey) Tell(step int, cmd Command) error {
	h := j.findHold(step)
	if h == nil {
		return ErrNotHeld
	}
	if err := h.release(cmd); err != nil {
		return err
	}
	j.forgetHold(h) // now, so that who waits for the next stop does not find this one
	return nil
}

// Edit changes the object of a held request. change gets the object itself and returns a sentence about its change.
// The request stays held.
func (j *Journey) Edit(step int, by string, change func(apiruntime.Object) (string, error)) error {
	h := j.findHold(step)
	switch {
	case h == nil:
		return ErrNotHeld
	case !h.edits():
		return fmt.Errorf("%s: %w", h.step.id, ErrNoObject)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released {
		return ErrNotHeld
	}
	text, err := change(h.step.acts.object)
	if err != nil {
		return err
	}
	h.step.Before(h.step.acts.object)
	if h.step.Confidential() {
		text = "edited while held"
	}
	j.addIntervention(Intervention{
		Kind: Edited, Step: int(h.step.index), Rule: h.rule.title(), By: by, Text: text, At: time.Since(j.started),
	})
	return nil
}

func (j *Journey) findHold(step int) *hold {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, h := range j.holds {
		if step < 0 || int(h.step.index) == step {
			return h
		}
	}
	return nil
}

// carryOut carries out a command.
func (c *Control) carryOut(s *Step, r *Rule, cmd Command) {
	note := func(kind InterventionKind, took time.Duration, text string) {
		s.j.addIntervention(Intervention{
			Kind: kind, Step: int(s.index), Rule: r.title(), By: cmd.By, Text: text,
			At: time.Since(s.j.started) - took, Took: took,
		})
	}
	switch cmd.Action {
	case Next, Into, Out:
		s.j.setStepping(&stepping{rule: r, action: cmd.Action, from: s})
	case Fail:
		note(Failed, 0, fmt.Sprintf("failed while held: %v", cmd.Err))
		s.acts.fail = cmd.Err
	case Delay:
		took := wait(s.acts.ctx, cmd.Delay, r.removed)
		note(Delayed, took, fmt.Sprintf("delayed while held, for %s", min(took.Round(time.Millisecond), cmd.Delay)))
	}
}

// stepping says how far a request runs before it is held again.
type stepping struct {
	rule   *Rule
	action Action
	from   *Step
}

func (j *Journey) setStepping(to *stepping) {
	j.mu.Lock()
	j.stepping = to
	j.mu.Unlock()
}

// steppingRule is the breakpoint that held the request before, if its command was to run until this step.
func (c *Control) steppingRule(rules []*Rule, s *Step) *Rule {
	j := s.j
	j.mu.Lock()
	defer j.mu.Unlock()
	st := j.stepping
	if st == nil {
		return nil
	}
	if !slices.Contains(rules, st.rule) {
		j.stepping = nil
		return nil
	}
	var within *Step // what lies below is passed
	switch st.action {
	case Next:
		within = st.from
	case Out:
		if within = st.from.caller; within == nil {
			return nil
		}
	}
	for at := s.caller; at != nil && within != nil; at = at.caller {
		if at == within {
			return nil
		}
	}
	j.stepping = nil
	return st.rule
}

// WaitStop waits until the journey is held or ends. It returns false if ctx ends first.
func (j *Journey) WaitStop(ctx context.Context) bool {
	j.mu.Lock()
	if j.finished || len(j.holds) > 0 {
		j.mu.Unlock()
		return true
	}
	if j.stopped == nil {
		j.stopped = make(chan struct{})
	}
	stopped := j.stopped
	j.mu.Unlock()
	select {
	case <-stopped:
		return true
	case <-ctx.Done():
		return false
	}
}

// tellStopped wakes the callers of WaitStop. The caller holds mu.
func (j *Journey) tellStopped() {
	if j.stopped != nil {
		close(j.stopped)
		j.stopped = nil
	}
}

// wroteIn says whether the request's last write was made during a step.
func (j *Journey) wroteIn(s *Step) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.wrote == s.index+1
}

// meets says whether this is the first match of a rule that matches once a request.
func (j *Journey) meets(r *Rule) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if slices.Contains(j.met, r) {
		return false
	}
	j.met = append(j.met, r)
	return true
}

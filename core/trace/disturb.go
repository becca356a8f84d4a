package trace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
)

// Disturbance is the effect of a fault at a mark, on a goroutine that requests share: the goroutine waits or loses
// its watch. Requests that wait for the goroutine wait longer.
type Disturbance struct {
	// Rule is the cause, such as fault "stale".
	Rule string
	// Delay is the time to wait; 0 waits until the rule is removed.
	Delay time.Duration
	// Drop ends a watch instead.
	Drop bool

	removed <-chan struct{}
}

// Wait waits for Delay, but not longer than ctx or the rule lasts.
func (d Disturbance) Wait(ctx context.Context) { wait(ctx, d.Delay, d.removed) }

// Active says whether there are any rules. A nil Control has none.
func (c *Control) Active() bool { return c != nil && c.rules.Load() != nil }

// Disturbances returns the disturbances at a mark, in the order in which the faults were added. of answers what their
// filters ask about besides the step.
func (c *Control) Disturbances(id steps.ID, of filter.Subject) []Disturbance {
	rules := c.rules.Load()
	if rules == nil {
		return nil
	}
	var found []Disturbance
	for _, r := range *rules {
		if !r.disturbs(id) || !r.Filter.Match(mark{id, of}) || !c.matched(r, Hit{Step: id.String()}) {
			continue
		}
		found = append(found, Disturbance{Rule: r.title(), Delay: r.Effect.Delay, Drop: r.Effect.Drop, removed: r.removed})
	}
	return found
}

// Outage says that a fault has a server be down. A step asks for it before it calls the server.
type Outage struct {
	// How is the Effect's word, empty if it is not down.
	How string
	// Over is closed when the fault is removed.
	Over <-chan struct{}
}

// Outage says whether a fault has the server be down that the step is about to call. It counts as a hit.
func (s *Step) Outage() Outage {
	if s == nil || s.acts == nil || s.branch.shared || s.j.untouchable.Load() {
		return Outage{}
	}
	c := &s.j.rec.control
	rules := c.rules.Load()
	if rules == nil {
		return Outage{}
	}
	of := subjectOf(s, false, nil)
	for _, r := range *rules {
		if r.Effect.Outage == "" || !r.Filter.Match(of) || !c.matched(r, Hit{Journey: s.j.id, Step: s.id.String()}) {
			continue
		}
		s.j.addIntervention(Intervention{
			Kind: Failed, Step: int(s.index), Rule: r.title(), At: time.Since(s.j.started),
			Text: fmt.Sprintf("the webhook is down by %s: %s", r.title(), r.Effect.Outage),
		})
		return Outage{How: r.Effect.Outage, Over: r.removed}
	}
	return Outage{}
}

// Lag says that a fault has an event of a watch arrive later.
type Lag struct {
	// Delay is how much later; 0 if there is no such fault.
	Delay time.Duration
	// Over is closed when the fault is removed.
	Over <-chan struct{}
}

// Lag says how much later a watch has to send an event of a type, because of faults. It counts as a hit. The event need
// not have a step yet. A nil Journey has no lag.
func (j *Journey) Lag(eventType string) Lag {
	if j == nil || j.untouchable.Load() {
		return Lag{}
	}
	c := &j.rec.control
	rules := c.rules.Load()
	if rules == nil {
		return Lag{}
	}
	next := j.log.stepCount()
	s := &Step{branch: &j.root, acts: &acts{subject: eventType}, index: int32(next), id: steps.HandlerWatchEvent}
	for _, r := range *rules {
		if !r.Effect.Lag || !r.Filter.Match(subjectOf(s, false, nil)) || !c.matched(r, Hit{Journey: j.id, Step: s.id.String()}) {
			continue
		}
		j.addIntervention(Intervention{
			Kind: Delayed, Step: max(next-1, 0), Rule: r.title(), At: time.Since(j.started),
			Text: fmt.Sprintf("%s arrives %s later by %s", eventType, r.Effect.Delay, r.title()),
		})
		return Lag{Delay: r.Effect.Delay, Over: r.removed}
	}
	return Lag{}
}

// disturbs says whether the rule could act at a mark. A fault meant for requests must not disturb a cache by chance:
// unless a rule can only concern caches, its filter must name the step.
func (r *Rule) disturbs(id steps.ID) bool {
	switch {
	case r.Kind != Fault || r.AtEnd || r.Effect.Lag:
		return false
	case r.Effect.Stale:
		return id == steps.CacherReflect
	case r.Effect.Drop:
		return r.filtered.step
	}
	return r.filtered.step && r.Effect.Delay > 0 && r.Effect.Err == nil
}

// mark is a mark as the subject of a filter.
type mark struct {
	id steps.ID
	of filter.Subject
}

// Field answers step, layer and functions from the mark, and asks of for all else.
func (m mark) Field(name string) (filter.Value, bool) {
	switch name {
	case "step":
		return filter.TextValue(m.id.String()), true
	case "layer":
		return filter.TextValue(m.id.Info().Layer.String()), true
	case "upstream":
		return filter.TextValues(steps.Functions(m.id.String())), true
	}
	return m.of.Field(name)
}

// wait waits for d, or without limit if d is 0. It ends early with ctx or when removed is closed. It returns the time
// it took.
func wait(ctx context.Context, d time.Duration, removed <-chan struct{}) time.Duration {
	start := time.Now()
	var up <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		up = timer.C
	}
	select {
	case <-up:
	case <-removed:
	case <-ctx.Done():
	}
	return time.Since(start)
}

// ErrNoWatch: only a running watch can be dropped.
var ErrNoWatch = errors.New("the request is no watch that runs")

// OnDrop registers how to end the watch of ctx without telling its client.
func OnDrop(ctx context.Context, end func()) {
	if j := FromContext(ctx); j != nil {
		j.mu.Lock()
		if !j.finished {
			j.end = end
		}
		j.mu.Unlock()
	}
}

// Drop ends a watch.
func (j *Journey) Drop(by string) error {
	j.mu.Lock()
	end := j.end
	j.end = nil
	j.mu.Unlock()
	if end == nil {
		return ErrNoWatch
	}
	j.recordDrop("", by, "the watch was dropped")
	end()
	return nil
}

// DroppedBy records that a rule ended the watch. It returns false if the journey is exempt from rules.
func (j *Journey) DroppedBy(rule string) bool {
	if j == nil || j.untouchable.Load() {
		return false
	}
	j.recordDrop(rule, "", fmt.Sprintf("the watch was ended by %s", rule))
	return true
}

// recordDrop records the intervention at the watch's current step.
func (j *Journey) recordDrop(rule, by, text string) {
	last := j.log.stepCount() - 1
	j.addIntervention(Intervention{Kind: Dropped, Step: max(last, 0), Rule: rule, By: by, Text: text, At: time.Since(j.started)})
	j.rec.tellChanged(j)
}

// HeldBack records that the step depends on shared work that a rule holds back.
func (s *Step) HeldBack(rule, text string) {
	if s != nil {
		s.j.addIntervention(Intervention{Kind: Delayed, Step: int(s.index), Rule: rule, Text: text, At: time.Since(s.j.started)})
	}
}

// HeldBack records that a rule holds back the awaited marks. Only the first call counts.
func (w *Marker) HeldBack(rule, text string) {
	if w.heldBack.Swap(true) {
		return
	}
	j := w.j
	j.mu.Lock()
	wrote := j.wrote - 1
	j.mu.Unlock()
	j.addIntervention(Intervention{Kind: Delayed, Step: int(max(wrote, 0)), AtEnd: true, Rule: rule, Text: text, At: time.Since(j.started)})
	j.rec.tellChanged(j)
}

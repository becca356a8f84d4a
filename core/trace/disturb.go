package trace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kx-apiserver/kx/core/filter"
)

// Disturbance is what a fault asks for at a mark, of a goroutine that requests share: it waits, or loses its watch. No
// request is held there, but who waits for the goroutine waits longer.
type Disturbance struct {
	// Rule is what asks for it, such as fault "stale".
	Rule string
	// Delay is how long to wait; 0 is as long as the rule is there.
	Delay time.Duration
	// Drop asks to end a watch instead.
	Drop bool

	removed <-chan struct{}
}

// Wait waits as long as was asked for, but not longer than ctx or the rule.
func (d Disturbance) Wait(ctx context.Context) { wait(ctx, d.Delay, d.removed) }

// Active says whether there are any rules. A nil Control has none.
func (c *Control) Active() bool { return c != nil && c.rules.Load() != nil }

// Disturbed is what faults ask for at a mark, in the order in which they were added. of knows what their filters may ask
// about besides the step.
func (c *Control) Disturbed(id ID, of filter.Subject) []Disturbance {
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

// disturbs says whether the rule could ask for anything at a mark. What is said of requests must not meet caches by
// chance: but for those that are about nothing else, rules must ask for the step.
func (r *Rule) disturbs(id ID) bool {
	switch {
	case r.Kind != Fault || r.AtEnd:
		return false
	case r.Effect.Stale:
		return id == CacherReflect
	case r.Effect.Drop:
		return r.filtered.step
	}
	return r.filtered.step && r.Effect.Delay > 0 && r.Effect.Err == nil
}

// mark is a mark as a filter sees it.
type mark struct {
	id ID
	of filter.Subject
}

// Field implements filter.Subject.
func (m mark) Field(name string) (filter.Value, bool) {
	switch name {
	case "step":
		return filter.TextValue(m.id.String()), true
	case "layer":
		return filter.TextValue(table[m.id].Layer.String()), true
	}
	return m.of.Field(name)
}

// wait waits for a time, 0 being for ever, but not longer than ctx or until removed is closed. It says how long it was.
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

// ErrNoWatch is what it is refused with to drop what is no watch.
var ErrNoWatch = errors.New("the request is no watch that runs")

// OnDrop says how the watch that ctx belongs to is ended without a word to its client.
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
	j.dropped("", by, "the watch was dropped")
	end()
	return nil
}

// DroppedBy notes that a watch was ended by a rule. It says false of one that is to be left alone.
func (j *Journey) DroppedBy(rule string) bool {
	if j == nil || j.untouchable.Load() {
		return false
	}
	j.dropped(rule, "", fmt.Sprintf("the watch was ended by %s", rule))
	return true
}

// dropped notes it at the step that the watch has come to.
func (j *Journey) dropped(rule, by, text string) {
	last := j.log.stepCount() - 1
	j.intervened(Intervention{Kind: Dropped, Step: max(last, 0), Rule: rule, By: by, Text: text, At: time.Since(j.started)})
	j.rec.tellChanged(j)
}

// HeldBack notes that the step goes by what a rule holds back elsewhere, where requests share it.
func (s *Step) HeldBack(rule, text string) {
	if s != nil {
		s.j.intervened(Intervention{Kind: Delayed, Step: int(s.index), Rule: rule, Text: text, At: time.Since(s.j.started)})
	}
}

// HeldBack notes that a rule holds back what is waited for. Only the first call counts.
func (w *Waiting) HeldBack(rule, text string) {
	if w.heldBack.Swap(true) {
		return
	}
	j := w.j
	j.mu.Lock()
	wrote := j.wrote - 1
	j.mu.Unlock()
	j.intervened(Intervention{Kind: Delayed, Step: int(max(wrote, 0)), AtEnd: true, Rule: rule, Text: text, At: time.Since(j.started)})
	j.rec.tellChanged(j)
}

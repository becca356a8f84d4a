package trace

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Control applies rules to requests: it holds, delays and fails their steps, without effect on other requests.
//
//  1. Without rules a step costs one more atomic load. The lists of rules are never changed, only replaced.
//  2. Only the request's own goroutine waits. It waits at a step, so never under a lock, and its seat and deadline are
//     paused.
//  3. Work under [BeginShared] is never disturbed, since other requests wait for it. At a mark no request is held, but a
//     fault that names the mark's step delays it or ends its watch, for all who share it.
//  4. The journey records each intervention. A request without a recorded journey is left alone.
//  5. At most maxHeld holds last at once. Further requests pass, and the rule counts them as missed.
//  6. mu guards held and closed. Lock order: mu before a Journey's mu. Neither is held while a request waits or a
//     rule's Changed is called.
type Control struct {
	rules      atomic.Pointer[[]*Rule] // breakpoints, tracepoints and faults; nil if there are none
	recordings atomic.Pointer[[]*Rule] // nil if there are none

	mu     sync.Mutex
	held   map[*hold]bool
	closed bool
}

// maxHeld bounds the holds at one time.
const maxHeld = 64

// errClosed refuses new rules while the server stops.
var errClosed = errors.New("the server is stopping")

// Control applies rules to the requests of this process.
func (r *Recorder) Control() *Control { return &r.control }

// Add applies a rule from now on.
func (c *Control) Add(r *Rule) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	r.filtered = needsOf(r)
	r.removed = make(chan struct{})
	var rules []*Rule
	if known := c.listFor(r).Load(); known != nil {
		rules = append(rules, *known...)
	}
	rules = append(rules, r)
	c.listFor(r).Store(&rules)
	return nil
}

// listFor returns the list that a rule of r's kind belongs to.
func (c *Control) listFor(r *Rule) *atomic.Pointer[[]*Rule] {
	if r.Kind == Recording {
		return &c.recordings
	}
	return &c.rules
}

// Remove ends a rule and releases the requests that it holds.
func (c *Control) Remove(r *Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.listFor(r).Load(); known != nil && slices.Contains(*known, r) {
		close(r.removed)
		rules := slices.DeleteFunc(slices.Clone(*known), func(other *Rule) bool { return other == r })
		c.listFor(r).Store(&rules)
		if len(rules) == 0 {
			c.listFor(r).Store(nil)
		}
	}
	for h := range c.held {
		if h.rule == r {
			_ = h.release(Command{Action: Continue, why: "the breakpoint was deleted"})
		}
	}
}

// Close releases all held requests and refuses further rules. The server calls it when it stops.
func (c *Control) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.recordings.Store(nil)
	if known := c.rules.Swap(nil); known != nil {
		for _, r := range *known {
			close(r.removed)
		}
	}
	for h := range c.held {
		_ = h.release(Command{Action: Continue, why: "the server is stopping"})
	}
}

// Counts returns the counts of r.
func (c *Control) Counts(r *Rule) Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := Counts{Matches: r.matches, Hits: r.hits, Missed: r.missed, Last: r.last}
	for h := range c.held {
		if h.rule == r {
			n.Held++
		}
	}
	return n
}

// matched counts a match and says whether the rule acts on it. It calls Changed, so the caller holds no lock.
func (c *Control) matched(r *Rule, at Hit) bool {
	c.mu.Lock()
	n := r.matches
	r.matches++
	hit := n >= r.Skip && (r.Count == 0 || r.hits < r.Count) && r.chance(n)
	if hit {
		r.hits++
		r.last = at
		r.last.At = time.Now()
	}
	c.mu.Unlock()
	if r.Changed != nil {
		r.Changed()
	}
	return hit
}

// beginStep is called at the beginning of each step while there are rules.
func (c *Control) beginStep(s *Step) {
	rules := c.rules.Load()
	if rules == nil || s.branch.shared || s.j.untouchable.Load() {
		return
	}
	hits := c.hits(*rules, s, false, nil)
	stop := c.steppingRule(*rules, s)
	for _, r := range hits {
		if r.Kind == Breakpoint && stop == nil {
			stop = r
		}
	}
	if stop != nil {
		c.carryOut(s, stop, c.hold(s, stop, false))
	}
	for _, r := range hits {
		c.apply(s, r, false)
	}
}

// endStep is called at the end of each step for which beginStep was called. It may replace the error of a step that can
// fail.
func (c *Control) endStep(s *Step, err *error) {
	var none error
	if err == nil {
		err = &none
	}
	if s.acts.fail != nil {
		*err = s.acts.fail
	}
	rules := c.rules.Load()
	if rules == nil || s.branch.shared || s.j.untouchable.Load() {
		return
	}
	hits := c.hits(*rules, s, true, *err)
	for _, r := range hits {
		if r.Kind == Breakpoint {
			c.carryOut(s, r, c.hold(s, r, true))
			break
		}
	}
	for _, r := range hits {
		c.apply(s, r, true)
	}
	if s.acts.fail != nil {
		*err = s.acts.fail
	}
}

// hits counts a match for each rule that matches this end of the step, and returns the rules that act there, in the
// order in which they were added.
func (c *Control) hits(rules []*Rule, s *Step, end bool, err error) []*Rule {
	var hits []*Rule
	var of *subject
	wrote := end && s.j.wroteIn(s)
	for _, r := range rules {
		if !r.applies(s, end, wrote) {
			continue
		}
		if of == nil {
			of = subjectOf(s, end, err)
		}
		if r.filtered.verb && of.request.Verb == "" || r.filtered.user && of.request.User == "" {
			continue // not known yet
		}
		if !r.Filter.Match(of) || !r.filtered.eachStep && !s.j.meets(r) {
			continue
		}
		if c.matched(r, Hit{Journey: s.j.id, Step: s.id.String()}) {
			hits = append(hits, r)
		}
	}
	return hits
}

// apply carries out a tracepoint or a fault.
func (c *Control) apply(s *Step, r *Rule, end bool) {
	name := r.title()
	note := func(kind InterventionKind, took time.Duration, format string, args ...any) {
		s.j.addIntervention(Intervention{
			Kind: kind, Step: int(s.index), AtEnd: end, Rule: name, Text: fmt.Sprintf(format, args...),
			At: time.Since(s.j.started) - took, Took: took,
		})
	}
	if r.Kind == Tracepoint {
		note(Traced, 0, "%s was reached", s.id)
	}
	if r.Kind != Fault {
		return
	}
	if r.Effect.Delay > 0 {
		took := wait(s.acts.ctx, r.Effect.Delay, r.removed)
		note(Delayed, took, "delayed by %s for %s", name, min(took.Round(time.Millisecond), r.Effect.Delay))
	}
	switch {
	case s.acts.fail != nil:
		// The step has an error already.
	case r.Effect.Drop:
		note(Dropped, 0, "the watch was ended by %s", name)
		s.acts.fail = ErrDropped
	case r.Effect.Err != nil && r.Effect.AfterCommit:
		note(Failed, 0, "written, and then failed by %s: %v", name, r.Effect.Err)
		s.acts.fail = r.Effect.Err
	case r.Effect.Err != nil:
		note(Failed, 0, "failed by %s: %v", name, r.Effect.Err)
		s.acts.fail = r.Effect.Err
	}
}

// ErrDropped is the error of a watch's step when a fault ends the watch without telling its client.
var ErrDropped = errors.New("injected: the watch is dropped")

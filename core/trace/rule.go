package trace

import (
	"time"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
)

// RuleKind selects the action of a rule at matching steps.
type RuleKind uint8

const (
	// Breakpoint holds the request.
	Breakpoint RuleKind = iota
	// Tracepoint records in the journey that the step was reached.
	Tracepoint
	// Fault delays the request, has it fail, or both.
	Fault
	// Recording has the objects of a request recorded. It acts once a request, when user and resource are known.
	Recording
)

var ruleNames = [...]string{"breakpoint", "tracepoint", "fault", "recording"}

func (k RuleKind) String() string { return ruleNames[k] }

// Rule says at which steps requests are held or disturbed, and how. The fields above the blank line don't change once
// the rule is added to a Control.
type Rule struct {
	Name   string
	Kind   RuleKind
	Filter filter.Filter
	// AtEnd means the end of a step instead of its beginning.
	AtEnd bool
	// Skip is the number of matches that pass first.
	Skip int64
	// Count limits the matches that are hit; 0 is no limit.
	Count int64
	// Probability is the share of matches that are hit: 1 is all. Seed alone decides which: the n-th match has the same
	// result each time.
	Probability float64
	Seed        uint64
	// Effect is the action of a fault.
	Effect Effect
	// Changed, if set, is called on the request's goroutine after the counts have changed.
	Changed func()

	filtered needs
	removed  chan struct{} // closed when the rule is removed
	matches  int64         // guarded by the Control's mu, as is what follows
	hits     int64
	missed   int64
	last     Hit
}

// Effect describes the action of a fault on a step.
type Effect struct {
	// Delay is the time that the step waits first. The request's deadline keeps running, as with a slow etcd.
	Delay time.Duration
	// Err is the error with which the step fails instead of doing its work; with nil it goes on.
	Err error
	// AfterCommit makes the step fail with Err after its work, and only if it has written.
	AfterCommit bool
	// Drop ends a watch instead of sending it an event.
	Drop bool
	// Stale makes a watch cache hold back etcd's events for Delay or, if that is 0, until the rule is removed.
	Stale bool
	// Lag makes events of watches arrive Delay later. Watches ask for it by [Journey.Lag].
	Lag bool
	// Outage is the way in which a webhook is down. Those who call webhooks ask for it by [Step.Outage].
	Outage string
}

// Hit is a place where a rule acted.
type Hit struct {
	Journey string
	Step    string
	At      time.Time
}

// Counts tells how often a rule matched and acted.
type Counts struct {
	// Matches is the number of steps that its filter selected.
	Matches int64
	// Hits is on how many of them it acted.
	Hits int64
	// Missed counts the matches that it did not hold because maxHeld requests were held.
	Missed int64
	// Held counts the requests that it holds now.
	Held int
	// Last is the last hit, if there was one.
	Last Hit
}

// needs lists the facts that a rule's filter uses. They decide when and how often it is evaluated.
type needs struct {
	verb, user bool
	// step means that it asks about the step. A text without a field does too.
	step bool
	// eachStep means that each step of a request is a match of its own. A filter about the request alone matches once a
	// request.
	eachStep bool
}

// Fields about steps, about the path, and about the client.
var (
	stepFields = []string{"step", "layer", "key", "why", "reason", "error", "took", "steps", "dur"}
	pathFields = []string{"verb", "resource", "sub", "group", "version", "ns", "name"}
	userFields = []string{"user"}
)

// clientFields are fields that only requests have.
var clientFields = []string{"verb", "sub", "version", "method", "uri", "type", "user", "agent", "ip", "audit"}

func needsOf(r *Rule) needs {
	return needs{
		verb:     r.Filter.Asks(pathFields...),
		user:     r.Filter.Asks(userFields...),
		step:     r.Filter.Asks("step") && !r.Filter.Asks(clientFields...),
		eachStep: r.Filter.Asks(stepFields...) || r.Effect.Drop || r.Effect.Outage != "",
	}
}

// applies says whether the rule could act at the beginning or the end of a step of any request.
func (r *Rule) applies(s *Step, end, wrote bool) bool {
	info := s.id.Info()
	switch {
	case info.Mark || r.Effect.Stale || r.Effect.Lag || r.Effect.Outage != "":
		return false
	case r.Effect.AfterCommit:
		return end && wrote && info.Fails
	case end != r.AtEnd:
		return false
	case r.Effect.Drop:
		return s.id == steps.HandlerWatchEvent
	case r.Effect.Err != nil:
		return info.Fails
	}
	return true
}

// chance decides the n-th match from Seed and n alone.
func (r *Rule) chance(n int64) bool {
	if r.Probability >= 1 {
		return true
	}
	x := r.Seed + uint64(n)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11)/(1<<53) < r.Probability
}

// subject is a step of a running request as the subject of a filter.
type subject struct {
	j       *Journey
	s       *Step
	request Request
	why     loggedReason // at the end, as is what follows
	err     string
	took    time.Duration
}

func subjectOf(s *Step, end bool, err error) *subject {
	j := s.j
	j.mu.Lock()
	defer j.mu.Unlock()
	v := &subject{j: j, s: s, request: j.request}
	if end {
		var began time.Duration
		v.why, began = j.log.step(s.index)
		v.took = time.Since(j.started) - began
		if err != nil {
			v.err = s.errorText(err)
		}
	}
	return v
}

// Field has no value for facts that are known only at the request's end.
func (v *subject) Field(name string) (filter.Value, bool) {
	switch name {
	case "steps":
		return filter.NumberValue(int64(v.s.index) + 1), true
	case "dur":
		return filter.DurationValue(time.Since(v.j.started)), true
	case "took":
		return filter.DurationValue(v.took), v.took > 0
	case "after":
		return filter.RequestValue(v.j.id, v.j.started), true
	case "upstream":
		return filter.TextValues(steps.Functions(v.s.id.String())), true
	}
	text := v.text(name)
	return filter.TextValue(text), text != ""
}

func (v *subject) text(name string) string {
	q := &v.request
	switch name {
	case "step":
		return v.s.id.String()
	case "function":
		return steps.LastName(SiteOfStep(v.s.id).Function)
	case "layer":
		return v.s.id.Info().Layer.String()
	case "key":
		if v.s.acts == nil { // for a recording
			return ""
		}
		return v.s.acts.subject
	case "why":
		return v.why.String()
	case "reason":
		return v.why.reason.String()
	case "error":
		return v.err
	case "id":
		return v.j.id
	case "phase":
		return "running"
	case "verb":
		return q.Verb
	case "resource":
		return q.Resource
	case "sub":
		return q.Subresource
	case "group":
		return q.Group
	case "version":
		return q.Version
	case "ns":
		return q.Namespace
	case "name":
		return q.Name
	case "method":
		return q.Method
	case "uri":
		return q.URI
	case "type":
		return q.ContentType
	case "user":
		return q.User
	case "agent":
		return q.UserAgent
	case "ip":
		return q.SourceIP
	case "audit":
		return q.AuditID
	case "trace":
		return v.j.span.Load().TraceID()
	}
	return ""
}

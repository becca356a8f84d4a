// Package subject is a journey as a filter sees it.
//
// What comes in is a journey, whole or as a list has it. What goes out is the value of each field of package filter;
// what the journey does not have, such as the steps in a list, has no value. Fields that need the objects of steps
// decode them when they are asked for, once.
package subject

import (
	"time"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// NewSubject returns a journey as the subject of a filter.
func NewSubject(j *v1alpha1.Journey) filter.WithSteps { return &subject{journey: j} }

type subject struct {
	journey *v1alpha1.Journey
	objects *objects // nil until it is asked for
}

// objects holds facts from the objects of a journey's steps.
type objects struct {
	touched []string
	changed []int // by step; -1 where it was not asked for
}

// Field is the journey's value of a field.
func (s *subject) Field(name string) (filter.Value, bool) {
	if text, ok := ofRequest(&s.journey.Spec, name); ok {
		return filter.TextValue(text), text != ""
	}
	return s.ofStatus(name)
}

func ofRequest(q *v1alpha1.JourneySpec, name string) (text string, ok bool) {
	switch name {
	case "verb":
		return q.Verb, true
	case "resource":
		return q.Resource, true
	case "sub":
		return q.Subresource, true
	case "group":
		return q.Group, true
	case "version":
		return q.Version, true
	case "ns":
		return q.Namespace, true
	case "name":
		return q.Name, true
	case "method":
		return q.Method, true
	case "uri":
		return q.URI, true
	case "type":
		return q.ContentType, true
	case "user":
		return q.User, true
	case "agent":
		return q.UserAgent, true
	case "ip":
		return q.SourceIP, true
	case "audit":
		return q.AuditID, true
	case "trace":
		return q.TraceID, true
	}
	return "", false
}

func (s *subject) ofStatus(name string) (filter.Value, bool) {
	j := s.journey
	complete := j.Status.Phase == v1alpha1.JourneyComplete
	switch name {
	case "id":
		return filter.TextValue(j.Name), true
	case "after":
		return filter.RequestValue(j.Name, j.Status.Started.Time), true
	case "cause":
		if j.Status.Cause == nil {
			return filter.Value{}, false
		}
		return filter.TextValue(j.Status.Cause.Journey), j.Status.Cause.Journey != ""
	case "phase":
		return filter.TextValue(phase(j)), true
	case "code":
		return filter.NumberValue(int64(j.Status.Code)), j.Status.Code != 0
	case "bytes":
		return filter.NumberValue(j.Status.Bytes), complete
	case "dur":
		return filter.DurationValue(time.Duration(j.Status.TookMicros) * time.Microsecond), complete
	case "steps":
		return filter.NumberValue(int64(len(j.Status.Steps))), len(j.Status.Steps) > 0
	case "delivered":
		agents := make([]string, len(j.Status.Deliveries))
		for i := range agents {
			agents[i] = j.Status.Deliveries[i].UserAgent
		}
		return filter.TextValues(agents), len(agents) > 0
	case "touched":
		o := s.ofObjects()
		if o.touched == nil {
			o.touched = append([]string{}, blame.WritePaths(j)...)
		}
		return filter.TextValues(o.touched), len(o.touched) > 0
	}
	return filter.Value{}, false
}

func phase(j *v1alpha1.Journey) string {
	switch j.Status.Phase {
	case v1alpha1.JourneyComplete:
		return "done"
	case v1alpha1.JourneyHeld:
		return "held"
	}
	return "running"
}

func (s *subject) ofObjects() *objects {
	if s.objects == nil {
		s.objects = &objects{}
	}
	return s.objects
}

// InSteps says whether a field of a filter is about what lists leave out: steps, and where events were delivered.
func InSteps(field string) bool {
	switch field {
	case "steps", "delivered", "touched":
		return true
	}
	return stepFields[field]
}

var stepFields = func() map[string]bool {
	names := map[string]bool{}
	for _, f := range filter.Fields() {
		names[f.Name] = f.OfSteps
	}
	return names
}()

// Steps are the journey's steps.
func (s *subject) Steps() filter.Steps { return (*stepSubject)(s) }

type stepSubject subject

func (s *stepSubject) Len() int { return len(s.journey.Status.Steps) }

// Field is a step's value of a field.
func (s *stepSubject) Field(i int, name string) (filter.Value, bool) {
	step := &s.journey.Status.Steps[i]
	switch name {
	case "took":
		return filter.DurationValue(time.Duration(step.TookNanos)), step.TookNanos >= 0
	case "changed":
		return filter.NumberValue(int64(s.changed(i))), step.Before != nil && step.After != nil
	case "function":
		return filter.TextValue(steps.LastName(step.Function)), step.Function != ""
	case "upstream":
		names := steps.Functions(step.ID)
		return filter.TextValues(names), len(names) > 0
	}
	get := ofStep(name)
	if get == nil {
		return filter.Value{}, false
	}
	text := get(step)
	return filter.TextValue(text), text != ""
}

// Find is the first step from the i-th on whose text in a field fulfils a condition, or -1.
func (s *stepSubject) Find(i int, name string, c filter.TextCondition) int {
	get := ofStep(name)
	if get == nil {
		return -1
	}
	for all := s.journey.Status.Steps; i < len(all); i++ {
		if text := get(&all[i]); text != "" && c.Matches(text) {
			return i
		}
	}
	return -1
}

// ofStep returns a text field of steps, nil if there is none of that name.
func ofStep(name string) func(*v1alpha1.Step) string {
	switch name {
	case "step":
		return func(s *v1alpha1.Step) string { return s.ID }
	case "layer":
		return func(s *v1alpha1.Step) string { return s.Layer }
	case "key":
		return func(s *v1alpha1.Step) string { return s.Subject }
	case "why":
		return func(s *v1alpha1.Step) string { return s.Why }
	case "error":
		return func(s *v1alpha1.Step) string { return s.Error }
	case "reason":
		return func(s *v1alpha1.Step) string {
			if s.Reason == nil {
				return ""
			}
			return s.Reason.Kind
		}
	}
	return nil
}

// changed returns the number of fields that a step changed.
func (s *stepSubject) changed(i int) int {
	o := (*subject)(s).ofObjects()
	if o.changed == nil {
		o.changed = make([]int, s.Len())
		for i := range o.changed {
			o.changed[i] = -1
		}
	}
	if o.changed[i] < 0 {
		o.changed[i] = blame.CountChanges(&s.journey.Status.Steps[i])
	}
	return o.changed[i]
}

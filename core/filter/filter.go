package filter

import (
	"strings"
	"time"
)

// Filter selects subjects. The zero Filter selects all. Goroutines may share it.
type Filter struct {
	root node // nil matches everything
}

// Subject is the thing that a filter selects or not.
type Subject interface {
	// Field returns the subject's value of a field of [Fields], or false if it has none.
	Field(name string) (Value, bool)
}

// WithSteps is a subject whose steps are known one by one. Any other subject is itself the only step there is.
type WithSteps interface {
	Subject
	Steps() Steps
}

// Steps are the steps of a subject, in the order in which they began.
type Steps interface {
	Len() int
	// Field returns the i-th step's value of a field, or false if it has none.
	Field(i int, name string) (Value, bool)
	// Find returns the first step from the i-th on whose text in a field fulfils a condition, or -1.
	Find(i int, name string, c TextCondition) int
}

// TextCondition is a filter's condition on a text that is not empty.
type TextCondition interface{ Matches(text string) bool }

// SubjectFunc makes a function a Subject.
type SubjectFunc func(name string) (Value, bool)

// Field calls f.
func (f SubjectFunc) Field(name string) (Value, bool) { return f(name) }

// Value is a subject's value of a field.
type Value struct {
	text   string
	texts  []string
	number int64
}

// TextValue is the value of a Word or Text field.
func TextValue(s string) Value { return Value{text: s} }

// TextValues are the values of a Word or Text field that has several.
func TextValues(s []string) Value { return Value{texts: s} }

// NumberValue is the value of a Number field.
func NumberValue(n int64) Value { return Value{number: n} }

// DurationValue is the value of a Duration field.
func DurationValue(d time.Duration) Value { return Value{number: int64(d)} }

// RequestValue is the value of a Request field: the subject's own ID, and when it began.
func RequestValue(id string, began time.Time) Value {
	return Value{text: id, number: began.UnixMicro()}
}

// any says whether f holds for one of the value's texts.
func (v Value) any(f func(string) bool) bool {
	if v.texts == nil {
		return v.text != "" && f(v.text)
	}
	for _, s := range v.texts {
		if f(s) {
			return true
		}
	}
	return false
}

// Match says whether the filter selects s.
func (f Filter) Match(s Subject) bool { return f.root == nil || f.root.match(s) }

// Empty says whether the filter selects everything.
func (f Filter) Empty() bool { return f.root == nil }

// String is the canonical form of the filter.
func (f Filter) String() string {
	if f.root == nil {
		return ""
	}
	var w writer
	f.root.write(&w, precedenceOr)
	return w.String()
}

// Terms returns the conditions as the user wrote them. A subject must meet all of them.
func (f Filter) Terms() (terms []string) {
	parts := []node{f.root}
	if all, ok := f.root.(andNode); ok {
		parts = all.parts
	}
	for _, part := range parts {
		if part != nil {
			var w writer
			part.write(&w, precedenceAnd)
			terms = append(terms, w.String())
		}
	}
	return terms
}

// node is a part of a filter.
type node interface {
	match(Subject) bool
	// write writes the node, in parentheses if it binds weaker than its surroundings.
	write(w *writer, around int)
	// cost estimates the most expensive match.
	cost() int
}

// writer writes the canonical form.
type writer struct {
	strings.Builder
	// ofStep says that conditions of one step are written. bare says that no field was written before in this group of
	// them, so that a word alone is the step's ID.
	ofStep, bare bool
}

const (
	precedenceOr = iota
	precedenceAnd
	precedenceNot
)

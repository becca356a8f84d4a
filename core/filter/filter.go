package filter

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Filter selects subjects. The zero Filter selects all. Goroutines may share it.
type Filter struct {
	root node // nil matches everything
}

// Subject is what a filter is matched against.
type Subject interface {
	// Field returns the subject's value of a field of [Fields], or false if it has none.
	Field(name string) (Value, bool)
}

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
	var b strings.Builder
	f.root.write(&b, precedenceOr)
	return b.String()
}

// comparison is how a field is compared with a value.
type comparison uint8

const (
	has comparison = iota // ":"
	equal
	matches
	greater
	greaterEqual
	less
	lessEqual
)

func (o comparison) String() string { return [...]string{":", "=", "~", ">", ">=", "<", "<="}[o] }

// node is a part of a filter.
type node interface {
	match(Subject) bool
	// write writes the node, in parentheses if it binds weaker than its surroundings.
	write(b *strings.Builder, around int)
}

const (
	precedenceOr = iota
	precedenceAnd
	precedenceNot
)

type orNode []node

func (n orNode) match(s Subject) bool {
	for _, part := range n {
		if part.match(s) {
			return true
		}
	}
	return false
}

func (n orNode) write(b *strings.Builder, around int) {
	writeJoined(b, n, " | ", around > precedenceOr, precedenceAnd)
}

type andNode []node

func (n andNode) match(s Subject) bool {
	for _, part := range n {
		if !part.match(s) {
			return false
		}
	}
	return true
}

func (n andNode) write(b *strings.Builder, around int) {
	writeJoined(b, n, " ", around > precedenceAnd, precedenceNot)
}

func writeJoined(b *strings.Builder, parts []node, sep string, parens bool, inside int) {
	if parens {
		b.WriteByte('(')
	}
	for i, part := range parts {
		if i > 0 {
			b.WriteString(sep)
		}
		part.write(b, inside)
	}
	if parens {
		b.WriteByte(')')
	}
}

type notNode struct{ node }

func (n notNode) match(s Subject) bool { return !n.node.match(s) }

func (n notNode) write(b *strings.Builder, _ int) {
	b.WriteByte('!')
	n.node.write(b, precedenceNot)
}

// anywhereNode is a text without a field.
type anywhereNode struct{ pattern pattern }

func (n anywhereNode) match(s Subject) bool {
	for _, name := range textFields {
		if v, ok := s.Field(name); ok && v.any(n.pattern.within) {
			return true
		}
	}
	return false
}

func (n anywhereNode) write(b *strings.Builder, _ int) { b.WriteString(n.pattern.canonical) }

// textNode asks a Word or Text field for one of several patterns.
type textNode struct {
	field    string
	op       comparison // has or equal
	part     bool
	patterns []pattern
}

func (n textNode) match(s Subject) bool {
	v, ok := s.Field(n.field)
	return ok && v.any(func(text string) bool {
		for _, p := range n.patterns {
			if n.part && p.within(text) || !n.part && p.whole(text) {
				return true
			}
		}
		return false
	})
}

func (n textNode) write(b *strings.Builder, _ int) {
	b.WriteString(n.field)
	b.WriteString(n.op.String())
	for i, p := range n.patterns {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.canonical)
	}
}

// regexpNode asks a Word or Text field for a regular expression.
type regexpNode struct {
	field, source string
	re            *regexp.Regexp
}

func (n regexpNode) match(s Subject) bool {
	v, ok := s.Field(n.field)
	return ok && v.any(n.re.MatchString)
}

func (n regexpNode) write(b *strings.Builder, _ int) {
	b.WriteString(n.field + "~" + quoteValue(n.source))
}

// numberNode compares a Number or Duration field.
type numberNode struct {
	field  Field
	op     comparison
	values []int64
}

func (n numberNode) match(s Subject) bool {
	v, ok := s.Field(n.field.Name)
	if !ok {
		return false
	}
	switch want := n.values[0]; n.op {
	case greater:
		return v.number > want
	case greaterEqual:
		return v.number >= want
	case less:
		return v.number < want
	case lessEqual:
		return v.number <= want
	}
	for _, want := range n.values {
		if v.number == want {
			return true
		}
	}
	return false
}

func (n numberNode) write(b *strings.Builder, _ int) {
	b.WriteString(n.field.Name + n.op.String())
	for i, v := range n.values {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.field.Kind == Duration {
			b.WriteString(time.Duration(v).String())
		} else {
			b.WriteString(strconv.FormatInt(v, 10))
		}
	}
}

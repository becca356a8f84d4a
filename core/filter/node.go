package filter

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// operands are the parts of an "and" or an "or".
type operands struct {
	parts []node
	// cheapFirst are the parts in the order in which they are decided.
	cheapFirst []node
}

func join(parts []node) operands {
	return operands{parts, slices.SortedStableFunc(slices.Values(parts), func(a, b node) int { return cmp.Compare(a.cost(), b.cost()) })}
}

func (j operands) cost() int { return j.cheapFirst[len(j.cheapFirst)-1].cost() }

func (j operands) write(w *writer, sep string, parens bool, inside int) {
	if parens {
		w.WriteByte('(')
	}
	for i, part := range j.parts {
		if i > 0 {
			w.WriteString(sep)
		}
		w.bare = w.ofStep && (i == 0 || inside == precedenceAnd)
		part.write(w, inside)
	}
	if parens {
		w.WriteByte(')')
	}
}

type orNode struct{ operands }

func (n orNode) match(s Subject) bool {
	for _, part := range n.cheapFirst {
		if part.match(s) {
			return true
		}
	}
	return false
}

func (n orNode) write(w *writer, around int) {
	n.operands.write(w, " | ", around > precedenceOr, precedenceAnd)
}

type andNode struct{ operands }

func (n andNode) match(s Subject) bool {
	for _, part := range n.cheapFirst {
		if !part.match(s) {
			return false
		}
	}
	return true
}

func (n andNode) write(w *writer, around int) {
	n.operands.write(w, " ", around > precedenceAnd, precedenceNot)
}

type notNode struct{ node }

func (n notNode) match(s Subject) bool { return !n.node.match(s) }

func (n notNode) write(w *writer, _ int) {
	w.WriteByte('!')
	n.node.write(w, precedenceNot)
}

// anywhereNode is a text without a field, of a request with its steps or of one step.
type anywhereNode struct {
	pattern pattern
	ofStep  bool
}

func (n anywhereNode) match(s Subject) bool {
	if !n.ofStep && n.in(s, requestTexts) {
		return true
	}
	if w, ok := s.(WithSteps); ok && !n.ofStep {
		return stepAfter(w.Steps(), -1, anywhereNode{n.pattern, true}) >= 0
	}
	return n.in(s, stepTexts) || n.isFunction(s)
}

// functionNames are the names under which a subject returns the functions of a step: kx's own and those upstream.
// They are not among the fields. A text without a field matches a step by the whole name of a function.
var functionNames = [...]string{"function", "upstream"}

func (n anywhereNode) isFunction(s Subject) bool {
	for _, name := range functionNames {
		v, ok := s.Field(name)
		if ok && (v.texts == nil && n.pattern.whole(v.text) || slices.ContainsFunc(v.texts, n.pattern.whole)) {
			return true
		}
	}
	return false
}

func (n anywhereNode) in(s Subject, names []string) bool {
	for _, name := range names {
		v, ok := s.Field(name)
		switch {
		case !ok:
		case v.texts == nil && v.text != "" && n.pattern.within(v.text):
			return true
		case slices.ContainsFunc(v.texts, n.pattern.within):
			return true
		}
	}
	return false
}

func (n anywhereNode) write(w *writer, _ int) {
	w.WriteString(n.pattern.canonical)
}

func (n anywhereNode) cost() int { return costSteps }

// textNode asks a Word or Text field for one of several patterns.
type textNode struct {
	field    *Field
	op       comparison // has or equal
	part     bool
	patterns []pattern
}

func (n *textNode) match(s Subject) bool {
	v, ok := s.Field(n.field.Name)
	if !ok {
		return false
	}
	if v.texts == nil {
		return v.text != "" && n.Matches(v.text)
	}
	return slices.ContainsFunc(v.texts, n.Matches)
}

func (n *textNode) Matches(text string) bool {
	for i := range n.patterns {
		if p := &n.patterns[i]; n.part && p.within(text) || !n.part && p.whole(text) {
			return true
		}
	}
	return false
}

func (n *textNode) write(w *writer, _ int) {
	if !w.bare || !n.canBeBare() {
		w.WriteString(n.field.Name)
		w.WriteString(n.op.String())
	}
	for i, p := range n.patterns {
		if i > 0 {
			w.WriteByte(',')
		}
		w.WriteString(p.canonical)
	}
}

// canBeBare says whether the values alone are read as the step's ID.
func (n *textNode) canBeBare() bool {
	if n.field.Name != "step" || quoteText(n.patterns[0].canonical) != n.patterns[0].canonical {
		return false
	}
	return !slices.ContainsFunc(n.patterns, func(p pattern) bool { return strings.HasPrefix(p.canonical, `"`) })
}

func (n *textNode) cost() int { return n.field.cost }

// regexpNode asks a Word or Text field for a regular expression.
type regexpNode struct {
	field  *Field
	source string
	re     *regexp.Regexp
}

func (n *regexpNode) match(s Subject) bool {
	v, ok := s.Field(n.field.Name)
	return ok && v.any(n.Matches)
}

func (n *regexpNode) Matches(text string) bool { return n.re.MatchString(text) }

func (n *regexpNode) write(w *writer, _ int) {
	w.WriteString(n.field.Name + "~" + quoteValue(n.source))
}

func (n *regexpNode) cost() int { return n.field.cost }

// numberNode compares a Number or Duration field.
type numberNode struct {
	field  *Field
	op     comparison
	values []int64
}

func (n numberNode) match(s Subject) bool {
	v, ok := s.Field(n.field.Name)
	return ok && n.holds(v.number)
}

func (n numberNode) holds(got int64) bool {
	switch want := n.values[0]; n.op {
	case greater:
		return got > want
	case greaterEqual:
		return got >= want
	case less:
		return got < want
	case lessEqual:
		return got <= want
	}
	return slices.Contains(n.values, got)
}

func (n numberNode) write(w *writer, _ int) {
	w.WriteString(n.field.Name)
	n.writeComparison(w)
}

func (n numberNode) writeComparison(w *writer) {
	w.WriteString(n.op.String())
	for i, v := range n.values {
		if i > 0 {
			w.WriteByte(',')
		}
		if n.field.Kind == Duration {
			w.WriteString(time.Duration(v).String())
		} else {
			w.WriteString(strconv.FormatInt(v, 10))
		}
	}
}

func (n numberNode) cost() int { return n.field.cost }

// comparison is the operator between a field and a value.
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

package filter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a filter.
const (
	MaxLength = 4096 // bytes
	maxDepth  = 64   // parentheses and negations within each other
)

// Error has the column of a mistake in a filter, and what was expected there.
type Error struct {
	Filter   string
	Column   int // of the first character that is wrong; the first column is 1
	Problem  string
	Expected string
	// Unknown is set if the problem is a name that does not exist. Problem and Expected say the same.
	Unknown *Unknown
	// Elsewhere is set if the problem is a function that no step is. Problem says the same.
	Elsewhere *NoStepFunction
}

func (e *Error) Error() string { return fmt.Sprintf("filter, column %d: %s", e.Column, e.Text()) }

// Text is the error without its place.
func (e *Error) Text() string {
	switch {
	case e.Unknown != nil && len(e.Unknown.Near) > 0:
		return e.Problem + "; near it: " + e.Expected
	case e.Expected != "":
		return e.Problem + "; expected " + e.Expected
	}
	return e.Problem
}

// Parse reads a filter. A name that is not known is an error. The error, if any, is an [*Error].
func Parse(s string, known Vocabulary) (Filter, error) { return (&parser{s: s, known: known}).filter() }

// ParseRunning reads a filter that decides at a step of a running request, such as that of a breakpoint. Fields that
// are known only at the request's end are an error.
func ParseRunning(s string, known Vocabulary) (Filter, error) {
	return (&parser{s: s, known: known, running: true}).filter()
}

// parser reads s from at on. Each method moves at past its input and the spaces after it.
type parser struct {
	s       string
	at      int
	known   Vocabulary
	running bool
	// ofStep: the conditions apply to one step. named: a field was among the conditions read so far.
	ofStep, named bool
}

func (p *parser) filter() (Filter, error) {
	if len(p.s) > MaxLength {
		return Filter{}, p.errorf(MaxLength, "at most "+strconv.Itoa(MaxLength)+" bytes", "the filter has %d bytes", len(p.s))
	}
	for i, r := range p.s {
		if r == utf8.RuneError {
			return Filter{}, p.errorf(i, "UTF-8", "not a character")
		}
	}
	p.space()
	if p.at == len(p.s) {
		return Filter{}, nil
	}
	root, err := p.or(0)
	if err != nil {
		return Filter{}, err
	}
	if p.at < len(p.s) {
		return Filter{}, p.errorf(p.at, "the end, & or |", "%q closes nothing", ")")
	}
	return Filter{root: root}, nil
}

func (p *parser) errorf(at int, expected, format string, args ...any) error {
	return p.error(at, expected, fmt.Sprintf(format, args...))
}

func (p *parser) error(at int, expected, problem string) *Error {
	return &Error{
		Filter:   p.s,
		Column:   p.column(at),
		Problem:  problem,
		Expected: expected,
	}
}

func (p *parser) column(at int) int { return utf8.RuneCountInString(p.s[:at]) + 1 }

func (p *parser) space() {
	for p.at < len(p.s) {
		r, n := utf8.DecodeRuneInString(p.s[p.at:])
		if !unicode.IsSpace(r) {
			return
		}
		p.at += n
	}
}

// take consumes c and the spaces after it, if c is next.
func (p *parser) take(c byte) bool {
	if p.at >= len(p.s) || p.s[p.at] != c {
		return false
	}
	p.at++
	p.space()
	return true
}

func (p *parser) or(depth int) (node, error) {
	var parts []node
	for {
		part, err := p.and(depth)
		if err != nil {
			return nil, err
		}
		if inner, ok := part.(orNode); ok {
			parts = append(parts, inner.parts...)
		} else {
			parts = append(parts, part)
		}
		if !p.take('|') {
			break
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return orNode{join(parts)}, nil
}

func (p *parser) and(depth int) (node, error) {
	var parts []node
	p.named = false
	for {
		part, err := p.not(depth)
		if err != nil {
			return nil, err
		}
		if inner, ok := part.(andNode); ok {
			parts = append(parts, inner.parts...)
		} else {
			parts = append(parts, part)
		}
		if !p.take('&') && (p.at == len(p.s) || p.s[p.at] == '|' || p.s[p.at] == ')') {
			break
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return andNode{join(parts)}, nil
}

func (p *parser) not(depth int) (node, error) {
	if depth > maxDepth {
		return nil, p.errorf(p.at, "at most "+strconv.Itoa(maxDepth)+" levels", "too many levels of ! and (")
	}
	start := p.at
	if p.take('!') {
		inner, err := p.not(depth + 1)
		if err != nil {
			return nil, err
		}
		return negate(inner), nil
	}
	n, err := p.operand(depth)
	if err != nil || !p.next(arrow) {
		return n, err
	}
	return p.chain(start, depth)
}

// operand reads what "!" and the other operators work on.
func (p *parser) operand(depth int) (node, error) {
	start := p.at
	switch {
	case p.takeForm("step"):
		return p.step(start, depth)
	case p.takeForm("steps"):
		return p.count(start, depth)
	case !p.take('('):
		return p.term()
	}
	named := p.named
	inner, err := p.or(depth + 1)
	if err != nil {
		return nil, err
	}
	p.named = named
	return inner, p.closeParenthesis(start)
}

// closeParenthesis reads the parenthesis that closes the one at start.
func (p *parser) closeParenthesis(start int) error {
	if !p.take(')') {
		return p.errorf(p.at, `")"`, "the parenthesis of column %d is open", p.column(start))
	}
	return nil
}

// next says whether text is next.
func (p *parser) next(text string) bool { return strings.HasPrefix(p.s[p.at:], text) }

// negate removes a double negation, so that the canonical form has none.
func negate(n node) node {
	if inner, ok := n.(notNode); ok {
		return inner.node
	}
	return notNode{n}
}

package filter

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of a filter.
const (
	MaxLength = 4096 // bytes
	MaxDepth  = 64   // parentheses and negations within each other
)

// Error says at which column a filter is wrong, and what was expected there.
type Error struct {
	Filter   string
	Column   int // of the first character that is wrong; the first column is 1
	Problem  string
	Expected string
}

func (e *Error) Error() string {
	if e.Expected == "" {
		return fmt.Sprintf("filter, column %d: %s", e.Column, e.Problem)
	}
	return fmt.Sprintf("filter, column %d: %s; expected %s", e.Column, e.Problem, e.Expected)
}

// Parse reads a filter. The error, if any, is an [*Error].
func Parse(s string) (Filter, error) {
	p := &parser{s: s}
	if len(s) > MaxLength {
		return Filter{}, p.errorf(MaxLength, "at most "+strconv.Itoa(MaxLength)+" bytes", "the filter has %d bytes", len(s))
	}
	for i, r := range s {
		if r == utf8.RuneError {
			return Filter{}, p.errorf(i, "UTF-8", "not a character")
		}
	}
	p.space()
	if p.at == len(s) {
		return Filter{}, nil
	}
	root, err := p.or(0)
	if err != nil {
		return Filter{}, err
	}
	if p.at < len(s) {
		return Filter{}, p.errorf(p.at, "the end, & or |", "%q closes nothing", ")")
	}
	return Filter{root: root}, nil
}

// parser reads s from at on. Each method moves at past what it read and the spaces after it.
type parser struct {
	s  string
	at int
}

func (p *parser) errorf(at int, expected, format string, args ...any) error {
	return &Error{
		Filter:   p.s,
		Column:   utf8.RuneCountInString(p.s[:at]) + 1,
		Problem:  fmt.Sprintf(format, args...),
		Expected: expected,
	}
}

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
	var parts orNode
	for {
		part, err := p.and(depth)
		if err != nil {
			return nil, err
		}
		if inner, ok := part.(orNode); ok {
			parts = append(parts, inner...)
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
	return parts, nil
}

func (p *parser) and(depth int) (node, error) {
	var parts andNode
	for {
		part, err := p.not(depth)
		if err != nil {
			return nil, err
		}
		if inner, ok := part.(andNode); ok {
			parts = append(parts, inner...)
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
	return parts, nil
}

func (p *parser) not(depth int) (node, error) {
	if depth > MaxDepth {
		return nil, p.errorf(p.at, "at most "+strconv.Itoa(MaxDepth)+" levels", "too many levels of ! and (")
	}
	start := p.at
	if p.take('!') {
		inner, err := p.not(depth + 1)
		if err != nil {
			return nil, err
		}
		return negate(inner), nil
	}
	if !p.take('(') {
		return p.term()
	}
	inner, err := p.or(depth + 1)
	if err != nil {
		return nil, err
	}
	if !p.take(')') {
		return nil, p.errorf(p.at, `")"`, "the parenthesis of column %d is open", utf8.RuneCountInString(p.s[:start])+1)
	}
	return inner, nil
}

// negate removes a double negation, so that the canonical form has none.
func negate(n node) node {
	if inner, ok := n.(notNode); ok {
		return inner.node
	}
	return notNode{n}
}

// operators are in the order of matching: longer ones first.
var operators = []struct {
	text string
	op   comparison
	not  bool
}{
	{"!=", equal, true}, {"!~", matches, true}, {">=", greaterEqual, false}, {"<=", lessEqual, false},
	{":", has, false}, {"=", equal, false}, {"~", matches, false}, {">", greater, false}, {"<", less, false},
}

func (p *parser) term() (node, error) {
	start := p.at
	for p.at < len(p.s) && isLetter(p.s[p.at]) {
		p.at++
	}
	if name := p.s[start:p.at]; name != "" {
		for _, o := range operators {
			if !strings.HasPrefix(p.s[p.at:], o.text) {
				continue
			}
			p.at += len(o.text)
			n, err := p.fieldTerm(start, strings.ToLower(name), o.text, o.op)
			if err == nil && o.not {
				n = notNode{n}
			}
			return n, err
		}
	}
	p.at = start
	return p.text()
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// operatorWords are words that users try instead of operators.
var operatorWords = map[string]string{"and": "& or a space", "or": "|", "not": "!"}

func (p *parser) text() (node, error) {
	start := p.at
	word, quoted, err := p.word("")
	if err != nil {
		return nil, err
	}
	if instead, ok := operatorWords[strings.ToLower(word)]; ok && !quoted {
		return nil, p.errorf(start, instead+", or the word in quotes", "%q is not an operator", word)
	}
	if err := p.endOfTerm(); err != nil {
		return nil, err
	}
	return anywhereNode{newPattern(word, quoted, quoteText)}, nil
}

// fieldTerm reads the values of a term. Its field begins at start, and the parser is behind its operator.
func (p *parser) fieldTerm(start int, name, opText string, op comparison) (node, error) {
	afterOp := p.at
	if short, ok := shorthands[name]; ok {
		if op != has {
			return nil, p.errorf(afterOp-len(opText), `":"`, "%s has no %q", name, opText)
		}
		name, op = short.field, short.op
	}
	i, ok := byName[name]
	if !ok {
		return nil, p.errorf(start, "one of "+fieldNames()+", or the text in quotes", "there is no field %q", name)
	}
	field := fields[i]
	numeric := field.Kind == Number || field.Kind == Duration
	switch {
	case numeric && op == matches:
		return nil, p.errorf(afterOp-len(opText), ": = != > >= < or <=", "%s is a %s: it has no %q", field.Name, field.Kind, opText)
	case !numeric && op >= greater:
		return nil, p.errorf(afterOp-len(opText), ": = != ~ or !~", "%s is a %s: it has no %q", field.Name, field.Kind, opText)
	case numeric:
		return p.numbers(field, op)
	case op == matches:
		return p.regexp(field)
	}
	n := textNode{field: field.Name, op: op, part: field.Kind == Text && op == has}
	if field.Kind == Word {
		n.op = has // the same as "=", and shorter to read
	}
	for {
		at := p.at
		word, quoted, err := p.word(",")
		if err != nil {
			return nil, err
		}
		if word == "" {
			return nil, p.errorf(at, "a value; !"+field.Name+":* asks for none", "the value is empty")
		}
		n.patterns = append(n.patterns, newPattern(word, quoted, quoteValue))
		if p.at >= len(p.s) || p.s[p.at] != ',' {
			break
		}
		p.at++
	}
	return n, p.endOfTerm()
}

func (p *parser) regexp(field Field) (node, error) {
	at := p.at
	source, _, err := p.word("")
	if err != nil {
		return nil, err
	}
	if err := p.endOfTerm(); err != nil {
		return nil, err
	}
	re, err := regexp.Compile("(?i)" + source)
	if err != nil {
		_, msg, _ := strings.Cut(err.Error(), "error parsing regexp: ")
		return nil, p.errorf(at, "a regular expression", "%s", msg)
	}
	return regexpNode{field: field.Name, source: source, re: re}, nil
}

func (p *parser) numbers(field Field, op comparison) (node, error) {
	if op == equal {
		op = has
	}
	n := numberNode{field: field, op: op}
	for {
		at := p.at
		word, _, err := p.word(",")
		if err != nil {
			return nil, err
		}
		value, err := parseNumber(field.Kind, word)
		if err != nil {
			expected := "a whole number, such as 409"
			if field.Kind == Duration {
				expected = "a duration, such as 5ms or 1.5s"
			}
			return nil, p.errorf(at, expected, "%q is not a %s", word, field.Kind)
		}
		n.values = append(n.values, value)
		if p.at >= len(p.s) || p.s[p.at] != ',' {
			break
		}
		if op != has {
			return nil, p.errorf(p.at, "one value", "%q compares with one value", op)
		}
		p.at++
	}
	return n, p.endOfTerm()
}

func parseNumber(kind Kind, word string) (int64, error) {
	if kind == Duration {
		d, err := time.ParseDuration(word)
		return int64(d), err
	}
	return strconv.ParseInt(word, 10, 64)
}

// wordEnd are the characters that end a word, beside spaces.
const wordEnd = `&|()"`

// word reads a word or a quoted string; a word also ends at one of the characters of more.
func (p *parser) word(more string) (word string, quoted bool, err error) {
	rest := p.s[p.at:]
	if strings.HasPrefix(rest, `"`) {
		q, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", true, p.errorf(p.at, `a closing " on the same line, and \" or \\ for those two inside`, "the quotes are not complete")
		}
		p.at += len(q)
		word, _ = strconv.Unquote(q)
		if !utf8.ValidString(word) {
			return "", true, p.errorf(p.at-len(q), "UTF-8", "the quotes hold something that is not a character")
		}
		return word, true, nil
	}
	end := strings.IndexFunc(rest, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(wordEnd, r) || strings.ContainsRune(more, r)
	})
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		problem := "nothing follows"
		if rest != "" {
			r, _ := utf8.DecodeRuneInString(rest)
			problem = fmt.Sprintf("unexpected %q", string(r))
		}
		expected := "a value"
		if more == "" {
			expected = "a text, a field or ("
		}
		return "", false, p.errorf(p.at, expected, "%s", problem)
	}
	p.at += end
	return rest[:end], false, nil
}

// endOfTerm checks that a term ends here. A parenthesis or quotes right behind a value are more likely a part of the value
// than a term of their own, so they are an error.
func (p *parser) endOfTerm() error {
	if p.at < len(p.s) && (p.s[p.at] == '(' || p.s[p.at] == '"') {
		return p.errorf(p.at, "a space before it, or quotes around the whole value", "%q right behind a value", p.s[p.at:p.at+1])
	}
	if p.at < len(p.s) && !strings.ContainsRune("&|)", rune(p.s[p.at])) {
		if r, _ := utf8.DecodeRuneInString(p.s[p.at:]); !unicode.IsSpace(r) {
			return p.errorf(p.at, "a space, & or |", "%q right behind a value", string(r))
		}
	}
	p.space()
	return nil
}

package filter

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

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
			if !p.next(o.text) {
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
	if p.ofStep {
		return p.stepText()
	}
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
	elsewhere := p.noStepError(start, word)
	if elsewhere != nil && !quoted {
		return nil, elsewhere
	}
	if err := p.endOfTerm(); err != nil {
		return nil, err
	}
	pattern := newPattern(word, quoted, quoteText)
	if elsewhere != nil {
		pattern.canonical = strconv.Quote(word) // without quotes it would be refused
	}
	return anywhereNode{pattern: pattern}, nil
}

// fieldTerm reads the values of a term. Its field begins at start, and the parser is behind its operator.
func (p *parser) fieldTerm(start int, name, opText string, op comparison) (node, error) {
	opAt := p.at - len(opText)
	if short, ok := shorthands[name]; ok {
		if op != has {
			return nil, p.errorf(opAt, `":"`, "%s has no %q", name, opText)
		}
		name, op = short.field, short.op
	}
	field, err := p.field(start, name)
	if err != nil {
		return nil, err
	}
	n, err := p.fieldValues(field, opAt, opText, op)
	if err != nil {
		return nil, err
	}
	p.named = true
	if field.OfSteps && !p.ofStep {
		n = stepNode{n}
	}
	return n, nil
}

// field finds the field of a term that begins at start.
func (p *parser) field(start int, name string) (*Field, error) {
	field, ok := lookup(name, p.ofStep)
	_, ofRequest := lookup(name, false)
	switch {
	case !ok && ofRequest:
		return field, p.errorf(start, "one of "+strings.Join(fieldNames(true), ", "), "a step has no field %q", name)
	case !ok:
		return field, p.noField(start, name)
	case p.running && field.AfterEnd:
		return field, p.errorf(start, stillRunning, "%q is not known while the request runs", name)
	}
	return field, nil
}

// stillRunning lists what a filter can use at a step of a running request, for the error about anything else.
const stillRunning = "what is known at a step: the request, step(...), and the fields of a step"

func (p *parser) fieldValues(field *Field, opAt int, opText string, op comparison) (node, error) {
	numeric := field.Kind.numeric()
	switch {
	case field.Kind == Request && op != has && op != equal:
		return nil, p.errorf(opAt, ": = or !=", "%s is a %s: it has no %q", field.Name, field.Kind, opText)
	case field.Kind == Request:
		return p.references(field)
	case numeric && op == matches:
		return nil, p.errorf(opAt, ": = != > >= < or <=", "%s is a %s: it has no %q", field.Name, field.Kind, opText)
	case !numeric && op >= greater:
		return nil, p.errorf(opAt, ": = != ~ or !~", "%s is a %s: it has no %q", field.Name, field.Kind, opText)
	case numeric:
		return p.numbers(field, op)
	case op == matches:
		return p.regexp(field)
	}
	n := &textNode{field: field, op: op, part: field.Kind == Text && op == has}
	if field.Kind == Word {
		n.op = has // the same as "=", and shorter to read
	}
	err := p.values(field, func(at int, word string, quoted bool) error {
		one := newPattern(word, quoted, quoteValue)
		n.patterns = append(n.patterns, one)
		return p.exists(field, at, word, one.whole)
	})
	return n, err
}

// values reads the values of a field, which are texts.
func (p *parser) values(field *Field, each func(at int, word string, quoted bool) error) error {
	for {
		at := p.at
		word, quoted, err := p.word(",")
		if err != nil {
			return err
		}
		if word == "" {
			return p.errorf(at, "a value; !"+field.Name+":* asks for none", "the value is empty")
		}
		if err := each(at, word, quoted); err != nil {
			return err
		}
		if p.at >= len(p.s) || p.s[p.at] != ',' {
			return p.endOfTerm()
		}
		p.at++
	}
}

func (p *parser) references(field *Field) (node, error) {
	var n afterNode
	err := p.values(field, func(at int, word string, _ bool) error {
		n.requests = append(n.requests, reference{id: word, column: p.column(at)})
		return nil
	})
	return n, err
}

func (p *parser) regexp(field *Field) (node, error) {
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
	if !field.Extensible {
		if err := p.exists(field, at, source, re.MatchString); err != nil {
			return nil, err
		}
	}
	return &regexpNode{field: field, source: source, re: re}, nil
}

func (p *parser) numbers(field *Field, op comparison) (node, error) {
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

// wordEnd are the characters that end a word, beside spaces and the arrow.
const wordEnd = `&|()"`

// word reads a word or a quoted string; a word also ends at one of the characters of more.
func (p *parser) word(more string) (word string, quoted bool, err error) {
	rest := p.s[p.at:]
	if strings.HasPrefix(rest, `"`) {
		q, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", true, p.errorf(p.at, `a closing " on the same line, and \" or \\ for those two inside`,
				"the quotes are not complete")
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
	if i := strings.Index(rest[:end], arrow); i >= 0 {
		end = i
	}
	if end == 0 {
		return "", false, p.noWord(more != "")
	}
	p.at += end
	return rest[:end], false, nil
}

// noWord is the error where a word should be.
func (p *parser) noWord(ofField bool) error {
	expected := "a text, a field or ("
	if ofField {
		expected = "a value"
	}
	switch rest := p.s[p.at:]; {
	case rest == "":
		return p.errorf(p.at, expected, "nothing follows")
	case p.next(arrow):
		return p.errorf(p.at, expected, "unexpected %q", arrow)
	default:
		r, _ := utf8.DecodeRuneInString(rest)
		return p.errorf(p.at, expected, "unexpected %q", string(r))
	}
}

// endOfTerm checks that a term ends here. A parenthesis or quotes right behind a value are more likely a part of the
// value than a term of their own, so they are an error.
func (p *parser) endOfTerm() error {
	if p.at < len(p.s) && (p.s[p.at] == '(' || p.s[p.at] == '"') {
		return p.errorf(p.at, "a space before it, or quotes around the whole value", "%q right behind a value", p.s[p.at:p.at+1])
	}
	if p.at < len(p.s) && !strings.ContainsRune("&|)", rune(p.s[p.at])) && !p.next(arrow) {
		if r, _ := utf8.DecodeRuneInString(p.s[p.at:]); !unicode.IsSpace(r) {
			return p.errorf(p.at, "a space, & or |", "%q right behind a value", string(r))
		}
	}
	p.space()
	return nil
}

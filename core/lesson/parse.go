package lesson

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/filter"
)

// maxSize limits the size of a file.
const maxSize = 1 << 20

// Parse reads a lesson. name is the file's, for errors, and known has the names that its filters can ask for.
func Parse(name string, data []byte, known filter.Vocabulary) (*Lesson, error) {
	p := &parser{file: name, known: known}
	if len(data) > maxSize {
		return nil, p.errorf(1, "the file has %d bytes; a lesson has at most %d", len(data), maxSize)
	}
	p.lines = strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	l := &Lesson{}
	if err := p.description(&l.Description); err != nil {
		return nil, err
	}
	if err := p.parts(l); err != nil {
		return nil, err
	}
	if err := p.check(l); err != nil {
		return nil, err
	}
	return l, nil
}

// sectionMark begins the heading of a section.
const sectionMark = "## "

type parser struct {
	file  string
	known filter.Vocabulary
	lines []string
	next  int // the index of the line that was not read yet
}

func (p *parser) errorf(line int, format string, values ...any) error {
	return &Error{File: p.file, Line: line, Problem: fmt.Sprintf(format, values...)}
}

// parts reads what follows the description.
func (p *parser) parts(l *Lesson) error {
	var text []string
	began := p.next
	flush := func() {
		if markdown := strings.Trim(strings.Join(text, "\n"), "\n"); strings.TrimSpace(markdown) != "" {
			for began < len(p.lines) && strings.TrimSpace(p.lines[began]) == "" {
				began++
			}
			l.Parts = append(l.Parts, Text{Line(began + 1), markdown})
		}
		text = nil
	}
	for p.next < len(p.lines) {
		line := p.lines[p.next]
		fence := fenceOf(line)
		if strings.HasPrefix(line, sectionMark) {
			flush()
			began = p.next
		}
		if fence == "" {
			text = append(text, line)
			p.next++
			continue
		}
		begin := p.next
		body, err := p.body(fence)
		if err != nil {
			return err
		}
		kind, _, _ := strings.Cut(strings.TrimSpace(line[len(fence):]), " ")
		read, isBlock := blocks[kind]
		if !isBlock || fence != "```" {
			text = append(text, p.lines[begin:p.next]...)
			continue
		}
		flush()
		began = p.next
		b := &block{parser: p, kind: kind, line: begin + 1, body: body}
		if err := b.readOptions(strings.TrimSpace(line[len(fence):])[len(kind):]); err != nil {
			return err
		}
		part, err := read(b)
		if err != nil {
			return err
		}
		if err := b.unread(); err != nil {
			return err
		}
		l.Parts = append(l.Parts, part)
	}
	flush()
	return nil
}

// fenceOf returns the opening characters of a fence; empty if the line is none.
func fenceOf(line string) string {
	n := 0
	for n < len(line) && line[n] == '`' {
		n++
	}
	if n < 3 || strings.Contains(line[n:], "`") {
		return ""
	}
	return line[:n]
}

// body reads up to the end of the fence.
func (p *parser) body(fence string) ([]string, error) {
	begin := p.next
	for p.next++; p.next < len(p.lines); p.next++ {
		if strings.TrimRight(p.lines[p.next], " ") == fence {
			p.next++
			return p.lines[begin+1 : p.next-1], nil
		}
	}
	return nil, p.errorf(begin+1, "the block has no end: expected a line of %s", fence)
}

// block is one fenced block while it is read.
type block struct {
	*parser
	kind    string
	line    int
	body    []string
	options map[string]string
	taken   []string // the options that its kind knows
}

func (b *block) errorf(format string, values ...any) error {
	return b.parser.errorf(b.line, b.kind+": "+format, values...)
}

// lineErrorf is about a line of the body.
func (b *block) lineErrorf(i int, format string, values ...any) error {
	return b.parser.errorf(b.line+1+i, b.kind+": "+format, values...)
}

func (b *block) readOptions(text string) error {
	b.options = map[string]string{}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		if _, twice := b.options[name]; twice {
			return b.errorf("%s is said twice", name)
		}
		b.options[name] = value
	}
	return nil
}

// unread is why an option is left.
func (b *block) unread() error {
	for name := range b.options {
		if !slices.Contains(b.taken, name) {
			return b.errorf("there is no option %s; expected %s", name, strings.Join(b.taken, ", "))
		}
	}
	return nil
}

var name = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// id reads an option that must name something.
func (b *block) id(option string) (string, error) {
	b.taken = append(b.taken, option)
	value, ok := b.options[option]
	if !ok || !name.MatchString(value) {
		return "", b.errorf("expected %s=NAME of small letters, digits and dashes", option)
	}
	return value, nil
}

func (b *block) flag(option string) (bool, error) {
	b.taken = append(b.taken, option)
	value, ok := b.options[option]
	if value != "" {
		return false, b.errorf("%s takes no value", option)
	}
	return ok, nil
}

// The limit stops loops: on a slow machine, each command may take ten seconds. A user who watches stops it with a
// key.
const (
	defaultLimit  = 5 * time.Minute
	defaultWithin = 10 * time.Second
	longest       = 10 * time.Minute
)

func (b *block) duration(option string, otherwise time.Duration) (time.Duration, error) {
	b.taken = append(b.taken, option)
	value, ok := b.options[option]
	if !ok {
		return otherwise, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 || d > longest {
		return 0, b.errorf("expected %s=DURATION, such as 60s, and at most %s", option, longest)
	}
	return d, nil
}

// needs reads what the machine must have, separated by commas.
func (b *block) needs() ([]string, error) {
	b.taken = append(b.taken, "needs")
	value, ok := b.options["needs"]
	if !ok {
		return nil, nil
	}
	all := strings.Split(value, ",")
	for _, one := range all {
		if !slices.Contains(needs, one) {
			return nil, b.errorf("needs %s: expected %s", one, strings.Join(needs, ", "))
		}
	}
	return all, nil
}

func (b *block) number(option string) (int, error) {
	b.taken = append(b.taken, option)
	n, err := strconv.Atoi(b.options[option])
	if err != nil || n < 1 {
		return 0, b.errorf("expected %s=NUMBER, from 1", option)
	}
	return n, nil
}

func (b *block) text() string { return strings.Trim(strings.Join(b.body, "\n"), "\n") }

// requiredText is the text of a block that must have one.
func (b *block) requiredText() (string, error) {
	text := b.text()
	if strings.TrimSpace(text) == "" {
		return "", b.errorf("the block is empty")
	}
	return text, nil
}

// eachLine calls f with every line of the body that is not empty.
func (b *block) eachLine(f func(i int, line string) error) error {
	for i, line := range b.body {
		if line = strings.TrimSpace(line); line != "" {
			if err := f(i, line); err != nil {
				return err
			}
		}
	}
	return nil
}

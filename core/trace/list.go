package trace

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Clients decide how many fields, groups or terms a step could list. A text therefore names the first MaxListed of
// them, cuts each after maxEntry bytes, and counts the others. So it needs less than maxText, with room for the words
// around the list.
const (
	MaxListed = 10
	maxEntry  = 256
	// MaxAttrs limits the attributes of one name in a step.
	MaxAttrs = 64
)

// List collects the entries of a step's text, within these bounds. A nil List drops them: it belongs to a step that
// is not recorded.
type List struct {
	entries []string
	count   int
}

// NewList returns a List for a text of the step, nil if the step is not recorded.
func (s *Step) NewList() *List {
	if s == nil {
		return nil
	}
	return &List{}
}

// Full reports that further entries are only counted, so callers need not make their text.
func (l *List) Full() bool { return l == nil || len(l.entries) == MaxListed }

// Add names an entry, or counts it if the List is full.
func (l *List) Add(entry string) {
	if !l.Full() {
		l.entries = append(l.entries, cutEntry(entry))
	}
	l.Skip(1)
}

// AddBy is Add for an entry with an expensive text. If the List is full, the text is not made.
func (l *List) AddBy(entry func() string) {
	if l.Full() {
		l.Skip(1)
		return
	}
	l.Add(entry())
}

// Skip counts n entries without naming them.
func (l *List) Skip(n int) {
	if l != nil {
		l.count += n
	}
}

// Count returns the number of entries, named or not.
func (l *List) Count() int {
	if l == nil {
		return 0
	}
	return l.count
}

// String names the entries: "a, b and 3 more".
func (l *List) String() string { return l.Join(", ") }

// Join is String with another separator.
func (l *List) Join(separator string) string {
	if l == nil {
		return ""
	}
	text := strings.Join(l.entries, separator)
	if more := l.count - len(l.entries); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// ListOf is the List of all entries.
func ListOf(entries []string) *List {
	l := &List{}
	for _, entry := range entries[:min(len(entries), MaxListed)] {
		l.Add(entry)
	}
	l.count = len(entries)
	return l
}

// TextList records the first entries as one text, as a List does.
func (s *Step) TextList(name string, entries []string) {
	if s != nil {
		s.Text(name, ListOf(entries).Join(","))
	}
}

// WhyList is WhyText for a text that lists entries.
func (s *Step) WhyList(r Reason, entries []string, numbers ...int64) {
	if s != nil {
		s.WhyText(r, ListOf(entries).String(), numbers...)
	}
}

// cutEntry copies the kept part, so that the rest can be freed.
func cutEntry(text string) string {
	if len(text) <= maxEntry {
		return text
	}
	cut := maxEntry
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

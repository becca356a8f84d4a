package detail

import (
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/screen"
)

// kind is the meaning of a text, which decides its colour.
type kind uint8

const (
	plain kind = iota
	label
	good
	bad
	notice
)

// Link is the destination of a line.
type Link struct {
	// Step is the index of a step of the same request; -1 for none.
	Step int
	// Target is a place on a screen; nil for none.
	Target screen.Target
}

// text is a line before it is painted.
type text struct {
	kind kind
	// name is the label before text, with a colour of its own.
	name string
	text string
	// note is at the right edge.
	note string
	link *Link
	// field is the line's field, in Diff.
	field string
}

// builder makes the lines of a tab, wrapped to a width.
type builder struct {
	w     int
	words lang.Language
	lines []text
}

func (b *builder) add(k kind, s string) {
	for _, line := range draw.Wrap(b.words.Text(s), b.w) {
		b.lines = append(b.lines, text{kind: k, text: line})
	}
}

func (b *builder) blank() { b.lines = append(b.lines, text{}) }

// lead links the lines from the first on: the first of them can have the cursor.
func (b *builder) lead(first int, to Link) {
	if first < len(b.lines) {
		b.lines[first].link = &to
	}
}

// nameWidth is the width of the names of facts.
const nameWidth = 11

// fact adds a name and its value, if there is a value.
func (b *builder) fact(name string, k kind, value string) {
	if value != "" {
		b.pair(b.words.Text(name), nameWidth, k, value)
	}
}

// factTo is fact with a link.
func (b *builder) factTo(name string, k kind, value string, to Link) {
	first := len(b.lines)
	b.fact(name, k, value)
	b.lead(first, to)
}

// pair adds a name in w cells, with a value beside it.
func (b *builder) pair(name string, w int, k kind, value string) {
	name = draw.Fit(name, w-1) + " "
	for _, line := range draw.Wrap(value, max(b.w-w, 1)) {
		b.lines = append(b.lines, text{kind: k, name: name, text: line})
		name = strings.Repeat(" ", w)
	}
}

// attributesWidth limits the width of attributes' names.
const attributesWidth = 24

func (b *builder) attributes(all []v1alpha1.Attribute) {
	w := nameWidth
	for _, a := range all {
		w = min(max(w, draw.Width(a.Name)+1), attributesWidth)
	}
	for _, a := range all {
		b.pair(a.Name, w, plain, a.Value)
	}
}

// toStep links to a step of the same request.
func toStep(i int) Link { return Link{Step: i} }

// linkTo links to another screen.
func linkTo(t screen.Target) Link { return Link{Step: -1, Target: t} }

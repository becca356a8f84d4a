package compare

import (
	"bytes"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/theme"
)

// kind is the meaning of a line.
type kind uint8

const (
	plain kind = iota
	label
	first  // A's value
	second // B's value
	differ
)

func (k kind) style(look theme.Theme) theme.Style {
	return map[kind]theme.Style{label: look.Dim, first: look.Bad, second: look.Good, differ: look.Notice}[k]
}

// line is a line of the details.
type line struct {
	kind kind
	text string
}

// lines returns the details of the pair under the cursor. They are cached by pair and width.
func (s *Screen) lines() []line {
	if s.a == nil {
		return nil
	}
	key := detailsKey{s.a, s.b, s.current(), s.Area(1).W}
	if s.details == nil || key != s.of {
		s.details, s.of = s.make(max(key.w-4, 1)), key
	}
	return s.details
}

func (s *Screen) make(w int) []line {
	p := s.current()
	d := &details{w: w, words: s.host.Theme().Words}
	switch {
	case p.A < 0 && p.B < 0:
		d.add(label, "the two have no step that is shown here")
		return d.lines
	case p.B < 0:
		d.add(differ, "A alone took this step")
		d.showOne(first, &s.a.Status.Steps[p.A])
		return d.lines
	case p.A < 0:
		d.add(differ, "B alone took this step")
		d.showOne(second, &s.b.Status.Steps[p.B])
		return d.lines
	}
	a, b := &s.a.Status.Steps[p.A], &s.b.Status.Steps[p.B]
	d.showBoth(d.words.Phrase("step"), a.ID+"  "+a.Title, b.ID+"  "+b.Title)
	d.showBoth(d.words.Phrase("about"), a.Subject, b.Subject)
	whys := diff.Reasons(s.a, s.b, p, d.words)
	d.showBoth(d.words.Phrase("why"), whys[0], whys[1])
	d.showBoth(d.words.Phrase("error"), a.Error, b.Error)
	d.showBoth(d.words.Phrase("took"), took(s.a, p.A), took(s.b, p.B))
	d.attributes(a, b)
	d.showBoth(d.words.Phrase("function"), a.Function, b.Function)
	d.objects(d.words.Phrase("what went in"), a.Before, b.Before)
	d.objects(d.words.Phrase("what came out"), a.After, b.After)
	return d.lines
}

// details makes lines of a width.
type details struct {
	w     int
	words lang.Language
	lines []line
}

func (d *details) add(k kind, text string) {
	for _, l := range draw.Wrap(d.words.Text(text), d.w) {
		d.lines = append(d.lines, line{k, l})
	}
}

// nameWidth is the width of the names of facts.
const nameWidth = 16

func (d *details) fact(k kind, mark, name, value string) {
	for i, l := range draw.Wrap(value, max(d.w-nameWidth-2, 1)) {
		if i > 0 {
			name = ""
		}
		d.lines = append(d.lines, line{k, mark + " " + draw.Fit(name, nameWidth) + l})
	}
}

// showBoth shows a value of each request; once, if the values are the same.
func (d *details) showBoth(name, a, b string) {
	switch {
	case a == "" && b == "":
	case a == b:
		d.fact(plain, " ", name, a)
	default:
		d.fact(first, "<", name, orNothing(a))
		d.fact(second, ">", name, orNothing(b))
	}
}

func orNothing(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// showOne shows a step that only one request took.
func (d *details) showOne(k kind, s *v1alpha1.Step) {
	mark := map[kind]string{first: "<", second: ">"}[k]
	for _, f := range []struct{ name, text string }{
		{"step", s.ID + "  " + s.Title}, {"about", s.Subject}, {"why", s.Why}, {"error", s.Error},
		{"function", s.Function}, {d.words.Phrase("upstream"), s.Upstream},
	} {
		if f.text != "" {
			d.fact(k, mark, d.words.Text(f.name), f.text)
		}
	}
	for _, a := range s.Attributes {
		d.fact(k, mark, a.Name, a.Value)
	}
}

// attributes shows the steps' inputs and outputs, by name.
func (d *details) attributes(a, b *v1alpha1.Step) {
	other := map[string]string{}
	for _, x := range b.Attributes {
		other[x.Name] = x.Value
	}
	said := map[string]bool{}
	for _, x := range a.Attributes {
		said[x.Name] = true
		d.showBoth(x.Name, x.Value, other[x.Name])
	}
	for _, x := range b.Attributes {
		if !said[x.Name] {
			d.showBoth(x.Name, "", x.Value)
		}
	}
}

// objects compares the objects of the two steps.
func (d *details) objects(what string, a, b *runtime.RawExtension) {
	x, y := raw(a), raw(b)
	if x == nil && y == nil {
		return
	}
	d.lines = append(d.lines, line{})
	if bytes.Equal(x, y) {
		d.add(label, d.words.Phrase("%s is the same", what))
		return
	}
	d.add(label, d.words.Phrase("%s: - in A, + in B", what))
	lines, _, err := diff.Compare(orEmpty(x), orEmpty(y), diff.Options{Fold: blame.Whole})
	if err != nil {
		d.add(differ, draw.Clean(err.Error()))
		return
	}
	for _, l := range lines {
		k := map[byte]kind{'-': first, '+': second}[l.Mark]
		d.lines = append(d.lines, line{k, string(l.Mark) + " " + strings.Repeat("  ", l.Depth) + l.Text})
	}
}

func raw(o *runtime.RawExtension) []byte {
	if o == nil {
		return nil
	}
	return o.Raw
}

func orEmpty(raw []byte) []byte {
	if raw == nil {
		return []byte("{}")
	}
	return raw
}

// text returns the comparison as text, for the clipboard.
func (s *Screen) text() string {
	var b strings.Builder
	for _, p := range s.rows {
		mark := " "
		switch {
		case p.B < 0:
			mark = "<"
		case p.A < 0:
			mark = ">"
		case p.Differs:
			mark = "~"
		}
		b.WriteString(mark + " " + strings.Repeat(" ", min(2*p.Depth, indentMost)) + s.title(p) +
			"  " + took(s.a, p.A) + "  " + took(s.b, p.B) + "\n")
	}
	return b.String()
}

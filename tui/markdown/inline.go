package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/theme"
)

// kind is the style of a piece of a paragraph.
type kind int

const (
	plain kind = iota
	code
	strong
	emphasis
)

// span is a piece of a paragraph in one style.
type span struct {
	kind kind
	text string
}

// row is a line of spans.
type row []span

func (r row) text() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.text)
	}
	return b.String()
}

// inline lays out a paragraph, and paints it.
func inline(text string, w int, look theme.Theme) []string {
	styles := map[kind]theme.Style{code: look.Layer, strong: look.Title, emphasis: look.Notice}
	var out []string
	for _, r := range wrap(spans(text), w) {
		line := ""
		for _, s := range r {
			if style := styles[s.kind]; style != nil {
				line += style(s.text)
			} else {
				line += s.text
			}
		}
		out = append(out, line)
	}
	return out
}

// marks lists the delimiters of styles, the longer ones first. Those of code stay in the text.
var marks = []struct {
	mark string
	kind kind
}{{"``", code}, {"`", code}, {"**", strong}, {"__", strong}, {"*", emphasis}}

// spans splits a paragraph by style, and cleans its text.
func spans(text string) row {
	text = strings.ReplaceAll(draw.Clean(text), unbroken, "\uFFFD")
	var out row
	add := func(k kind, s string) {
		if n := len(out); n > 0 && out[n-1].kind == k {
			out[n-1].text += s
		} else if s != "" {
			out = append(out, span{k, s})
		}
	}
	for text != "" {
		if k, inner, n := marked(text); n > 0 {
			add(k, inner)
			text = text[n:]
			continue
		}
		if label, target, n := link(text); n > 0 {
			for _, s := range spans(label) {
				add(s.kind, s.text)
			}
			if strings.Contains(target, "://") && target != label {
				add(plain, " ("+target+")")
			}
			text = text[n:]
			continue
		}
		if text[0] == '\\' && len(text) > 1 && strings.IndexByte("\\`*_[]<>#|", text[1]) >= 0 {
			text = text[1:]
		}
		_, n := utf8.DecodeRuneInString(text)
		if next := strings.IndexAny(text[n:], special); next >= 0 {
			n += next
		} else {
			n = len(text)
		}
		add(plain, text[:n])
		text = text[n:]
	}
	return out
}

// special lists the characters that may begin markup.
const special = "`*_[<\\"

// reach limits the search for a closing delimiter.
const reach = 2000

// marked returns the marked piece at the beginning of a text, and its length with the marks; 0 if there is none.
func marked(text string) (k kind, inner string, n int) {
	for _, m := range marks {
		rest, ok := strings.CutPrefix(text, m.mark)
		if !ok {
			continue
		}
		end := strings.Index(rest[:min(len(rest), reach)], m.mark)
		if end <= 0 || m.kind != code && (rest[0] == ' ' || rest[end-1] == ' ') {
			continue
		}
		inner := rest[:end]
		if m.kind == code {
			inner = m.mark + inner + m.mark
		}
		return m.kind, inner, end + 2*len(m.mark)
	}
	return plain, "", 0
}

// link returns the link at the beginning of a text.
func link(text string) (label, target string, n int) {
	text = text[:min(len(text), reach)]
	if text[0] == '<' {
		if end := strings.IndexByte(text, '>'); end > 0 && strings.Contains(text[:end], "://") {
			return text[1:end], text[1:end], end + 1
		}
		return "", "", 0
	}
	middle := strings.Index(text, "](")
	if text[0] != '[' || middle < 1 || strings.ContainsAny(text[1:middle], "[]") {
		return "", "", 0
	}
	end := strings.IndexByte(text[middle:], ')')
	if end < 0 {
		return "", "", 0
	}
	return text[1:middle], text[middle+2 : middle+end], middle + end + 1
}

// unbroken stands for a hyphen in code while a text is wrapped: a line may end after other hyphens. It is a private
// character of one cell, which spans leaves in no text.
const unbroken = "\uE000"

// wrap breaks spans into lines of at most w cells.
func wrap(all row, w int) []row {
	rest := all
	var text strings.Builder
	for _, s := range all {
		if s.kind == code {
			text.WriteString(strings.ReplaceAll(s.text, "-", unbroken))
		} else {
			text.WriteString(s.text)
		}
	}
	var out []row
	for _, line := range draw.Wrap(text.String(), w) {
		var r row
		r, rest = take(rest, strings.ReplaceAll(line, unbroken, "-"))
		out = append(out, r)
	}
	return out
}

// take takes the characters of a line from spans. It skips spaces that the line dropped at its end.
func take(from row, line string) (taken, rest row) {
	rest = append(row(nil), from...)
	for _, c := range line {
		for len(rest) > 0 {
			r, n := utf8.DecodeRuneInString(rest[0].text)
			kind := rest[0].kind
			if rest[0].text = rest[0].text[n:]; rest[0].text == "" {
				rest = rest[1:]
			}
			if r != c {
				continue
			}
			if n := len(taken); n > 0 && taken[n-1].kind == kind {
				taken[n-1].text += string(c)
			} else {
				taken = append(taken, span{kind, string(c)})
			}
			break
		}
	}
	return taken, rest
}

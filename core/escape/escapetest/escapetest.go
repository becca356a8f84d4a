// Package escapetest has hostile texts for tests, and finds hostile characters in what kx shows.
package escapetest

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a hostile text, and the part of it that must be visible.
type Text struct{ Name, Raw, Seen string }

//go:embed corpus.txt
var corpus string

// Texts are visible texts around characters that act on a terminal, reorder a line, hide, or pile up.
var Texts = func() (texts []Text) {
	for line := range strings.Lines(corpus) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		raw, err := strconv.Unquote(fields[1])
		if err != nil {
			panic("corpus.txt: " + fields[0] + ": " + err.Error())
		}
		texts = append(texts, Text{Name: fields[0], Raw: raw, Seen: fields[2]})
	}
	return texts
}()

// Any joins the raw texts that are UTF-8, for what can hold any.
func Any() string { return join(utf8.ValidString) }

// All joins the raw texts that are UTF-8 without line feeds and NUL, which not every field can hold.
func All() string {
	return join(func(raw string) bool { return utf8.ValidString(raw) && !strings.ContainsAny(raw, "\n\x00") })
}

// InHeader joins what of the texts a header can hold.
func InHeader() string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, All())
}

func join(fits func(string) bool) string {
	var all []string
	for _, t := range Texts {
		if fits(t.Raw) {
			all = append(all, t.Raw)
		}
	}
	return strings.Join(all, " ")
}

// marksMost limits the combining marks of a character, before they pile up over other lines.
const marksMost = 8

// Find returns the first hostile character of a text with its surroundings, or "". allowed characters, such as the line
// feeds of a document, do not count. Escape codes count: what is looked at has to be without colours.
func Find(text, allowed string) string {
	marks := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if marks++; !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		}
		if (hostile(r) || marks > marksMost || r == utf8.RuneError && size == 1) && !strings.ContainsRune(allowed, r) {
			return fmt.Sprintf("%U in %q", r, text[max(i-60, 0):min(i+60, len(text))])
		}
		i += size
	}
	return ""
}

// hostile is a table of its own, so that a mistake in escape.Hostile is found.
func hostile(r rune) bool {
	for _, span := range [][2]rune{
		{0, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, {0x61c, 0x61c}, {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2064},
		{0x2066, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0001, 0xe0001}, {0xe0020, 0xe007f},
	} {
		if span[0] <= r && r <= span[1] {
			return true
		}
	}
	return false
}

// Package escapetest has hostile texts for tests, and finds hostile characters in what kx shows.
package escapetest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text is a hostile text, and the part of it that must be visible.
type Text struct{ Name, Raw, Seen string }

// Texts are visible texts around characters that act on a terminal or reorder a line.
var Texts = []Text{
	{"ESC clears the screen", "a\x1b[2Jb", "[2J"},
	{"ESC sets the title", "a\x1b]0;title\x07b", "]0;title"},
	{"CSI of C1", "a\u009b31mb", "31m"},
	{"OSC and ST of C1", "a\u009d0;title\u009cb", "0;title"},
	{"NEL", "a\u0085b", "a"},
	{"carriage return", "visible\rhidden", "visible"},
	{"line feed", "one\ntwo", "two"},
	{"NUL, BEL, backspace and DEL", "a\x00\x07\x08\x7fb", "b"},
	{"embedding and override", "a\u202a\u202b\u202d\u202e\u202cb", "b"},
	{"isolates", "a\u2066\u2067\u2068\u2069b", "b"},
	{"marks of direction", "a\u200e\u200f\u061cb", "b"},
	{"zero width", "a\u200b\u200c\u200d\u2060\ufeffb", "b"},
	{"separators of lines", "a\u2028\u2029b", "b"},
	{"tags", "a\U000e0001\U000e0041b", "b"},
	{"no UTF-8", "a\x9b\xff\xc2b", "b"},
}

// All joins the raw texts. lines includes those with line feeds and invalid UTF-8, which not every field can hold.
func All() string {
	var all strings.Builder
	for _, t := range Texts {
		if utf8.ValidString(t.Raw) && !strings.ContainsAny(t.Raw, "\n\x00") {
			all.WriteString(t.Raw + " ")
		}
	}
	return strings.TrimSpace(all.String())
}

// Find returns the first hostile character of a text with its surroundings, or "". allowed characters, such as the line feeds of
// a document, do not count.
func Find(text, allowed string) string {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if (hostile(r) || r == utf8.RuneError && size == 1) && !strings.ContainsRune(allowed, r) {
			return fmt.Sprintf("%U in %q", r, text[max(i-60, 0):min(i+60, len(text))])
		}
		i += size
	}
	return ""
}

// hostile is a table of its own, so that a mistake in escape.Hostile is found.
func hostile(r rune) bool {
	for _, span := range [][2]rune{
		{0, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2064}, {0x2066, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe007f},
	} {
		if span[0] <= r && r <= span[1] {
			return true
		}
	}
	return false
}

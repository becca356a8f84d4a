// Package escape makes foreign text safe to show: nothing of it acts on a terminal or reorders a line.
//
// What comes in is text of a client, a webhook or a stored object: a path, a User-Agent, a message. In what goes out,
// an escape such as \x1b, \u009b or \u202e replaces each character that would act instead of being seen: control
// characters of C0 and C1, marks that reorder or join, line separators, combining marks that pile up, and invalid
// UTF-8.
//
// The server escapes foreign text in what it writes itself: journeys, the Status of an error, warnings, conditions, its
// log and its audit log. Stored objects are answered as they are, also in tables. Printers escape them: kubectl does,
// and so do kx's own. On the screen tui/draw replaces the same characters, because each must take one cell.
package escape

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hostile says whether a character acts on a terminal or reorders a line instead of being visible.
func Hostile(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// Marks counts the combining marks of a character.
type Marks int

// marksMost limits the combining marks of a character. Scripts need four or five; many more are drawn over other
// lines.
const marksMost = 8

// Pile takes the next character of a text, and says whether it is a combining mark too many.
func (m *Marks) Pile(r rune) bool {
	if r < 0x300 || !unicode.In(r, unicode.Mn, unicode.Me) {
		*m = 0
		return false
	}
	*m++
	return *m > marksMost
}

// Line escapes a text so that it stays on one line.
func Line(s string) string { return escaped(s, "") }

// Text escapes a text, but keeps its line feeds and tabs.
func Text(s string) string { return escaped(s, "\n\t") }

func escaped(s, but string) string {
	if harmless(s) {
		return s
	}
	var out strings.Builder
	var marks Marks
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		pile := marks.Pile(r)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, s[i])
		case !pile && !Hostile(r) || strings.ContainsRune(but, r):
			out.WriteString(s[i : i+size])
		default:
			writeEscape(&out, r)
		}
		i += size
	}
	return out.String()
}

// harmless says whether a text is visible ASCII only, as nearly all texts are.
func harmless(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func writeEscape(out *strings.Builder, r rune) {
	switch {
	case r == '\n':
		out.WriteString(`\n`)
	case r == '\t':
		out.WriteString(`\t`)
	case r == '\r':
		out.WriteString(`\r`)
	case r <= 0x7f:
		fmt.Fprintf(out, `\x%02x`, r)
	case r <= 0xffff:
		fmt.Fprintf(out, `\u%04x`, r)
	default:
		fmt.Fprintf(out, `\U%08x`, r)
	}
}

// JSON escapes the hostile characters of a JSON document, so that it still means the same. It need not look at C0: JSON
// forbids these within strings. U+FFFD replaces invalid UTF-8, as it does when a decoder reads the document.
func JSON(data []byte) []byte {
	return document(data, func(out []byte, r rune) []byte {
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	})
}

// YAML converts a JSON document with toYAML. If the result would have hostile characters, the document stays JSON,
// which is YAML in flow style, with escapes.
func YAML(data []byte, toYAML func([]byte) ([]byte, error)) []byte {
	data = document(data, func(out []byte, r rune) []byte { return fmt.Appendf(out, `\U%08x`, r) })
	if block, err := toYAML(data); err == nil && Text(string(block)) == string(block) {
		return block
	}
	return append(bytes.TrimSpace(data), '\n')
}

// document escapes foreign characters and surplus marks in a JSON document. beyond writes the escape of a character
// beyond the basic plane.
func document(data []byte, beyond func(out []byte, r rune) []byte) []byte {
	var marks Marks
	if utf8.Valid(data) && bytes.IndexFunc(data, func(r rune) bool { return marks.Pile(r) || foreign(r) }) < 0 {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	marks = 0
	for _, r := range string(data) { // invalid UTF-8 comes as U+FFFD
		pile := marks.Pile(r)
		switch {
		case !pile && !foreign(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			out = beyond(out, r)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// foreign says whether a character is hostile although JSON allows it in a string, or is one of two that YAML forbids.
func foreign(r rune) bool { return r >= 0x7f && (Hostile(r) || r == 0xfffe || r == 0xffff) }

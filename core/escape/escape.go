// Package escape shows text that anybody may have written, so that nothing of it acts on a terminal or reorders a line.
//
// What comes in is text of a client, a webhook or a stored object: a path, a User-Agent, a message. What goes out has an
// escape such as \x1b, \u009b or \u202e wherever a character would act instead of being seen: control characters of C0 and
// C1, marks that reorder or join, separators of lines, and bytes that are no UTF-8.
//
// The server escapes what it writes itself of such text: journeys, the Status of an error, warnings, conditions, its log and
// its audit log. Stored objects stay as they are, in answers and in tables: who prints them escapes them, as kubectl and kx's
// own printers do. tui/draw has the same characters replaced, since a screen counts cells.
package escape

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hostile says whether a character does something to a terminal or to a line instead of being seen in it.
func Hostile(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// Line is a text on one line.
func Line(s string) string { return escaped(s, "") }

// Text is a text that keeps its lines and tabs.
func Text(s string) string { return escaped(s, "\n\t") }

func escaped(s, but string) string {
	if harmless(s) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, s[i])
		case !Hostile(r) || strings.ContainsRune(but, r):
			out.WriteString(s[i : i+size])
		default:
			writeEscape(&out, r)
		}
		i += size
	}
	return out.String()
}

// harmless says whether a text has nothing but ASCII's visible characters, as nearly all have.
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

// JSON is a JSON document that means the same, with the characters beyond ASCII that are hostile as escapes. JSON lets no
// others stand in its strings, and none of them outside.
func JSON(data []byte) []byte {
	return document(data, func(out []byte, r rune) []byte {
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	})
}

// YAML is a JSON document in YAML, which toYAML makes. Where hostile characters would be seen in that, the document stays in
// flow style, as JSON is, with escapes for them.
func YAML(data []byte, toYAML func([]byte) ([]byte, error)) []byte {
	data = document(data, func(out []byte, r rune) []byte { return fmt.Appendf(out, `\U%08x`, r) })
	if block, err := toYAML(data); err == nil && Text(string(block)) == string(block) {
		return block
	}
	return append(bytes.TrimSpace(data), '\n')
}

// document is a JSON document with escapes for what is foreign. beyond writes that of a character beyond the basic plane.
func document(data []byte, beyond func(out []byte, r rune) []byte) []byte {
	if bytes.IndexFunc(data, foreign) < 0 {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for _, r := range string(data) {
		switch {
		case !foreign(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			out = beyond(out, r)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// foreign are the characters that JSON may have as they are: hostile ones, and two that YAML can't have.
func foreign(r rune) bool { return r >= 0x7f && (Hostile(r) || r == 0xfffe || r == 0xffff) }

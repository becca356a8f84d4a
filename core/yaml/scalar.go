package yaml

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// number writes a number in the shortest form in which it is the same: as an integer if 64 bits suffice.
func (w *writer) number(raw []byte) error {
	s := string(raw)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		w.out = strconv.AppendInt(w.out, n, 10)
		return nil
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		w.out = strconv.AppendUint(w.out, n, 10)
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || len(bytes.Trim(raw, "0123456789+-.eE")) > 0 {
		return errRare
	}
	w.out = strconv.AppendFloat(w.out, f, 'g', -1, 64)
	return nil
}

// maxKey limits the length of a key: a longer one would stand in a line of its own.
const maxKey = 100

// string writes a string in the first of these styles that can hold it: lines if it has several, as it is, in single
// quotes, in double quotes. What would be read as something else than a string is in double quotes.
func (w *writer) string(s []byte, indent int, key bool) error {
	looks := look(s)
	switch {
	case key && (len(s) > maxKey || looks.lines):
		return errRare
	case looks.lines && !looks.special && !looks.spaceAtEnd:
		w.block(s, indent)
	case looks.lines || looks.special || means(s):
		w.doubleQuoted(s, indent, key)
	case looks.indicators || s[0] == ' ' || looks.spaceAtEnd:
		w.singleQuoted(s, indent, key)
	default:
		w.plain(s, indent, key)
	}
	return nil
}

// appearance holds the properties of a text that decide its style.
type appearance struct {
	lines bool
	// special characters can only be written with escapes.
	special bool
	// spaceAtEnd is one of a line or of the text.
	spaceAtEnd bool
	// indicators would be read as something else than text, where it is not quoted.
	indicators bool
}

func look(s []byte) (a appearance) {
	if len(s) == 0 {
		return a
	}
	switch s[0] {
	case '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		a.indicators = true
	case '?', '-':
		a.indicators = len(s) == 1 || s[1] == ' '
	}
	if bytes.HasPrefix(s, []byte("---")) || bytes.HasPrefix(s, []byte("...")) {
		a.indicators = true
	}
	a.spaceAtEnd = s[len(s)-1] == ' '
	for i, c := range s {
		if ordinary[c] {
			continue
		}
		switch {
		case c == '\n':
			a.lines = true
			a.spaceAtEnd = a.spaceAtEnd || i > 0 && s[i-1] == ' '
		case c == ':':
			a.indicators = a.indicators || i+1 == len(s) || s[i+1] == ' '
		case c == '#':
			a.indicators = a.indicators || i > 0 && s[i-1] == ' '
		case c < utf8.RuneSelf, c >= 0xF0, c == 0xC2 && s[i+1] < 0xA0:
			a.special = true
		}
	}
	return a
}

// ordinary are bytes that decide nothing.
var ordinary = func() (is [256]bool) {
	for c := ' '; c < 0x7F; c++ {
		is[c] = c != ':' && c != '#'
	}
	return is
}()

// block writes a text in lines.
func (w *writer) block(s []byte, indent int) {
	w.out = append(w.out, '|')
	if s[0] == ' ' || s[0] == '\n' {
		w.out = append(w.out, '2') // or else the indentation would be guessed of the first line
	}
	switch n := len(s); {
	case s[n-1] != '\n':
		w.out = append(w.out, '-')
	case n == 1 || s[n-2] == '\n':
		w.out = append(w.out, '+')
	}
	w.out = append(w.out, '\n')
	for line := range bytes.Lines(s) {
		if line[0] != '\n' {
			w.indent(indent)
		}
		w.out = append(w.out, line...)
	}
}

package yaml

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// width is the column behind which a line goes on below at the next space.
const width = 80

// fold is a text in one line that becomes several where it is long.
type fold struct {
	*writer
	column, indent int
	// oneLine says that it stays one: it is a key.
	oneLine bool
	// spaces says that a space came last.
	spaces bool
}

func (w *writer) fold(indent int, oneLine bool) *fold {
	line := w.out[bytes.LastIndexByte(w.out, '\n')+1:]
	return &fold{writer: w, column: utf8.RuneCount(line), indent: indent, oneLine: oneLine}
}

// mayBreak says whether the line is long enough to go on below instead of with a space.
func (f *fold) mayBreak() bool { return !f.oneLine && !f.spaces && f.column > width }

func (f *fold) breakLine() {
	f.out = append(f.out, '\n')
	f.writer.indent(f.indent)
	f.column = f.indent
}

// rune copies the character at the begin of s, and returns how long it is.
func (f *fold) rune(s []byte) int {
	size := 1
	if s[0] >= utf8.RuneSelf {
		_, size = utf8.DecodeRune(s)
	}
	f.out = append(f.out, s[:size]...)
	f.column++
	return size
}

func (w *writer) plain(s []byte, indent int, key bool) {
	f := w.fold(indent, key)
	if f.column+len(s) <= width {
		w.out = append(w.out, s...)
		return
	}
	for i := 0; i < len(s); {
		space := s[i] == ' '
		if space && f.mayBreak() && s[i+1] != ' ' {
			f.breakLine()
			i++
		} else {
			i += f.rune(s[i:])
		}
		f.spaces = space
	}
}

func (w *writer) singleQuoted(s []byte, indent int, key bool) {
	w.out = append(w.out, '\'')
	f := w.fold(indent, key)
	for i := 0; i < len(s); {
		space := s[i] == ' '
		if space && f.mayBreak() && 0 < i && i < len(s)-1 && s[i+1] != ' ' {
			f.breakLine()
			i++
		} else {
			if s[i] == '\'' {
				f.rune(s[i:])
			}
			i += f.rune(s[i:])
		}
		f.spaces = space
	}
	w.out = append(w.out, '\'')
}

func (w *writer) doubleQuoted(s []byte, indent int, key bool) {
	w.out = append(w.out, '"')
	f := w.fold(indent, key)
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' && f.mayBreak() && 0 < i && i < len(s)-1:
			f.breakLine()
			if i++; s[i] == ' ' {
				f.out = append(f.out, '\\') // or else it would be read as indentation
				f.column++
			}
		case c < ' ', c == 0x7F, c >= 0xF0, c == 0xC2 && s[i+1] < 0xA0, c == '"', c == '\\':
			r, size := utf8.DecodeRune(s[i:])
			f.escape(r)
			i += size
		default:
			i += f.rune(s[i:])
		}
		f.spaces = c == ' '
	}
	w.out = append(w.out, '"')
}

// letters maps a character to the letter after the backslash. Other characters have their number there.
var letters = [128]byte{
	0: '0', '\a': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r', 0x1B: 'e', '"': '"', '\\': '\\',
}

func (f *fold) escape(r rune) {
	before := len(f.out)
	f.out = append(f.out, '\\')
	switch {
	case r < 128 && letters[r] != 0:
		f.out = append(f.out, letters[r])
	case r <= 0xFF:
		f.hex('x', 2, r)
	case r <= 0xFFFF:
		f.hex('u', 4, r)
	default:
		f.hex('U', 8, r)
	}
	f.column += len(f.out) - before
}

func (f *fold) hex(letter byte, digits int, r rune) {
	f.out = append(f.out, letter)
	text := strconv.FormatInt(int64(r), 16)
	for range digits - len(text) {
		f.out = append(f.out, '0')
	}
	f.out = append(f.out, bytes.ToUpper([]byte(text))...)
}

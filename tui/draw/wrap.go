package draw

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks s into lines of at most w cells: at spaces where there are any, and between characters of Chinese. A path
// or a key that is longer than a line is broken behind a slash.
func Wrap(s string, w int) []string {
	if w <= 0 {
		return nil
	}
	if !strings.ContainsFunc(s, isWide) && !hasLongPath(s, w) {
		return strings.Split(ansi.Wrap(s, w, ""), "\n")
	}
	var lines []string
	for _, paragraph := range strings.Split(s, "\n") {
		lines = append(lines, wrapWide(paragraph, w)...)
	}
	return lines
}

// hasLongPath reports whether a path or a key in s is longer than a line.
func hasLongPath(s string, w int) bool {
	if strings.Contains(s, "\x1b") {
		return false
	}
	for word := range strings.FieldsSeq(s) {
		if len(word) > w && strings.Contains(word, "/") {
			return true
		}
	}
	return false
}

// wrapWide breaks one paragraph that has characters of two cells, or a long path.
func wrapWide(s string, w int) (lines []string) {
	line, used := "", 0
	end := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line, used = "", 0
	}
	for s != "" {
		word := s[:wordEnd(s)]
		s = s[len(word):]
		n := ansi.StringWidth(strings.TrimRight(word, " "))
		if used > 0 && used+n > w {
			end()
		}
		for n > w && word != "" { // a word that is longer than a line
			part := beginning(word, w)
			if i := strings.LastIndexByte(part, '/'); i > 0 && len(part) < len(word) {
				part = part[:i+1]
			}
			line, word = part, word[len(part):]
			n -= ansi.StringWidth(part)
			end()
		}
		line += word
		used += n + len(word) - len(strings.TrimRight(word, " "))
	}
	if line != "" || lines == nil {
		end()
	}
	return lines
}

// beginning returns the longest beginning of a word that fits into w cells, at least one character.
func beginning(word string, w int) string {
	const most = 16 // bytes of a cell: so a long word is not looked at as a whole for each of its lines
	window := word
	for n := range word {
		if n >= most*w {
			window = word[:n]
			break
		}
	}
	if part := ansi.Truncate(window, w, ""); part != "" {
		return part
	}
	_, size := utf8.DecodeRuneInString(word)
	return word[:size]
}

// wordEnd returns the first place at which a line may break: after spaces, and beside Chinese characters, but not
// before closing punctuation and not after opening punctuation.
func wordEnd(s string) int {
	last, n := utf8.DecodeRuneInString(s)
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		switch {
		case r == ' ' || closes(r) || opens(last):
		case last == ' ' || isWide(last) || isWide(r):
			return n
		}
		last = r
		n += size
	}
	return n
}

func isWide(r rune) bool { return r >= 0x1100 && ansi.StringWidth(string(r)) == 2 }

func closes(r rune) bool {
	return strings.ContainsRune("，。、；：？！）】》”’…—", r)
}

func opens(r rune) bool { return strings.ContainsRune("（【《“‘", r) }

package draw

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks s into lines of at most w cells: at spaces where there are any, and between characters of Chinese. A path
// or a key that is longer than a line is broken behind a slash, or between the parameters of its query. No name is
// broken at a hyphen.
func Wrap(s string, w int) []string {
	if w <= 0 {
		return nil
	}
	var lines []string
	for _, paragraph := range strings.Split(s, "\n") {
		lines = append(lines, wrapParagraph(paragraph, w)...)
	}
	return lines
}

// reset ends a colour.
const reset = "\x1b[0m"

// WrapPainted is Wrap for text with colours. Each line has the codes of its own colours.
func WrapPainted(s string, w int) []string {
	lines := Wrap(ansi.Strip(s), w)
	code := "" // of the colour here
	for i, line := range lines {
		var b strings.Builder
		for line != "" && s != "" {
			if at := codeAt(s); at > 0 {
				if code = s[:at]; b.Len() > 0 {
					b.WriteString(code)
				}
				if code == reset {
					code = ""
				}
				s = s[at:]
				continue
			}
			_, size := utf8.DecodeRuneInString(s)
			if rest, ok := strings.CutPrefix(line, s[:size]); ok { // else it is a space at which the line was broken
				if b.Len() == 0 {
					b.WriteString(code)
				}
				b.WriteString(s[:size])
				line = rest
			}
			s = s[size:]
		}
		if code != "" {
			b.WriteString(reset)
		}
		lines[i] = b.String()
	}
	return lines
}

// codeAt returns the length of the code of a colour with which s begins, or 0.
func codeAt(s string) int {
	if s[0] != '\x1b' {
		return 0
	}
	if at := sgr.FindStringIndex(s); at != nil && at[0] == 0 {
		return at[1]
	}
	return 0
}

// wrapParagraph breaks one paragraph.
func wrapParagraph(s string, w int) (lines []string) {
	line, used := "", 0
	end := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line, used = "", 0
	}
	for s != "" {
		word := s[:wordEnd(s)]
		s = s[len(word):]
		n := ansi.StringWidth(strings.TrimRight(word, " "))
		if used+n > w && (used >= w || strings.TrimSpace(line) != "") {
			end()
		}
		for used+n > w && word != "" { // a word that is longer than a line
			part := beginning(word, max(w-used, 1))
			if i := strings.LastIndexAny(part, "/?&"); i > 0 && len(part) < len(word) {
				part = part[:i+1]
			}
			line, word = line+part, word[len(part):]
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

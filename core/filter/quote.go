package filter

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Compose writes a filter from pairs of a field's name and its value, and quotes what needs it. A pair with an empty
// value is left out.
func Compose(pairs ...string) string {
	var terms []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if text := pairs[i+1]; text != "" {
			terms = append(terms, pairs[i]+":"+quoteUnless(text, wordEnd+",*"))
		}
	}
	return strings.Join(terms, " ")
}

// quoteValue writes a value so that Parse reads it unchanged.
func quoteValue(s string) string { return quoteUnless(s, wordEnd+",") }

// OfText writes a text without a field as a filter.
func OfText(text string) string { return quoteText(text) }

// quoteText writes a text without a field so that Parse reads it unchanged.
func quoteText(s string) string {
	field := len(s) - len(strings.TrimLeftFunc(s, func(r rune) bool { return r < utf8.RuneSelf && isLetter(byte(r)) }))
	if _, word := operatorWords[strings.ToLower(s)]; word || strings.HasPrefix(s, "!") {
		return strconv.Quote(s)
	}
	for _, o := range operators {
		if field > 0 && strings.HasPrefix(s[field:], o.text) {
			return strconv.Quote(s)
		}
	}
	return quoteUnless(s, wordEnd)
}

func quoteUnless(s, special string) string {
	if s == "" || strings.ContainsAny(s, special) || strings.Contains(s, arrow) || strings.ContainsFunc(s, unicode.IsSpace) ||
		strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

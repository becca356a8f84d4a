package filter

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Of writes a filter of pairs of a field's name and what the field has, whatever characters that is made of. Of a pair that
// has nothing it says nothing.
func Of(pairs ...string) string {
	var terms []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if text := pairs[i+1]; text != "" {
			terms = append(terms, pairs[i]+":"+quoteUnless(text, wordEnd+",*"))
		}
	}
	return strings.Join(terms, " ")
}

// quoteValue writes a value of a field so that it is read back as it was.
func quoteValue(s string) string { return quoteUnless(s, wordEnd+",") }

// quoteText writes a text without a field so that it is read back as it was.
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
	if s == "" || strings.ContainsAny(s, special) || strings.ContainsFunc(s, unicode.IsSpace) || strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

package filter

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a text with or without globs. It ignores case.
type pattern struct {
	parts     []string // what lies between the stars; one part if there is none
	canonical string
}

// newPattern makes a pattern of a word. In a quoted word a star is an ordinary character. quote quotes other words.
func newPattern(word string, quoted bool, quote func(string) string) pattern {
	switch {
	case !quoted:
		return pattern{parts: strings.Split(word, "*"), canonical: word}
	case strings.Contains(word, "*"):
		return pattern{parts: []string{word}, canonical: strconv.Quote(word)}
	}
	return pattern{parts: []string{word}, canonical: quote(word)}
}

// whole says whether the pattern matches all of s.
func (p *pattern) whole(s string) bool {
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(p.parts) == 1 {
		return strings.EqualFold(s, first)
	}
	rest, ok := cutPrefixFold(s, first)
	if !ok {
		return false
	}
	for _, part := range p.parts[1 : len(p.parts)-1] {
		if rest, ok = cutFold(rest, part); !ok {
			return false
		}
	}
	return hasSuffixFold(rest, last)
}

// within says whether the pattern matches a part of s.
func (p *pattern) within(s string) bool {
	ok := true
	for _, part := range p.parts {
		if s, ok = cutFold(s, part); !ok {
			return false
		}
	}
	return true
}

// cutFold returns what follows the first sub in s.
func cutFold(s, sub string) (string, bool) {
	if sub == "" {
		return s, true
	}
	for i := range s {
		if rest, ok := cutPrefixFold(s[i:], sub); ok {
			return rest, true
		}
	}
	return "", false
}

// cutPrefixFold cuts rune by rune, because the two cases of a letter may differ in length.
func cutPrefixFold(s, prefix string) (string, bool) {
	for len(prefix) > 0 {
		if len(s) == 0 {
			return "", false
		}
		r1, n1 := utf8.DecodeRuneInString(s)
		r2, n2 := utf8.DecodeRuneInString(prefix)
		if r1 != r2 && !equalFold(r1, r2) {
			return "", false
		}
		s, prefix = s[n1:], prefix[n2:]
	}
	return s, true
}

func hasSuffixFold(s, suffix string) bool {
	n := utf8.RuneCountInString(suffix)
	for i := len(s); ; {
		if n == 0 {
			return strings.EqualFold(s[i:], suffix)
		}
		if i == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
		n--
	}
}

func equalFold(a, b rune) bool {
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		return lowerASCII(a) == lowerASCII(b)
	}
	for r := unicode.SimpleFold(a); r != a; r = unicode.SimpleFold(r) {
		if r == b {
			return true
		}
	}
	return false
}

func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

package yaml

import (
	"bytes"
	"cmp"
	"slices"
)

// sort sorts keys. A key that is there twice is rare.
func (w *writer) sort(keys []int32) error {
	for _, key := range keys {
		for _, c := range w.key(key) {
			if c < ' ' || c >= 0x7F {
				return errRare
			}
		}
		if string(w.key(key)) == "<<" { // the library merges its value into the object
			return errRare
		}
	}
	slices.SortFunc(keys, func(a, b int32) int { return compareKeys(w.key(a), w.key(b)) })
	for i := 1; i < len(keys); i++ {
		if bytes.Equal(w.key(keys[i-1]), w.key(keys[i])) {
			return errRare
		}
	}
	return nil
}

// compareKeys compares keys that have only ASCII characters, in an order for people: letters come last, and a10 behind
// a9. It is the library's, in which 99 comes before 100, 100 before 1b, and 1b before 99: the order of such keys
// depends on where they stood.
func compareKeys(a, b []byte) int {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	if same == len(a) || same == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	ca, cb := a[same], b[same]
	switch la, lb := isLetter(ca), isLetter(cb); {
	case la && lb:
		return cmp.Compare(ca, cb)
	case la:
		return 1
	case lb:
		return -1
	}
	// Behind a digit that is not zero a zero counts, so the numbers there begin with it.
	var start int64
	if (ca == '0' || cb == '0') && countsZero(a[:same]) {
		start = 1
	}
	na, lenA := number(a[same:], start)
	nb, lenB := number(b[same:], start)
	return cmp.Or(cmp.Compare(na, nb), cmp.Compare(lenA, lenB), cmp.Compare(ca, cb))
}

// countsZero says whether the digits at the end of s have one that is not zero.
func countsZero(s []byte) bool {
	for i := len(s) - 1; i >= 0 && isDigit(s[i]); i-- {
		if s[i] != '0' {
			return true
		}
	}
	return false
}

// number reads the digits that s begins with.
func number(s []byte, start int64) (n int64, digits int) {
	for n = start; digits < len(s) && isDigit(s[digits]); digits++ {
		n = n*10 + int64(s[digits]-'0')
	}
	return n, digits
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

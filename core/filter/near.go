package filter

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// most bounds how many names are proposed.
	most = 3
	// mostCompared limits the compared part of a name. No name that exists is longer.
	mostCompared = 64
)

// Near returns at most three names that are near, the nearest first, and none if all are far. Upper and lower case are
// the same. A name of two parts, such as etcd.txn, is also near to what is near to its second part, or begins as it
// does.
func Near(name string, all []string) []string {
	type candidate struct {
		name string
		away int
	}
	var found []candidate
	name = strings.ToLower(name)
	for _, one := range all {
		if away, ok := editDistance(name, strings.ToLower(one)); ok {
			found = append(found, candidate{one, away})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.away, b.away) })
	var names []string
	for _, c := range found[:min(most, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// editDistance returns the distance of a name from an existing one, or false if it is too large.
func editDistance(name, one string) (int, bool) {
	best := distance(one, name)
	ok := 2*best < len(one)
	if _, part, dotted := strings.Cut(one, "."); dotted {
		if d := distance(part, name); 3*d <= len(part) && (!ok || d < best) {
			best, ok = d, true
		}
	}
	if !ok && len(name) >= 3 && strings.HasPrefix(one, name) {
		best, ok = len(one)-len(name), true
	}
	return best, ok
}

// distance counts the bytes to insert, remove, replace or swap with the next one in order to turn a into b.
func distance(a, b string) int {
	b = b[:min(len(b), mostCompared)]
	before := make([]int, len(b)+1) // the distances from the letters of a without the last two so far
	last := make([]int, len(b)+1)   // and without the last one
	row := make([]int, len(b)+1)    // and from all of them
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

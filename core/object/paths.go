package object

import (
	"slices"
	"strings"
)

// Paths are several paths of names whose values are looked up by one reading of an object.
type Paths struct {
	root  pathNode // the empty path
	count int
}

// pathNode is a name of some paths, and the names that follow it.
type pathNode struct {
	name string
	// ends are the indexes of the paths that end here.
	ends []int
	next []*pathNode // in the order of their names
}

// NewPaths returns the paths. Names are UTF-8.
func NewPaths(paths [][]string) *Paths {
	p := &Paths{count: len(paths)}
	for i, path := range paths {
		at := &p.root
		for _, name := range path {
			at = at.child(name)
		}
		at.ends = append(at.ends, i)
	}
	return p
}

// child returns the node of a name below n. If n has none, it adds one.
func (n *pathNode) child(name string) *pathNode {
	i, found := slices.BinarySearchFunc(n.next, name, func(n *pathNode, name string) int {
		return strings.Compare(n.name, name)
	})
	if !found {
		n.next = slices.Insert(n.next, i, &pathNode{name: name})
	}
	return n.next[i]
}

// Lookup returns the value at each path, in the order of the paths: what the function Lookup finds, or nil. It reads
// data once, and no further than the last value.
func (p *Paths) Lookup(data []byte) [][]byte {
	values := make([][]byte, p.count)
	p.root.read(&scanner{data: data}, values)
	return values
}

// lost says that a scanner is at an unknown place of a value, since that is not canonical.
const lost = -1

// read reads a value and stores those of the paths at and below n. It returns the number of objects of the value that
// the scanner is inside of, or lost.
func (n *pathNode) read(s *scanner, values [][]byte) (inside int) {
	if len(n.ends) == 0 {
		return n.readMembers(s, values)
	}
	start := s.pos
	if len(n.next) > 0 {
		// A path leads into the value of another path: this part is read twice.
		n.readMembers(&scanner{data: s.data, pos: start}, values)
	}
	if !s.skip() {
		return lost
	}
	for _, i := range n.ends {
		values[i] = s.data[start:s.pos]
	}
	return 0
}

// readMembers is read for the paths below n alone.
func (n *pathNode) readMembers(s *scanner, values [][]byte) (inside int) {
	if !s.byte('{') || len(s.data) > s.pos && s.data[s.pos] == '}' {
		return lost
	}
	next, odd := n.next, false
	for key, ok := s.key(nil); ok; key, ok = s.key(key) {
		// Keys are sorted: a name can't follow a greater key.
		for len(next) > 0 && compareName(key, next[0].name) > 0 {
			next = next[1:]
		}
		if len(next) == 0 {
			return lostIf(odd, 1)
		}
		odd = odd || !s.atValue()
		if compareName(key, next[0].name) == 0 {
			inside = next[0].readValue(s, values, len(next) == 1)
			if next = next[1:]; len(next) == 0 && inside != lost {
				return lostIf(odd, inside+1)
			}
			ok = inside != lost
		} else {
			ok = s.skip()
		}
		if ok && s.byte('}') {
			return lostIf(odd, 0)
		}
		if !ok || !s.byte(',') {
			return lost
		}
	}
	return lost
}

// readValue reads a value. Unless it is the last one of interest, it passes the value.
func (n *pathNode) readValue(s *scanner, values [][]byte, last bool) (inside int) {
	start := s.pos
	inside = n.read(s, values)
	ok := true
	switch {
	case inside == lost:
		s.pos = start
		ok = s.skip()
	case last:
		return inside
	case inside > 0:
		ok = s.skipRest(inside)
	}
	if !ok {
		return lost
	}
	return 0
}

func lostIf(odd bool, inside int) int {
	if odd {
		return lost
	}
	return inside
}

// atValue reports whether a value begins here. If none does, skip passes something else than what an enclosing value
// has here.
func (s *scanner) atValue() bool { return s.pos < len(s.data) && !contains(",:}]", s.data[s.pos]) }

package schema

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// spot is a place in an object during a walk. Its path is built only when it is shown: there may be millions of
// places, below names as long as the body. The root is nil.
type spot struct {
	above *spot
	name  string
	index int  // of an item
	item  bool // rather than a field
	key   bool // of a map, written in brackets
}

func (s *spot) field(name string) spot { return spot{above: s, name: name} }
func (s *spot) atIndex(index int) spot { return spot{above: s, index: index, item: true} }

// clone returns a pointer to a copy of the spot, for places below it.
func (s spot) clone() *spot { return &s }

// maxPath limits the length of a path in an answer. Real paths have a hundredth of it.
const maxPath = 1 << 10

// String returns the path, such as "spec.ports[0].name". A long one is cut at its beginning, where paths are
// alike.
func (s *spot) String() string {
	var parts []string
	length := 0
	for at := s; at != nil && length <= maxPath; at = at.above {
		part := at.name
		switch {
		case at.item:
			part = "[" + strconv.Itoa(at.index) + "]"
		case at.key:
			part = "[" + part + "]"
		case at.above != nil:
			part = "." + part
		}
		parts = append(parts, part)
		length += len(part)
	}
	slices.Reverse(parts)
	path := strings.Join(parts, "")
	if len(path) > maxPath {
		return "…" + strings.ToValidUTF8(path[len(path)-maxPath:], "")
	}
	return path
}

// path returns the spot in the form of validation errors: keys of maps are in brackets.
func (s *spot) path() *field.Path {
	switch {
	case s == nil:
		return nil
	case s.item:
		return s.above.path().Index(s.index)
	case s.key:
		return s.above.path().Key(s.name)
	}
	return s.above.path().Child(s.name)
}

// maxSorted limits the names of one object that are sorted in order to report the first of them. Of more names,
// it reports any.
const maxSorted = 1000

// namesOf returns the names of an object's fields.
func namesOf(x map[string]any) []string {
	names := make([]string, 0, len(x))
	for name := range x {
		names = append(names, name)
	}
	if len(names) <= maxSorted {
		slices.Sort(names)
	}
	return names
}

package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// List is what one LIST answered, all its pages together.
type List struct {
	Client int
	Scope  Scope
	Items  []Object
	// Revision is the list's own, that of every page.
	Revision int64
	// Least is the revision that was asked for; Exact wants no other.
	Least int64
	Exact bool
	// Latest is whether the client asked for the latest state.
	Latest       bool
	Call, Return int64
}

func (l *List) String() string {
	return fmt.Sprintf("client %d: list of %s color=%q least=%d exact=%t latest=%t at %d", l.Client, l.Scope.Prefix, l.Scope.Color, l.Least, l.Exact, l.Latest, l.Revision)
}

// lists compares each list with etcd's state at the list's revision.
func lists(h *History) (violations []string) {
	byKey := h.Log.byKey()
	keys := sortedKeys(byKey)
	latest := h.latestWrites()
	for i := range h.Lists {
		l := &h.Lists[i]
		if l.Revision < l.Least || l.Exact && l.Revision != l.Least {
			violations = append(violations, fmt.Sprintf("another revision was asked for: %s", l))
		}
		if least := latest(l.Scope.Prefix, l.Call); l.Latest && l.Revision < least {
			violations = append(violations, fmt.Sprintf("a write at %d was done before: %s", least, l))
		}
		if difference := compare(l.Items, stateAt(byKey, keys, l.Revision, l.Scope)); difference != "" {
			violations = append(violations, fmt.Sprintf("%s: %s", l, difference))
		}
	}
	return violations
}

func sortedKeys(byKey map[string]Log) []string { return slices.Sorted(maps.Keys(byKey)) }

// stateAt are the objects of a scope at a revision, in the order of keys.
func stateAt(byKey map[string]Log, keys []string, revision int64, scope Scope) (state []Object) {
	first, _ := slices.BinarySearch(keys, scope.Prefix)
	for _, key := range keys[first:] {
		if !strings.HasPrefix(key, scope.Prefix) {
			break
		}
		if o := byKey[key].stateAt(revision); scope.Has(o) {
			state = append(state, o)
		}
	}
	return state
}

func compare(got, want []Object) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("item %d is missing: %+v", i, want[i])
		case i >= len(want):
			return fmt.Sprintf("item %d is too many: %+v", i, got[i])
		case got[i] != want[i]:
			return fmt.Sprintf("item %d is %+v, etcd had %+v", i, got[i], want[i])
		}
	}
	return ""
}

// latestWrites answers which revision, of those that clients knew of at a moment, was the highest below a prefix.
func (h *History) latestWrites() func(prefix string, before int64) int64 {
	var done []*Operation
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Outcome == OK && o.writes() {
			done = append(done, o)
		}
	}
	slices.SortFunc(done, func(a, b *Operation) int { return int(a.Return - b.Return) })
	type known struct{ returned, revision int64 }
	byPrefix := map[string][]known{}
	index := func(prefix string) []known {
		if all, ok := byPrefix[prefix]; ok {
			return all
		}
		all := []known{{-1, 0}}
		for _, o := range done {
			if strings.HasPrefix(o.Key, prefix) {
				all = append(all, known{o.Return, max(o.Revision, all[len(all)-1].revision)})
			}
		}
		byPrefix[prefix] = all
		return all
	}
	return func(prefix string, before int64) int64 {
		all := index(prefix)
		i, _ := slices.BinarySearchFunc(all, before, func(k known, before int64) int {
			if k.returned < before {
				return -1
			}
			return 1
		})
		if i == 0 {
			return 0
		}
		return all[i-1].revision
	}
}

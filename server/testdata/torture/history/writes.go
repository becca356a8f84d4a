package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

func sortByReturn(operations []porcupine.Operation) {
	slices.SortStableFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
}

// acknowledged looks in etcd's log for each write that a client was told of.
func acknowledged(h *History) (violations []string) {
	tombstones, deletes := map[string]int{}, map[string]int{}
	for _, c := range h.Log {
		if c.Deleted {
			tombstones[c.Key]++
		}
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Outcome != OK || o.Verb == Get {
			continue
		}
		if o.Verb == Delete {
			deletes[o.Key]++
			continue
		}
		switch c, ok := h.Log.at(o.Revision); {
		case !ok || c.Deleted || c.Key != o.Key:
			violations = append(violations, fmt.Sprintf("etcd has no such write: %s", o))
		case c.Value != o.Value:
			violations = append(violations, fmt.Sprintf("etcd has %q at %d: %s", c.Value, c.Revision, o))
		}
	}
	for key, n := range deletes {
		if tombstones[key] < n {
			violations = append(violations, fmt.Sprintf("%d deletes of %s were acknowledged, etcd has %d", n, key, tombstones[key]))
		}
	}
	return violations
}

// final compares what is there in the end with what the log says.
func final(h *History) (violations []string) {
	last := map[string]Change{}
	for _, c := range h.Log {
		last[c.Key] = c
	}
	for key, c := range last {
		got, there := h.Final[key]
		switch {
		case c.Deleted && there:
			violations = append(violations, fmt.Sprintf("%s was deleted at %d and is there, of %d", key, c.Revision, got.Revision))
		case !c.Deleted && !there:
			violations = append(violations, fmt.Sprintf("%s of %d is lost", key, c.Revision))
		case !c.Deleted && got != c.Object:
			violations = append(violations, fmt.Sprintf("%s is %q of %d, the last write was %q at %d", key, got.Value, got.Revision, c.Value, c.Revision))
		}
	}
	for key := range h.Final {
		if _, known := last[key]; !known {
			violations = append(violations, fmt.Sprintf("nobody wrote %s", key))
		}
	}
	return violations
}

// revisions says whether each write has a resourceVersion of its own, above those of all writes that were done when it
// began.
func revisions(h *History) (violations []string) {
	var writes []*Operation
	seen := map[int64]*Operation{}
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Outcome != OK || !o.writes() {
			continue
		}
		if other := seen[o.Revision]; other != nil {
			violations = append(violations, fmt.Sprintf("two writes have one revision: %s; %s", other, o))
		}
		seen[o.Revision] = o
		writes = append(writes, o)
	}
	byCall, byReturn := slices.Clone(writes), writes
	slices.SortFunc(byCall, func(a, b *Operation) int { return cmp.Compare(a.Call, b.Call) })
	slices.SortFunc(byReturn, func(a, b *Operation) int { return cmp.Compare(a.Return, b.Return) })
	var newest *Operation
	done := 0
	for _, o := range byCall {
		for ; done < len(byReturn) && byReturn[done].Return < o.Call; done++ {
			if newest == nil || byReturn[done].Revision > newest.Revision {
				newest = byReturn[done]
			}
		}
		if newest != nil && o.Revision <= newest.Revision {
			violations = append(violations, fmt.Sprintf("a write began after another was done and has an older revision: %s; %s", newest, o))
		}
	}
	return violations
}

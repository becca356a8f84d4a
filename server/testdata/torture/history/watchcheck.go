package history

import (
	"fmt"
)

// Stream is what one watch was sent, from its begin to its end.
type Stream struct {
	Watcher int
	Scope   Scope
	// From is the revision after which it began.
	From   int64
	Events []Event
	// Expired is whether it ended with 410, or was refused with it.
	Expired bool
	// Compacted is the highest revision that etcd had been told to compact when it ended.
	Compacted int64
}

// last is the revision up to which the client has seen all: it goes on after that.
func (s *Stream) last() int64 {
	if n := len(s.Events); n > 0 {
		return s.Events[n-1].Revision
	}
	return s.From
}

// EventType is one of the types of a watch event, as the wire has them.
type EventType string

// The types of events. A Bookmark has a revision alone.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
)

// Event is one that a watcher got. The Value of a Deleted one is the last that was seen, its Revision the deletion's.
type Event struct {
	Type EventType
	Object
}

func (e Event) String() string {
	return fmt.Sprintf("%s %s %q at %d", e.Type, e.Key, e.Value, e.Revision)
}

// watches compares each stream with etcd's log: the same events in the same order, and none left out.
func watches(h *History) (violations []string) {
	byKey := h.Log.byKey()
	for i := range h.Streams {
		s := &h.Streams[i]
		if fault := h.checkStream(s, byKey); fault != "" {
			violations = append(violations, fmt.Sprintf("watcher %d, of %s color=%q from %d: %s", s.Watcher, s.Scope.Prefix, s.Scope.Color, s.From, fault))
		}
	}
	return violations
}

func (h *History) checkStream(s *Stream, byKey map[string]Log) string {
	next := h.Log.after(s.From)
	last := s.From
	for n, got := range s.Events {
		if got.Revision < last || got.Revision == last && got.Type != Bookmark {
			return fmt.Sprintf("event %d is out of order or a duplicate: %s after %d", n, got, last)
		}
		last = got.Revision
		for ; next < len(h.Log) && h.Log[next].Revision < got.Revision; next++ {
			if missing, any := h.event(h.Log[next], s.Scope, byKey); any {
				return fmt.Sprintf("a gap: before event %d, %s, there was %s", n, got, missing)
			}
		}
		if got.Type == Bookmark {
			// Its revision may be that of a change which was sent before it.
			if missing, any := h.eventAt(next, got.Revision, s.Scope, byKey); any {
				return fmt.Sprintf("a gap: before event %d, %s, there was %s", n, got, missing)
			}
			continue
		}
		want, any := h.eventAt(next, got.Revision, s.Scope, byKey)
		if !any {
			return fmt.Sprintf("event %d did not happen: %s", n, got)
		}
		if got != want {
			return fmt.Sprintf("event %d is %s, it was %s", n, got, want)
		}
		next++
	}
	if s.Expired && had(s) {
		return fmt.Sprintf("410 after %d, though etcd, compacted at %d, had what comes next", s.last(), s.Compacted)
	}
	return ""
}

// had is whether a server can tell a watch that ended all changes after the last that it was sent.
//
// After a compaction at C etcd still tells the change of C. But what that change replaced is gone: without it nobody knows who
// is to be told MODIFIED, ADDED or DELETED. And a cache at C-1 that has to be filled again can't be compared with etcd any
// more, so it ends its watches. So whoever has seen less than C may be told 410.
func had(s *Stream) bool { return s.last() >= s.Compacted }

func (h *History) eventAt(i int, revision int64, scope Scope, byKey map[string]Log) (Event, bool) {
	if i >= len(h.Log) || h.Log[i].Revision != revision {
		return Event{}, false
	}
	return h.event(h.Log[i], scope, byKey)
}

// event is what a change is to those who watch a scope.
func (h *History) event(c Change, scope Scope, byKey map[string]Log) (Event, bool) {
	was := byKey[c.Key].stateAt(c.Revision - 1)
	before, now := scope.Has(was), !c.Deleted && scope.Has(c.Object)
	switch {
	case before && now:
		return Event{Modified, c.Object}, true
	case now:
		return Event{Added, c.Object}, true
	case before:
		gone := was
		gone.Revision = c.Revision
		return Event{Deleted, gone}, true
	}
	return Event{}, false
}

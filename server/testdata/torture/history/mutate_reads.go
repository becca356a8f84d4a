package history

import (
	"math/rand/v2"
	"slices"
)

// read alters one of the reads that fit.
func read(fits func(*History, *Read) bool, alter func(*History, *Read)) func(*History, *rand.Rand) bool {
	return one(func(h *History) []Read { return h.Reads }, fits, alter)
}

// replaced is what a read's object was before the revision that was asked for.
func (h *History) replaced(r *Read) (Object, bool) {
	l := h.Log.byKey()[r.Key]
	now := l.stateAt(r.Least)
	was := l.stateAt(now.Revision - 1)
	return was, now.Revision != 0 && was.Revision != 0
}

var readMutations = []Mutation{
	{"a cached read is older than was asked", "reads", read(
		func(h *History, r *Read) bool {
			_, ok := h.replaced(r)
			return ok
		},
		func(h *History, r *Read) { r.Object, _ = h.replaced(r) })},
	{"a cached read finds what never was", "reads", read(
		func(_ *History, r *Read) bool { return r.Revision != 0 },
		func(_ *History, r *Read) { r.Value += "x" })},
	{"a cached read finds nothing", "reads", read(
		func(h *History, r *Read) bool {
			l := h.Log.byKey()[r.Key]
			return r.Revision != 0 && !l.had(Object{}, r.Least)
		},
		func(_ *History, r *Read) { r.Value, r.Revision = "", 0 })},
}

// list alters one of the lists that fit.
func list(fits func(*History, *List) bool, alter func(*History, *List, *rand.Rand)) func(*History, *rand.Rand) bool {
	return func(h *History, random *rand.Rand) bool {
		i, ok := victim(random, len(h.Lists), func(i int) bool { return fits(h, &h.Lists[i]) })
		if ok {
			alter(h, &h.Lists[i], random)
		}
		return ok
	}
}

func hasItems(_ *History, l *List) bool { return len(l.Items) > 1 }

var listMutations = []Mutation{
	{"an item is missing", "lists", list(hasItems, func(_ *History, l *List, random *rand.Rand) {
		i := random.IntN(len(l.Items))
		l.Items = slices.Delete(l.Items, i, i+1)
	})},
	{"an item comes twice", "lists", list(hasItems, func(_ *History, l *List, random *rand.Rand) {
		i := random.IntN(len(l.Items))
		l.Items = slices.Insert(l.Items, i, l.Items[i])
	})},
	{"items are out of order", "lists", list(hasItems, func(_ *History, l *List, _ *rand.Rand) { slices.Reverse(l.Items) })},
	{"an item is of another revision", "lists", list(hasItems, func(_ *History, l *List, random *rand.Rand) {
		l.Items[random.IntN(len(l.Items))].Revision--
	})},
	{"the latest list is stale", "lists", list(
		func(h *History, l *List) bool {
			least := h.latestWrites()(l.Scope.Prefix, l.Call)
			return l.Latest && least > 1 && h.Log[0].Revision < least
		},
		func(h *History, l *List, _ *rand.Rand) { h.moveTo(l, h.latestWrites()(l.Scope.Prefix, l.Call)-1) })},
	{"a list is older than was asked", "lists", list(
		func(_ *History, l *List) bool { return l.Least > 1 && !l.Exact },
		func(h *History, l *List, _ *rand.Rand) { h.moveTo(l, l.Least-1) })},
	{"a list is not of the revision that was asked", "lists", list(
		func(_ *History, l *List) bool { return l.Exact },
		func(h *History, l *List, _ *rand.Rand) { h.moveTo(l, l.Least+1) })},
}

// moveTo makes of a list what it would have been at another revision.
func (h *History) moveTo(l *List, revision int64) {
	byKey := h.Log.byKey()
	l.Revision, l.Items = revision, stateAt(byKey, sortedKeys(byKey), revision, l.Scope)
}

// stream alters one of the streams with an event that fits.
func stream(fits func(h *History, s *Stream, i int) bool, alter func(h *History, s *Stream, i int)) func(*History, *rand.Rand) bool {
	return func(h *History, random *rand.Rand) bool {
		for _, n := range random.Perm(len(h.Streams)) {
			s := &h.Streams[n]
			if i, ok := victim(random, len(s.Events), func(i int) bool { return fits(h, s, i) }); ok {
				alter(h, s, i)
				return true
			}
		}
		return false
	}
}

func change(s *Stream, i int) bool { return i < len(s.Events) && s.Events[i].Type != Bookmark }

var watchMutations = []Mutation{
	{"an event is left out", "watches", stream(
		func(_ *History, s *Stream, i int) bool { return change(s, i) && i+1 < len(s.Events) },
		func(_ *History, s *Stream, i int) { s.Events = slices.Delete(s.Events, i, i+1) })},
	{"an event comes twice", "watches", stream(
		func(_ *History, s *Stream, i int) bool { return change(s, i) },
		func(_ *History, s *Stream, i int) { s.Events = slices.Insert(s.Events, i, s.Events[i]) })},
	{"two events are swapped", "watches", stream(
		func(_ *History, s *Stream, i int) bool { return change(s, i) && change(s, i+1) },
		func(_ *History, s *Stream, i int) { s.Events[i], s.Events[i+1] = s.Events[i+1], s.Events[i] })},
	{"a deletion is told as a change", "watches", stream(
		func(_ *History, s *Stream, i int) bool { return s.Events[i].Type == Deleted },
		func(_ *History, s *Stream, i int) { s.Events[i].Type = Modified })},
	{"an event has another object", "watches", stream(
		func(_ *History, s *Stream, i int) bool { return change(s, i) },
		func(_ *History, s *Stream, i int) { s.Events[i].Value += "x" })},
	{"an event happened before the watch", "watches", stream(
		func(_ *History, s *Stream, i int) bool { return change(s, i) },
		func(_ *History, s *Stream, i int) { s.From = s.Events[i].Revision })},
	{"an event is outside of what is watched", "watches", stream(
		func(_ *History, s *Stream, i int) bool { return change(s, i) },
		func(_ *History, s *Stream, i int) { s.Scope.Prefix += "x" })},
	{"a bookmark is ahead of events", "watches", stream(
		func(h *History, s *Stream, i int) bool { return change(s, i) },
		func(_ *History, s *Stream, i int) {
			s.Events = append(s.Events[:i:i], Event{Type: Bookmark, Object: Object{Revision: s.Events[i].Revision}})
		})},
	{"a watch is refused what etcd has", "watches", func(h *History, random *rand.Rand) bool {
		i, ok := victim(random, len(h.Streams), func(int) bool { return true })
		if ok {
			s := &h.Streams[i]
			s.Expired, s.Compacted = true, s.last()
		}
		return ok
	}},
}

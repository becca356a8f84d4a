package history

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Mutation makes of a history without violations one that a certain checker must not accept.
type Mutation struct {
	Name    string
	Checker string
	// Mutate alters a history of the caller's own, and says whether there was something to alter.
	Mutate func(*History, *rand.Rand) bool
}

// Clone is a copy that can be altered.
func (h *History) Clone() *History {
	c := *h
	c.Operations = slices.Clone(h.Operations)
	c.Deeds = slices.Clone(h.Deeds)
	c.Reads = slices.Clone(h.Reads)
	c.Lists = slices.Clone(h.Lists)
	for i := range c.Lists {
		c.Lists[i].Items = slices.Clone(c.Lists[i].Items)
	}
	c.Streams = slices.Clone(h.Streams)
	for i := range c.Streams {
		c.Streams[i].Events = slices.Clone(c.Streams[i].Events)
	}
	c.Log = slices.Clone(h.Log)
	c.Final = maps.Clone(h.Final)
	return &c
}

// victim picks one of the indexes below n that fit.
func victim(random *rand.Rand, n int, fits func(int) bool) (int, bool) {
	for _, i := range random.Perm(n) {
		if fits(i) {
			return i, true
		}
	}
	return 0, false
}

// Mutations has at least one for each thing that a checker is for.
var Mutations = slices.Concat(operationMutations, lifeMutations, stateMutations, readMutations, listMutations, watchMutations)

// previous is what was at an operation's key before the version that it was told of, if a client knew of that version
// before the operation began.
func (h *History) previous(o *Operation) (Object, bool) {
	acknowledged := slices.ContainsFunc(h.Operations, func(w Operation) bool {
		return w.Outcome == OK && w.writes() && w.Revision == o.Revision && w.Key == o.Key && w.Return < o.Call
	})
	if !acknowledged {
		return Object{}, false
	}
	was := h.Log.byKey()[o.Key].stateAt(o.Revision - 1)
	return was, was.Revision != 0
}

// one alters one of the things that fit, of one sort.
func one[T any](of func(*History) []T, fits func(*History, *T) bool, alter func(*History, *T)) func(*History, *rand.Rand) bool {
	return func(h *History, random *rand.Rand) bool {
		all := of(h)
		i, ok := victim(random, len(all), func(i int) bool { return fits(h, &all[i]) })
		if ok {
			alter(h, &all[i])
		}
		return ok
	}
}

// operation alters one of the operations that fit.
func operation(fits func(*History, *Operation) bool, alter func(*History, *Operation)) func(*History, *rand.Rand) bool {
	return one(func(h *History) []Operation { return h.Operations }, fits, alter)
}

func acknowledgedWrite(_ *History, o *Operation) bool { return o.Outcome == OK && o.writes() }

var operationMutations = []Mutation{
	{"a read is stale", "linearizable", operation(
		func(h *History, o *Operation) bool {
			_, ok := h.previous(o)
			return ok && o.Verb == Get && o.Outcome == OK
		},
		func(h *History, o *Operation) {
			was, _ := h.previous(o)
			o.Value, o.Revision = was.Value, was.Revision
		})},
	{"a read finds nothing", "linearizable", operation(
		func(h *History, o *Operation) bool {
			_, known := h.previous(o)
			return known && o.Verb == Get && o.Outcome == OK && h.undeleted(o)
		},
		func(_ *History, o *Operation) { o.Outcome, o.Value, o.Revision = NotFound, "", 0 })},
	{"a read finds what nobody wrote", "linearizable", operation(
		func(_ *History, o *Operation) bool { return o.Verb == Get && o.Outcome == OK },
		func(_ *History, o *Operation) { o.Value = "red-0-0" })},
	{"an update does not mind another in between", "linearizable", operation(
		func(h *History, o *Operation) bool { return o.Verb == Update && o.Outcome == OK && o.Expect > 1 },
		func(_ *History, o *Operation) { o.Expect-- })},
	{"a create replaces what is there", "linearizable", operation(
		func(h *History, o *Operation) bool {
			if o.Verb != Update || o.Outcome != OK || o.Expect == 0 {
				return false
			}
			// No delete can stand between the write that it expects and itself, whoever knows of that write.
			since := *o
			since.Call = h.called(o.Key, o.Expect)
			return h.undeleted(&since)
		},
		func(_ *History, o *Operation) { o.Verb, o.Expect = Create, 0 })},
	{"a write has the revision of another", "revisions", operation(acknowledgedWrite, func(h *History, o *Operation) {
		for i := range h.Operations {
			if other := &h.Operations[i]; other != o && acknowledgedWrite(h, other) {
				o.Revision = other.Revision
			}
		}
	})},
	{"revisions go back", "revisions", operation(
		func(h *History, o *Operation) bool {
			return acknowledgedWrite(h, o) && slices.ContainsFunc(h.Operations, func(before Operation) bool {
				return acknowledgedWrite(h, &before) && before.Return < o.Call
			})
		},
		func(_ *History, o *Operation) { o.Revision = 1 })},
}

// called is when the write with a revision was called; 0 if nobody noted it.
func (h *History) called(key string, revision int64) int64 {
	c, _ := h.Log.at(revision)
	for i := range h.Operations {
		if w := &h.Operations[i]; w.Key == key && w.writes() && w.Value == c.Value {
			return w.Call
		}
	}
	return 0
}

// undeleted is whether nobody can have deleted its object while an operation was under way.
func (h *History) undeleted(o *Operation) bool {
	return h.deletesKnown(o.Key) && !slices.ContainsFunc(h.Operations, func(d Operation) bool {
		return d.Key == o.Key && d.Verb == Delete && d.Outcome == OK && d.Return > o.Call && d.Call < o.Return
	})
}

// deletesKnown is whether the outcome of every delete of a key is known.
func (h *History) deletesKnown(key string) bool {
	return !slices.ContainsFunc(h.Operations, func(o Operation) bool {
		return o.Key == key && o.Verb == Delete && o.Outcome == Unknown
	})
}

var stateMutations = []Mutation{
	{"an acknowledged write is lost", "acknowledged", operation(acknowledgedWrite, func(h *History, o *Operation) {
		h.Log = slices.DeleteFunc(h.Log, func(c Change) bool { return c.Revision == o.Revision })
	})},
	{"an acknowledged delete is lost", "acknowledged", operation(
		func(h *History, o *Operation) bool {
			return o.Verb == Delete && o.Outcome == OK && h.deletesKnown(o.Key)
		},
		func(h *History, o *Operation) {
			i := slices.IndexFunc(h.Log, func(c Change) bool { return c.Key == o.Key && c.Deleted })
			h.Log = slices.Delete(h.Log, i, i+1)
		})},
	{"etcd has another value", "acknowledged", operation(acknowledgedWrite, func(h *History, o *Operation) {
		h.Log[h.Log.after(o.Revision)-1].Value += "x"
	})},
	{"the last write is lost", "final", object(func(h *History, key string) { delete(h.Final, key) })},
	{"the last write is undone", "final", object(func(h *History, key string) {
		h.Final[key] = Object{key, "red-0-0", h.Final[key].Revision - 1}
	})},
	{"a quota is exceeded", "guards", func(h *History, _ *rand.Rand) bool {
		for _, g := range h.Guards {
			for n := range g.Most + 1 {
				h.Log = append(h.Log, Change{Object: Object{fmt.Sprintf("%smore-%d", g.Prefix, n), "red-0-0", 1 << 40}})
			}
		}
		return len(h.Guards) > 0
	}},
	{"what must be refused was written", "guards", func(h *History, random *rand.Rand) bool {
		i, ok := victim(random, len(h.Log), func(i int) bool {
			return !h.Log[i].Deleted && len(h.Guards) > 0 && strings.HasPrefix(h.Log[i].Key, h.Guards[0].Prefix)
		})
		if ok {
			h.Log[i].Value = h.Guards[0].Refused[0] + "-0-0"
		}
		return ok
	}},
	{"a deleted object is there again", "final", func(h *History, random *rand.Rand) bool {
		i, ok := victim(random, len(h.Log), func(i int) bool {
			_, there := h.Final[h.Log[i].Key]
			return h.Log[i].Deleted && !there
		})
		if ok {
			h.Final[h.Log[i].Key] = h.Log[i].Object
		}
		return ok
	}},
}

// object alters what is there in the end.
func object(alter func(*History, string)) func(*History, *rand.Rand) bool {
	return func(h *History, random *rand.Rand) bool {
		keys := slices.Sorted(maps.Keys(h.Final))
		if len(keys) == 0 {
			return false
		}
		alter(h, keys[random.IntN(len(keys))])
		return true
	}
}

// ErrNothing says that a history has nothing to try a mutation on.
var ErrNothing = errors.New("nothing to try it on")

// Finds is an error if the checker that a mutation is for does not find it in a copy of the history.
func (h *History) Finds(m Mutation, random *rand.Rand) error {
	i := slices.IndexFunc(Checkers, func(c Checker) bool { return c.Name == m.Checker })
	mutant := h.Clone()
	if !m.Mutate(mutant, random) {
		return fmt.Errorf("%q: %w", m.Name, ErrNothing)
	}
	if len(Checkers[i].Check(mutant)) == 0 {
		return fmt.Errorf("%q was not found by %q", m.Name, m.Checker)
	}
	return nil
}

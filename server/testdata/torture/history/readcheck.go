package history

import "fmt"

// Read is what a GET answered that did not ask for the latest state. No revision in Object: it was not found.
type Read struct {
	Client int
	Object
	// Least is the revision that was asked for; 0 takes any.
	Least int64
}

// reads looks for each read's object in etcd's history: it must have been there at a revision that is not older than was
// asked.
func reads(h *History) (violations []string) {
	byKey := h.Log.byKey()
	for i := range h.Reads {
		r := &h.Reads[i]
		if !byKey[r.Key].had(r.Object, r.Least) {
			violations = append(violations, fmt.Sprintf("client %d: a read of %s answered %q at %d, which it was not from %d on", r.Client, r.Key, r.Value, r.Revision, r.Least))
		}
	}
	return violations
}

// had is whether an object was as it is here at a revision that is not below least, if l are its changes.
func (l Log) had(o Object, least int64) bool {
	want := o
	if o.Revision == 0 {
		want = Object{}
	}
	if l.stateAt(least) == want {
		return true
	}
	for _, c := range l[l.after(least):] {
		if c.Deleted && want == (Object{}) || !c.Deleted && c.Object == want {
			return true
		}
	}
	return false
}

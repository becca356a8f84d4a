package history

import (
	"cmp"
	"slices"
	"strings"
)

// History is all that happened in one round.
type History struct {
	Operations []Operation
	Deeds      []Deed
	Reads      []Read
	Lists      []List
	Streams    []Stream
	// Guards are what must hold of parts of the log.
	Guards []Guard
	// Log is etcd's history, in the order of revisions, from the round's begin on.
	Log Log
	// Final is what etcd has at the end, read anew after all processes were started once more.
	Final map[string]Object
}

// Object is one version of an object. No revision: there is none.
type Object struct {
	Key      string
	Value    string
	Revision int64
}

// Color is the label of an object, and the first word of its value.
func Color(value string) string {
	color, _, _ := strings.Cut(value, "-")
	return color
}

// Verb is what an operation does to one key.
type Verb int

// Apply creates what is not there; Update and Patch don't.
const (
	Get Verb = iota
	Create
	Update
	Patch
	Apply
	Delete
)

func (v Verb) String() string {
	return [...]string{"get", "create", "update", "patch", "apply", "delete"}[v]
}

// Outcome is what a client knows of its operation.
type Outcome int

// Refused operations had no effect, for a reason that says nothing of the object. Unknown ones may have one at any time
// after their call: the answer was lost, or said no more than that something went wrong.
const (
	OK Outcome = iota
	NotFound
	Exists
	Conflict
	Refused
	Unknown
)

func (o Outcome) String() string {
	return [...]string{"ok", "not found", "already exists", "conflict", "refused", "unknown"}[o]
}

// Operation is one request for one key. Each write writes a value that no other one writes.
type Operation struct {
	Client int
	Key    string
	Verb   Verb
	// Value is what was written, or read.
	Value string
	// Expect is the resourceVersion that the request demanded; 0 for none.
	Expect   int64
	Outcome  Outcome
	Revision int64
	// Call and Return are nanoseconds since the round's begin.
	Call, Return int64
}

// writes is whether it leaves a value behind.
func (o *Operation) writes() bool { return o.Verb != Get && o.Verb != Delete }

// Log is etcd's history. Each revision has one change.
type Log []Change

// Change is what one revision of etcd did to a key.
type Change struct {
	Object
	Deleted bool
}

// after is where the changes after a revision begin.
func (l Log) after(revision int64) int {
	i, _ := slices.BinarySearchFunc(l, revision+1, func(c Change, r int64) int { return cmp.Compare(c.Revision, r) })
	return i
}

// at is the change of a revision.
func (l Log) at(revision int64) (Change, bool) {
	if i := l.after(revision - 1); i < len(l) && l[i].Revision == revision {
		return l[i], true
	}
	return Change{}, false
}

// byKey has the same changes, each key's by itself.
func (l Log) byKey() map[string]Log {
	keys := map[string]Log{}
	for _, c := range l {
		keys[c.Key] = append(keys[c.Key], c)
	}
	return keys
}

// stateAt is what one key had at a revision, if l are its changes.
func (l Log) stateAt(revision int64) Object {
	i := l.after(revision)
	if i == 0 || l[i-1].Deleted {
		return Object{}
	}
	return l[i-1].Object
}

// Scope is a part of the objects: those below a prefix, all or of one color.
type Scope struct {
	Prefix, Color string
}

// Has is whether an object is part of it.
func (s Scope) Has(o Object) bool {
	return o.Revision != 0 && strings.HasPrefix(o.Key, s.Prefix) && (s.Color == "" || Color(o.Value) == s.Color)
}

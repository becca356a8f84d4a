package history

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience is how long porcupine may look at the operations of all keys.
const patience = 5 * time.Minute

// register is one key of an API server: an object with a resourceVersion, or none, and the highest resourceVersion so far.
type register struct {
	Object
	newest int64
}

// model is that of a register.
var model = porcupine.Model{
	Init: func() any { return register{} },
	Step: func(state, input, _ any) (bool, any) {
		was, o := state.(register), input.(*Operation)
		possible, now := o.step(was.Object)
		if now == was.Object {
			return possible, was
		}
		return possible && (now.Revision == 0 || now.Revision > was.newest), register{now, max(was.newest, now.Revision)}
	},
	DescribeOperation: func(input, _ any) string { return input.(*Operation).String() },
	DescribeState:     func(state any) string { return fmt.Sprintf("%s@%d", state.(register).Value, state.(register).Revision) },
}

// step says whether the operation can have had its outcome on an object, and what is there afterwards.
func (o *Operation) step(was Object) (bool, Object) {
	there := was.Revision != 0
	matches := there && (o.Expect == 0 || o.Expect == was.Revision)
	switch o.Outcome {
	case NotFound:
		return !there, was
	case Exists:
		return there, was
	case Conflict:
		// Without a demand it is a patch that met others too often.
		return there && (o.Expect == 0 || !matches), was
	case Unknown:
		// Only deletes come here. One that did nothing stands behind all others.
		if matches {
			return true, Object{}
		}
		return true, was
	}
	written := Object{o.Key, o.Value, o.Revision}
	switch o.Verb {
	case Get:
		return was == written, was
	case Create:
		return !there, written
	case Apply:
		return !there && o.Expect == 0 || matches, written
	case Delete:
		return matches, Object{}
	default:
		return matches, written
	}
}

func (o *Operation) String() string {
	return fmt.Sprintf("client %d: %s %s %q expecting %d: %s at %d", o.Client, o.Verb, o.Key, o.Value, o.Expect, o.Outcome, o.Revision)
}

// linearizable asks porcupine about the operations.
func linearizable(h *History) []string {
	byKey := map[string][]porcupine.Operation{}
	for _, o := range settled(h) {
		byKey[o.Key] = append(byKey[o.Key], porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Output: nil, Return: o.Return})
	}
	return inOneOrder(model, byKey)
}

func (o *Operation) effective() bool {
	return o.Verb != Get && (o.Outcome == OK || o.Outcome == Unknown)
}

// request is what a model's operations are made of.
type request interface {
	fmt.Stringer
	// effective is whether it may have changed something.
	effective() bool
}

// inOneOrder asks porcupine, key by key, for an order that explains all operations.
func inOneOrder(model porcupine.Model, byKey map[string][]porcupine.Operation) (violations []string) {
	deadline := time.Now().Add(patience)
	for key, operations := range byKey {
		switch porcupine.CheckOperationsTimeout(model, operations, max(time.Until(deadline), time.Millisecond)) {
		case porcupine.Illegal:
			violations = append(violations, fmt.Sprintf("no order explains the %d operations on %s: %s", len(operations), key, shortest(model, operations)))
		case porcupine.Unknown:
			violations = append(violations, fmt.Sprintf("the %d operations on %s were not decided in time", len(operations), key))
		}
	}
	return violations
}

// shortest says with which operation, in the order of returns, the trouble begins.
func shortest(model porcupine.Model, operations []porcupine.Operation) string {
	sorted := append([]porcupine.Operation(nil), operations...)
	sortByReturn(sorted)
	low, high := 0, len(sorted)
	for low < high {
		middle := (low + high) / 2
		if porcupine.CheckOperationsTimeout(model, prefix(sorted, middle+1), time.Minute) == porcupine.Illegal {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if low == len(sorted) {
		return "only all of them together"
	}
	return sorted[low].Input.(request).String()
}

// prefix is what was known when the nth operation returned: others that were called until then may have happened.
func prefix(sorted []porcupine.Operation, n int) []porcupine.Operation {
	end := sorted[n-1].Return
	known := append([]porcupine.Operation(nil), sorted[:n]...)
	for _, o := range sorted[n:] {
		if o.Call <= end && o.Input.(request).effective() {
			o.Return = math.MaxInt64
			known = append(known, o)
		}
	}
	return known
}

// settled leaves out operations without an effect, and settles by etcd's log which of the unknown ones had one.
func settled(h *History) []*Operation {
	byValue := map[string]Change{}
	tombstones := map[string]int{}
	for _, c := range h.Log {
		if c.Deleted {
			tombstones[c.Key]++
		} else {
			byValue[c.Key+" "+c.Value] = c
		}
	}
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Verb == Delete && o.Outcome == OK {
			tombstones[o.Key]--
		}
	}
	var all []*Operation
	for i := range h.Operations {
		o := h.Operations[i]
		switch {
		case o.Outcome == Refused || o.Outcome == Unknown && o.Verb == Get:
			continue
		case o.Outcome == Unknown && o.writes():
			c, happened := byValue[o.Key+" "+o.Value]
			if !happened {
				continue
			}
			o.Outcome, o.Revision, o.Return = OK, c.Revision, math.MaxInt64
		case o.Outcome == Unknown:
			if tombstones[o.Key] <= 0 {
				continue
			}
			o.Return = math.MaxInt64
		}
		all = append(all, &o)
	}
	return all
}

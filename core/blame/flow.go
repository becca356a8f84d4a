package blame

import (
	"strings"

	"github.com/kx-apiserver/kx/core/steps"
)

// flow is the way of a journey's object through its steps.
type flow struct {
	before, after form // the object as it was stored, and as it became

	request int // the step that read what the client sent; -1 for none
	first   int // the first attempt at a write
	attempt int // the last
	end     int // behind the last step of it
	journey bool
	// namespace is the one of the request.
	namespace string

	txn      int // the transaction that wrote; -1 for none
	revision int64
	writes   int
	deleted  bool
}

// form is an object that a step recorded, before or after its work.
type form struct {
	step int // -1 for none
	out  bool
}

var noForm = form{step: -1}

// flow finds the way of the object.
func (o *objects) flow() flow {
	f := flow{before: noForm, after: noForm, request: -1, txn: -1, first: -1, end: len(o.steps), journey: true}
	made, encoded := noForm, noForm
	for i := range o.steps {
		s, saw := &o.steps[i], &o.seen[i]
		switch {
		case does(s).Input == steps.Body && saw.hasAfter && f.request < 0:
			f.request = i
		case is(s, steps.StoreTryUpdate):
			if f.attempt = i; f.first < 0 {
				f.first = i
			}
			if f.before = noForm; saw.hasBefore {
				f.before = form{step: i}
			}
			made, encoded = noForm, noForm
		case is(s, steps.Etcd3Encode) && saw.hasBefore:
			encoded = form{step: i}
		case is(s, steps.Etcd3Decode) && saw.hasAfter && f.txn >= 0 && f.after.step < 0:
			f.after = form{step: i, out: true}
		}
		if does(s).Shapes && saw.hasAfter && (made.step < 0 || !is(&o.steps[made.step], steps.StoreTryUpdate)) {
			made = form{step: i, out: true}
		}
		if _, revision, ok := StepWrite(s); ok {
			f.writes++
			f.txn, f.revision, f.after = i, revision, noForm
		}
	}
	f.first = max(f.first, 0)
	if f.txn >= 0 && deletes(o, f.txn) {
		f.deleted, f.after, f.request = true, noForm, -1
		f.before = o.removedObject(f.txn)
		return f
	}
	for _, candidate := range []form{encoded, made} {
		if f.after.step < 0 {
			f.after = candidate
		}
	}
	return f
}

// deletes says whether a transaction removed its key.
func deletes(o *objects, txn int) bool {
	return strings.HasPrefix(o.steps[txn].Attribute("success"), "delete ")
}

// removedObject is the object that a transaction removed: the one that the step around it had then. Captures of older
// servers have it only where it was decoded.
func (o *objects) removedObject(txn int) form {
	if parent := int(o.steps[txn].Parent); parent >= 0 && o.seen[parent].hasBefore {
		return form{step: parent}
	}
	for i := txn - 1; i >= 0; i-- {
		if is(&o.steps[i], steps.Etcd3Decode) && o.seen[i].hasAfter && o.steps[i].Parent == o.steps[txn].Parent {
			return form{step: i, out: true}
		}
	}
	return noForm
}

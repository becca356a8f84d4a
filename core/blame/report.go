package blame

import (
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// Field is a field that changed, and the step that is to blame.
type Field struct {
	Path Path
	// Before and After are JSON; empty where there is nothing.
	Before, After string
	// Step is the index of the step, or -1 if no recorded step explains the change.
	Step int
	Who  string
	// Client says that the client sent this value.
	Client bool
	// Dropped says that the client sent the field but the server dropped it, and that the object did not have it
	// before.
	Dropped bool
}

// Report lists the changes between two forms of an object.
type Report struct {
	// Before and After are the two forms, or nil.
	Before, After []byte
	// BeforeStep and AfterStep are the steps that recorded them, or -1.
	BeforeStep, AfterStep int
	// Deleted says that AfterStep removed the object. There are no fields then.
	Deleted bool
	// Revision is the revision of the write, or 0 if none is known.
	Revision int64
	Fields   []Field
	// More counts the further fields that changed.
	More int
	// Nothing says why there is nothing to compare. All else is empty then.
	Nothing string
}

// fieldsMost bounds the fields of a report.
const fieldsMost = 2000

// Count returns the number of fields that changed, and of those among them that have the client's value.
func (r *Report) Count() (all, client int) {
	for i := range r.Fields {
		if r.Fields[i].Dropped {
			continue
		}
		all++
		if r.Fields[i].Client {
			client++
		}
	}
	return all + r.More, client
}

// Reasons why there is nothing to compare.
const (
	NoObjects  = "objects were not recorded: kx trace record switches that on for the next requests"
	OnlyReads  = "the request changed no object: it only reads"
	notYet     = "the request has changed no object yet"
	noWrite    = "the request changed no object"
	manyWrites = "the request wrote several objects: see what each step changed"
	noChange   = "this step changes no object"
)

// Journey compares the object that was stored before the request with the one after it.
func Journey(j *v1alpha1.Journey) (*Report, error) {
	o, err := objectsOf(j)
	if err != nil {
		return nil, err
	}
	r := &Report{BeforeStep: -1, AfterStep: -1}
	if !o.any {
		r.Nothing = NoObjects
		if j.Status.Level == "Objects" {
			r.Nothing = whyUnchanged(j)
		}
		return r, nil
	}
	f := o.flow()
	f.namespace = j.Spec.Namespace
	r.Revision = f.revision
	switch {
	case f.writes > 1:
		r.Nothing = manyWrites
		return r, nil
	case f.after.step < 0 && !f.deleted:
		r.Nothing = whyUnchanged(j)
		return r, nil
	}
	var before, after any
	r.BeforeStep, r.Before, before = o.form(f.before)
	r.AfterStep, r.After, after = o.form(f.after)
	if r.Deleted = f.deleted; r.Deleted {
		r.AfterStep = f.txn
		return r, nil
	}
	o.fill(r, before, after, f)
	return r, nil
}

// whyUnchanged says why a request changed no object.
func whyUnchanged(j *v1alpha1.Journey) string {
	switch {
	case j.Spec.Method == "GET" || j.Spec.Method == "HEAD":
		return OnlyReads
	case j.Status.Phase != v1alpha1.JourneyComplete:
		return notYet
	}
	return noWrite
}

// form returns an object that a step recorded.
func (o *objects) form(f form) (step int, raw []byte, v any) {
	switch {
	case f.step < 0:
		return -1, nil, nil
	case f.out:
		return f.step, o.steps[f.step].After.Raw, o.seen[f.step].after
	}
	return f.step, o.steps[f.step].Before.Raw, o.seen[f.step].before
}

// Step compares the object before and after one step.
func Step(j *v1alpha1.Journey, i int) (*Report, error) {
	r := &Report{BeforeStep: -1, AfterStep: -1}
	o, err := objectsOf(j)
	if err != nil {
		return nil, err
	}
	switch saw := &o.seen[i]; {
	case !o.any && j.Status.Level != "Objects":
		r.Nothing = NoObjects
		return r, nil
	case !saw.hasBefore && !saw.hasAfter || does(&o.steps[i]).Compares:
		r.Nothing = noChange
		return r, nil
	case saw.hasBefore:
		r.BeforeStep, r.Before = i, o.steps[i].Before.Raw
	}
	if o.seen[i].hasAfter {
		r.AfterStep, r.After = i, o.steps[i].After.Raw
	}
	if r.Before == nil && does(&o.steps[i]).Input != steps.Body || r.After == nil {
		return r, nil // the step shows an object, and does not change it
	}
	o.fill(r, o.seen[i].before, o.seen[i].after, flow{attempt: i, end: o.endOfCalls(i), request: -1, txn: -1})
	return r, nil
}

// endOfCalls is the index after the last step that the i-th called, directly or not.
func (o *objects) endOfCalls(i int) int {
	end := i + 1
	for end < len(o.steps) && int(o.steps[end].Parent) >= i {
		end++
	}
	return end
}

// fill finds the fields that differ between before and after, and who is to blame.
func (o *objects) fill(r *Report, before, after any, f flow) {
	add := func(field Field, v any) {
		if len(r.Fields) == fieldsMost {
			r.More++
			return
		}
		o.blame(&field, v, f)
		r.Fields = append(r.Fields, field)
	}
	leaves(nil, before, after, func(path Path, a, b any) {
		if typeOnly(path, a, b) || f.journey && !f.after.out && path.Key() == resourceVersion {
			return // what is stored has no resourceVersion: it is the revision
		}
		add(Field{Path: path, Before: jsonText(a), After: jsonText(b)}, b)
	})
	if f.request < 0 || after == nil {
		return
	}
	leaves(nil, nil, o.sentObject(f.request), func(path Path, _, sent any) {
		if len(path) == 1 && (path[0] == "kind" || path[0] == "apiVersion") || at(after, path) != nil || at(before, path) != nil {
			return
		}
		add(Field{Path: path, Before: jsonText(sent), Dropped: true}, nil)
	})
}

// typeOnly says whether the difference is only a missing apiVersion or kind, which typed objects leave out.
func typeOnly(path Path, a, b any) bool {
	return len(path) == 1 && (path[0] == "kind" || path[0] == "apiVersion") && (a == nil || b == nil)
}

// sentObject is the client's object at the first step that recorded it.
func (o *objects) sentObject(decode int) any {
	for i := decode + 1; i < o.endOfCalls(decode); i++ {
		if o.seen[i].hasBefore {
			return o.seen[i].before
		}
	}
	return o.seen[decode].after
}

// blame finds the step that gave the field its value v.
func (o *objects) blame(field *Field, v any, f flow) {
	field.Step = -1
	var changes []Change
	if f.journey {
		changes = o.changes(field.Path, 0, f.first)
	}
	changes = append(changes, o.changes(field.Path, f.attempt, f.end)...)
	for i := len(changes) - 1; i >= 0 && field.Step < 0; i-- {
		if equal(changes[i].after, v) {
			field.Step = changes[i].index
		}
	}
	asSent := f.request >= 0 && equal(at(o.seen[f.request].after, field.Path), v)
	switch {
	case f.txn >= 0 && does(&o.steps[f.txn]).MaySet(field.Path.String()):
		field.Step = f.txn
	case asSent && (field.Step < 0 || does(&o.steps[field.Step]).TakesOver):
		field.Step = o.sentBy(field.Path, v, f.request)
	case field.Step < 0 && f.request >= 0 && v == f.namespace && v != "" && field.Path.Key() == namespace:
		field.Step, field.Who, field.Client = f.request, "the client, by the path of the request", true
		return
	}
	if field.Step < 0 {
		field.Who = "no recorded step"
		return
	}
	s := &o.steps[field.Step]
	field.Who, field.Client = nameOf(s), does(s).Input != steps.NoInput
}

// sentBy is the step that gave the client's object the value: the decoding step, or one that it called, such as
// defaulting.
func (o *objects) sentBy(path Path, v any, decode int) int {
	changes := o.changes(path, decode, o.endOfCalls(decode))
	for i := len(changes) - 1; i >= 0; i-- {
		if equal(changes[i].after, v) {
			return changes[i].index
		}
	}
	return decode
}

var (
	resourceVersion = Path{"metadata", "resourceVersion"}.Key()
	namespace       = Path{"metadata", "namespace"}.Key()
)

// Differences are the fields in which two forms of an object differ. No step is to blame for them.
func Differences(before, after []byte) ([]Field, error) {
	a, err := parse(before)
	if err != nil {
		return nil, err
	}
	b, err := parse(after)
	if err != nil {
		return nil, err
	}
	var fields []Field
	leaves(nil, a, b, func(path Path, a, b any) {
		if len(fields) < fieldsMost {
			fields = append(fields, Field{Path: path, Before: jsonText(a), After: jsonText(b), Step: -1})
		}
	})
	return fields, nil
}

// The reasons of transactions that wrote nothing, by the names that journeys have.
const (
	reasonKeyMoved = "key-moved"
	reasonKeyTaken = "key-taken"
	reasonKeyGone  = "key-gone"
)

// StepWrite is the key and revision of a step's write; ok is false if it wrote nothing.
func StepWrite(s *v1alpha1.Step) (key string, revision int64, ok bool) {
	if !is(s, steps.EtcdTxn) || s.Error != "" {
		return "", 0, false
	}
	other := false
	for _, a := range s.Attributes {
		switch a.Name {
		case "revision":
			revision, _ = strconv.ParseInt(a.Value, 10, 64)
		case "modRevision":
			other = true
		}
	}
	// A transaction whose comparison failed wrote nothing.
	refused := other
	if s.Reason != nil {
		switch s.Reason.Kind {
		case reasonKeyMoved, reasonKeyTaken, reasonKeyGone:
			refused = true
		}
	} else { // a capture from before there were kinds of reasons
		refused = refused || strings.HasSuffix(s.Why, "nothing was written")
	}
	return s.Subject, revision, revision > 0 && !refused
}

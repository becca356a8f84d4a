package blame

import (
	"fmt"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Change is a step that gave a field another value.
type Change struct {
	Who  string         `json:"who"`
	Step *v1alpha1.Step `json:"step"`
	// Before and After are JSON; empty where there was nothing.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`

	index  int
	before any
	after  any
}

// who are those who may change an object on its way, by the step in which they do.
var who = map[string]string{
	"handler.decode":         "the client",
	"handler.default":        "a default of the version that it sent",
	"handler.apply-patch":    "the client, by its patch",
	"handler.apply":          "the client, by what it applied",
	"handler.mutate":         "mutating admission",
	"handler.admit":          "an admission plugin",
	"handler.managed-fields": "the bookkeeping of who manages which field",
	"handler.convert":        "conversion to another version",
	"crd.convert":            "conversion to another version",
	"crd.webhook":            "the conversion webhook",
	"crd.prune":              "pruning of what the schema does not have",
	"crd.default":            "a default of the schema",
	"store.before-create":    "the server, before the create",
	"store.before-update":    "the server, before the update",
	"store.prepare":          "the resource's strategy",
	"etcd3.decode":           "what is stored",
	tryStep:                  "what the client sent takes the place of what was stored",
	txnStep:                  "etcd, by the revision that it gave the write",
}

// several are the steps that one of several takes: their subject says which.
var several = map[string]bool{"handler.admit": true, "store.prepare": true}

// clients are the steps in which an object gets what its client wants.
var clients = map[string]bool{"handler.decode": true, "handler.apply-patch": true, "handler.apply": true}

// takesOver are the steps in which what a client sent takes the place of what was there.
var takesOver = map[string]bool{"store.try-update": true, "rest.update": true, "rest.create": true}

// compares are the steps that look at an object and the one that it is to replace: they change nothing.
var compares = map[string]bool{"crd.validate": true}

// Changed is how many fields of the object a step changed.
func Changed(s *v1alpha1.Step) int {
	if s.Before == nil || s.After == nil || compares[s.ID] {
		return 0
	}
	n, err := count(s.Before.Raw, s.After.Raw)
	if err != nil {
		return 0 // what can't be compared is said where it is opened
	}
	return n
}

const (
	decodeStep = "handler.decode"
	tryStep    = "store.try-update"
	encodeStep = "etcd3.encode"
	storedStep = "etcd3.decode"
	txnStep    = "etcd.txn"
)

// nameOf says who a step stands for.
func nameOf(s *v1alpha1.Step) string {
	name := who[s.ID]
	switch {
	case name == "":
		return s.Title
	case several[s.ID] && s.Subject != "":
		return name + ", " + s.Subject
	}
	return name
}

// Of finds the steps of a journey that changed the field at path, in their order. The error says if it can't be known.
func Of(j *v1alpha1.Journey, path string) ([]Change, error) {
	where, err := ParsePath(path)
	if err != nil {
		return nil, err
	}
	o, err := objectsOf(j)
	if err != nil {
		return nil, err
	}
	if !o.any {
		return nil, fmt.Errorf("journey %s has no objects: make the request with --trace, or with the header Kx-Trace: objects, as an administrator", j.Name)
	}
	changes := o.changes(where, 0, len(o.steps))
	for i := range changes {
		c := &changes[i]
		c.Who, c.Before, c.After = nameOf(c.Step), written(c.before), written(c.after)
	}
	return changes, nil
}

// objects are the objects of a journey's steps, decoded.
type objects struct {
	steps []v1alpha1.Step
	seen  []seen
	any   bool
}

// seen is what a step saw.
type seen struct {
	hasBefore, hasAfter bool
	before, after       any
}

func objectsOf(j *v1alpha1.Journey) (*objects, error) {
	o := &objects{steps: j.Status.Steps, seen: make([]seen, len(j.Status.Steps))}
	for i := range o.steps {
		s, is := &o.steps[i], &o.seen[i]
		var err error
		if s.Before != nil {
			is.hasBefore, o.any = true, true
			if is.before, err = parse(s.Before.Raw); err != nil {
				return nil, fmt.Errorf("step %s: %w", s.ID, err)
			}
		}
		if s.After != nil {
			is.hasAfter, o.any = true, true
			if is.after, err = parse(s.After.Raw); err != nil {
				return nil, fmt.Errorf("step %s: %w", s.ID, err)
			}
		}
	}
	return o, nil
}

// changes are the steps from first to before end that changed the field at path, in their order.
func (o *objects) changes(path Path, first, end int) []Change {
	var changes []Change
	explained := map[int32]bool{} // steps below which one is to blame
	// A step is to blame if none of those that it called is: they are looked at first.
	for i := end - 1; i >= first; i-- {
		s, is := &o.steps[i], &o.seen[i]
		if is.hasAfter && (is.hasBefore || s.ID == decodeStep) && !compares[s.ID] && !explained[int32(i)] {
			before, after := at(is.before, path), at(is.after, path)
			if !equal(before, after) {
				changes = append(changes, Change{Step: s, index: i, before: before, after: after})
				explained[int32(i)] = true
			}
		}
		if explained[int32(i)] && s.Parent >= 0 {
			explained[s.Parent] = true
		}
	}
	for i, k := 0, len(changes)-1; i < k; i, k = i+1, k-1 {
		changes[i], changes[k] = changes[k], changes[i]
	}
	return changes
}

package blame

import (
	"fmt"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
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

// is says whether a step of a journey has an ID. Captures of other versions of kx may have IDs that this version does
// not know.
func is(s *v1alpha1.Step, id steps.ID) bool { return s.ID == id.String() }

// does returns what a step does to the object.
func does(s *v1alpha1.Step) steps.Object { return steps.InfoOf(s.ID).Object }

// CountChanges returns the number of the object's fields that a step changed.
func CountChanges(s *v1alpha1.Step) int {
	if s.Before == nil || s.After == nil || does(s).Compares {
		return 0
	}
	n, err := count(s.Before.Raw, s.After.Raw)
	if err != nil {
		return 0 // what can't be compared is said where it is opened
	}
	return n
}

// nameOf names the part of the server that a step stands for.
func nameOf(s *v1alpha1.Step) string {
	o := does(s)
	switch {
	case o.Who == "":
		return s.Title
	case o.OneOfMany && s.Subject != "":
		return o.Who + ", " + s.Subject
	}
	return o.Who
}

// FindChanges finds the steps of a journey that changed the field at path, in their order. It fails if the journey has
// no objects.
func FindChanges(j *v1alpha1.Journey, path string) ([]Change, error) {
	where, err := ParsePath(path)
	if err != nil {
		return nil, err
	}
	o, err := objectsOf(j)
	if err != nil {
		return nil, err
	}
	if !o.any {
		return nil, fmt.Errorf("journey %s has no objects: make the request with --trace, "+
			"or have the server record those of others by kx trace record", j.Name)
	}
	changes := o.changes(where, 0, len(o.steps))
	for i := range changes {
		c := &changes[i]
		c.Who, c.Before, c.After = nameOf(c.Step), jsonText(c.before), jsonText(c.after)
	}
	return changes, nil
}

// objects are the objects of a journey's steps, decoded.
type objects struct {
	steps []v1alpha1.Step
	seen  []sight
	any   bool
}

// sight holds the object as a step saw it, before and after.
type sight struct {
	hasBefore, hasAfter bool
	before, after       any
}

func objectsOf(j *v1alpha1.Journey) (*objects, error) {
	o := &objects{steps: j.Status.Steps, seen: make([]sight, len(j.Status.Steps))}
	for i := range o.steps {
		s, saw := &o.steps[i], &o.seen[i]
		var err error
		if s.Before != nil {
			saw.hasBefore, o.any = true, true
			if saw.before, err = parse(s.Before.Raw); err != nil {
				return nil, fmt.Errorf("step %s: %w", s.ID, err)
			}
		}
		if s.After != nil {
			saw.hasAfter, o.any = true, true
			if saw.after, err = parse(s.After.Raw); err != nil {
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
	// Steps that this one called come first: it is to blame only if none of them is.
	for i := end - 1; i >= first; i-- {
		s, saw := &o.steps[i], &o.seen[i]
		if saw.hasAfter && (saw.hasBefore || does(s).Input == steps.Body) && !does(s).Compares && !explained[int32(i)] {
			before, after := at(saw.before, path), at(saw.after, path)
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

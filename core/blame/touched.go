package blame

import "github.com/kx-apiserver/kx/core/kxapi/v1alpha1"

// WritePaths are the paths of the fields that a request changed in the object that it wrote, and of all fields above
// those, each once. There are none if it wrote no object, or several, or deleted one, or if its objects were not
// recorded. Two objects at most are decoded.
func WritePaths(j *v1alpha1.Journey) []string {
	o := &objects{steps: j.Status.Steps, seen: make([]sight, len(j.Status.Steps))}
	for i := range o.steps {
		s, saw := &o.steps[i], &o.seen[i]
		saw.hasBefore, saw.hasAfter = s.Before != nil, s.After != nil
		o.any = o.any || saw.hasBefore || saw.hasAfter
	}
	if !o.any {
		return nil
	}
	f := o.flow()
	if f.writes != 1 || f.deleted || f.after.step < 0 {
		return nil
	}
	before, err1 := o.decode(f.before)
	after, err2 := o.decode(f.after)
	if err1 != nil || err2 != nil {
		return nil // what can't be compared is said where the request is opened
	}
	var touched []string
	known := map[string]bool{}
	leaves(nil, before, after, func(path Path, a, b any) {
		if typeOnly(path, a, b) || !f.after.out && path.Key() == resourceVersion {
			return
		}
		for n := len(path); n > 0 && !known[path[:n].Key()]; n-- {
			known[path[:n].Key()] = true
			touched = append(touched, path[:n].String())
		}
	})
	return touched
}

func (o *objects) decode(f form) (any, error) {
	_, raw, _ := o.form(f)
	if raw == nil {
		return nil, nil
	}
	return parse(raw)
}

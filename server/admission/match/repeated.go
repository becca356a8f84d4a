package match

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
)

// Rounds carries the state of a mutating plugin between its two rounds for one write. A second round takes
// place if the object changed after a hook with the reinvocationPolicy IfNeeded was called.
type Rounds struct {
	context admission.ReinvocationContext
	second  bool
	// may: hooks that can be called again if the object changes; must: hooks that have to be.
	may, must sets.Set[string]
	// left is the object at the end of the first round.
	left runtime.Object
}

// RoundsOf returns a plugin's state for a write. It is stored in the write's attributes.
func RoundsOf(a admission.Attributes, plugin string) *Rounds {
	r, ok := a.GetReinvocationContext().Value(plugin).(*Rounds)
	if !ok {
		r = &Rounds{context: a.GetReinvocationContext(), may: sets.New[string](), must: sets.New[string]()}
		r.context.SetValue(plugin, r)
	}
	r.second = r.context.IsReinvoke()
	if r.second && len(r.may) > 0 && !apiequality.Semantic.DeepEqual(r.left, a.GetObject()) {
		r.require()
	}
	return r
}

// Round returns 0 in the first round and 1 in the second.
func (r *Rounds) Round() int {
	if r.second {
		return 1
	}
	return 0
}

// NeedsCall reports whether a hook has to be called. The second round calls only hooks that the first one called.
func (r *Rounds) NeedsCall(uid string) bool { return !r.second || r.must.Has(uid) }

func (r *Rounds) require() {
	r.must = r.must.Union(r.may)
	r.may = sets.New[string]()
}

// RecordChange records that a hook changed the object: all plugins run again.
func (r *Rounds) RecordChange() {
	r.require()
	r.context.SetShouldReinvoke()
}

// RecordCall records the call of a hook that wants to be called again if the object changes.
func (r *Rounds) RecordCall(uid string) { r.may.Insert(uid) }

// Leave keeps a copy of the object, for the comparison at the start of the second round.
func (r *Rounds) Leave(obj runtime.Object) {
	if len(r.may) > 0 && obj != nil {
		r.left = obj.DeepCopyObject()
	}
}

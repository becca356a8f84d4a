package match

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
)

// Repeated is what those who mutate leave of one write for the second time that they are asked. There is one if somebody changed the object
// after one with the reinvocationPolicy IfNeeded was asked.
type Repeated struct {
	context admission.ReinvocationContext
	second  bool
	// may are those who may be asked again, if something changes, and must those that are to be.
	may, must sets.Set[string]
	// left is the object as they left it.
	left runtime.Object
}

// RepeatedOf returns that of a plugin for a write, which is kept with its attributes.
func RepeatedOf(a admission.Attributes, plugin string) *Repeated {
	r, ok := a.GetReinvocationContext().Value(plugin).(*Repeated)
	if !ok {
		r = &Repeated{context: a.GetReinvocationContext(), may: sets.New[string](), must: sets.New[string]()}
		r.context.SetValue(plugin, r)
	}
	r.second = r.context.IsReinvoke()
	if r.second && len(r.may) > 0 && !apiequality.Semantic.DeepEqual(r.left, a.GetObject()) {
		r.require()
	}
	return r
}

// Round counts the times before this one.
func (r *Repeated) Round() int {
	if r.second {
		return 1
	}
	return 0
}

// Wanted says whether one is to be asked. The second time, nobody is asked for the first time.
func (r *Repeated) Wanted(uid string) bool { return !r.second || r.must.Has(uid) }

func (r *Repeated) require() {
	r.must = r.must.Union(r.may)
	r.may = sets.New[string]()
}

// Changed says that one changed the object: all plugins are asked again.
func (r *Repeated) Changed() {
	r.require()
	r.context.SetShouldReinvoke()
}

// Asked says that one was asked who wants to be asked again if the object changes.
func (r *Repeated) Asked(uid string) { r.may.Insert(uid) }

// Leave remembers the object.
func (r *Repeated) Leave(obj runtime.Object) {
	if len(r.may) > 0 && obj != nil {
		r.left = obj.DeepCopyObject()
	}
}

package subject

import (
	"slices"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Names are the names that filters can ask for in journeys of another version of kx.
type Names struct {
	known filter.Vocabulary
	more  map[string][]string // by the fields of filters
}

// NewNames returns the names that this version knows.
func NewNames(known filter.Vocabulary) *Names { return &Names{known, map[string][]string{}} }

// mostNames bounds how many names of a field are kept. A capture is whatever file a user opens.
const mostNames = 4096

// Add adds the names that a journey has.
func (n *Names) Add(j *v1alpha1.Journey) {
	n.keep("verb", j.Spec.Verb)
	n.keep("method", j.Spec.Method)
	for i := range j.Status.Steps {
		step := &j.Status.Steps[i]
		n.keep("step", step.ID)
		n.keep("layer", step.Layer)
		if step.Reason != nil {
			n.keep("reason", step.Reason.Kind)
		}
	}
}

func (n *Names) keep(field, name string) {
	more := n.more[field]
	if name != "" && len(more) < mostNames && !slices.Contains(n.known(field), name) && !slices.Contains(more, name) {
		n.more[field] = append(more, name)
	}
}

// List are the names of this version, and those that were added.
func (n *Names) List(field string) []string { return slices.Concat(n.known(field), n.more[field]) }

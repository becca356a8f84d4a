package subject

import (
	"slices"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

// Names are the names in journeys of another version of kx that this version lacks, by the fields of filters.
type Names map[string][]string

// mostNames bounds how many names of a field are kept. A capture is whatever file a user opens.
const mostNames = 4096

// Add adds the names that a journey has.
func (n Names) Add(j *v1alpha1.Journey) {
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

func (n Names) keep(field, name string) {
	if name != "" && len(n[field]) < mostNames && !slices.Contains(trace.Known(field), name) && !slices.Contains(n[field], name) {
		n[field] = append(n[field], name)
	}
}

// Known are the names of this version, and those that were added.
func (n Names) Known(field string) []string { return slices.Concat(trace.Known(field), n[field]) }

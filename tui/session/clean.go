package session

import (
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// clean cleans every text of a journey for a terminal. Objects stay as they are: they are parsed as JSON first.
func clean(j *v1alpha1.Journey) {
	j.ManagedFields, j.Labels, j.Annotations = nil, nil, nil // nothing of them is shown
	j.Texts(draw.Clean)
	for i := range j.Status.Steps {
		if step := &j.Status.Steps[i]; step.Parent >= int32(i) {
			step.Parent = -1 // a step begins after the one that called it
		}
	}
}

package session

import (
	"slices"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Clean cleans every text of a journey for a terminal, and takes out indexes of steps that can't be. Objects stay as
// they are: they are parsed as JSON first. A session cleans the journeys that it returns. The answer to a command is a
// journey too, and needs it as well.
func Clean(j *v1alpha1.Journey) {
	j.ManagedFields, j.Labels, j.Annotations = nil, nil, nil // nothing of them is shown
	j.Texts(draw.Clean)
	j.Status.Held = slices.DeleteFunc(j.Status.Held, func(h v1alpha1.HeldStep) bool { return h.Step < 0 })
	for i := range j.Status.Steps {
		if step := &j.Status.Steps[i]; step.Parent >= int32(i) {
			step.Parent = -1 // a step begins after the one that called it
		}
	}
}

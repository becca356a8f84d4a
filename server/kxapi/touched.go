package kxapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

// touchedOf records in a journey's status the present and past interventions in the request.
func touchedOf(status *v1alpha1.JourneyStatus, r *trace.Record) {
	status.HeldMicros = r.HeldFor.Microseconds()
	for _, h := range r.Held {
		status.Held = append(status.Held, v1alpha1.HeldStep{
			Step: int32(h.Step), ID: h.ID.String(), At: edge(h.AtEnd), By: h.Rule,
			Since: metav1.NewMicroTime(h.Since), Actions: actionsOf(h),
		})
	}
	for _, kind := range r.Touched.Kinds() {
		status.Touched = append(status.Touched, kind.String())
	}
	for _, i := range r.Interventions {
		status.Interventions = append(status.Interventions, v1alpha1.Intervention{
			Kind: i.Kind.String(), Step: int32(i.Step), At: edge(i.AtEnd), By: i.Rule, User: i.By, Message: i.Text,
			StartMicros: i.At.Microseconds(), TookMicros: i.Took.Microseconds(),
		})
	}
}

func edge(end bool) v1alpha1.StepEdge {
	if end {
		return v1alpha1.AtEnd
	}
	return v1alpha1.AtStart
}

// actionsOf returns the commands that a held step accepts.
func actionsOf(h trace.HeldStep) []v1alpha1.JourneyAction {
	actions := []v1alpha1.JourneyAction{
		v1alpha1.ActionNext, v1alpha1.ActionInto, v1alpha1.ActionOut, v1alpha1.ActionContinue, v1alpha1.ActionDelay,
	}
	if h.Fails {
		actions = append(actions, v1alpha1.ActionFail)
	}
	if h.Edits {
		actions = append(actions, v1alpha1.ActionEdit)
	}
	return actions
}

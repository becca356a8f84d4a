package admission

import (
	"context"

	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/core/trace"
)

// recorded gives a plugin its own step in journeys, so that a field's change can be attributed to it.
type recorded struct {
	name string
	admission.MutationInterface
}

func (r recorded) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) (err error) {
	ctx, step := trace.Start(ctx, trace.HandlerAdmit, r.name)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return err
	}
	before := a.GetObject()
	if before != nil {
		step.Before(before)
	}
	if err := r.MutationInterface.Admit(ctx, a, o); err != nil {
		return err
	}
	if before != nil {
		step.After(a.GetObject())
	}
	return nil
}

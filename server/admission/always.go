package admission

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// alwaysAdmit is about no write at all.
func alwaysAdmit(*plugin.Kit) plugin.Plugin { return plugin.Plugin{} }

// alwaysDeny refuses all writes, so that clients can be tried on a server that takes nothing.
func alwaysDeny(*plugin.Kit) plugin.Plugin {
	refuse := func(_ context.Context, w plugin.Write) error {
		return admission.NewForbidden(w, errors.New("admission control is denying all modifications"))
	}
	return plugin.Plugin{
		Operations: []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect},
		Admit:      refuse, Validate: refuse,
	}
}

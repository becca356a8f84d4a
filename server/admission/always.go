package admission

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// alwaysAdmit handles no operation, so it admits every write.
func alwaysAdmit(*plugin.Kit) plugin.Plugin { return plugin.Plugin{} }

// alwaysDeny refuses every write. With it, users can test how clients behave when a server refuses them.
func alwaysDeny(*plugin.Kit) plugin.Plugin {
	refuse := func(_ context.Context, w plugin.Write) error {
		return admission.NewForbidden(w, errors.New("admission control is denying all modifications"))
	}
	return plugin.Plugin{
		Operations: []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect},
		ReadOnly:   true,
		Admit:      refuse, Validate: refuse,
	}
}

package audit

import (
	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"github.com/kx-apiserver/kx/core/mask"
)

// maskEvent returns a copy of an event without tokens; other code may still use the original. If the policy excludes
// bodies, the copy also lacks the parts of errors that quote them.
func maskEvent(e *auditinternal.Event) *auditinternal.Event {
	out := *e
	out.RequestURI = mask.URI(e.RequestURI)
	if e.Level == auditinternal.LevelMetadata && e.ResponseStatus != nil && confidential(e.ObjectRef) {
		out.ResponseStatus = mask.Status(e.ResponseStatus)
	}
	return &out
}

func confidential(of *auditinternal.ObjectReference) bool {
	return of != nil && mask.Confidential(mask.Request{Group: of.APIGroup, Resource: of.Resource, Subresource: of.Subresource})
}

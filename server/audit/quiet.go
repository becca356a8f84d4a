package audit

import (
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"

	"github.com/kx-apiserver/kx/core/mask"
)

// quiet is a sink that masks a copy of each event before the next sink writes it. Others may still use the event itself.
type quiet struct{ next audit.Sink }

func (q quiet) ProcessEvents(events ...*auditinternal.Event) bool {
	masked := make([]*auditinternal.Event, len(events))
	for i, e := range events {
		masked[i] = maskEvent(e)
	}
	return q.next.ProcessEvents(masked...)
}

// maskEvent returns an event without tokens. Where the policy wants no bodies, it also removes what errors quote of them.
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

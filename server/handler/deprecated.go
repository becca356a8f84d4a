package handler

import (
	"context"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"
)

// Deprecation says that clients should use something else. The zero value says that they need not.
type Deprecation struct {
	// Warning is what the client is told.
	Warning string
	// RemovedRelease is the Kubernetes release that does not have it any more; empty if there is none.
	RemovedRelease string
}

// Tell tells the client, and the audit log.
func (d Deprecation) Tell(ctx context.Context) {
	if d.Warning == "" {
		return
	}
	warning.AddWarning(ctx, "", d.Warning)
	audit.AddAuditAnnotation(ctx, "k8s.io/deprecated", "true")
	if d.RemovedRelease != "" {
		audit.AddAuditAnnotation(ctx, "k8s.io/removed-release", d.RemovedRelease)
	}
}

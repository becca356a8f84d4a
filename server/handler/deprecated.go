package handler

import (
	"context"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/server/metrics"
)

// Deprecation says that clients should use something else. The zero value says that they need not.
type Deprecation struct {
	// Warning is what the client is told.
	Warning string
	// RemovedRelease is the Kubernetes release that does not have it any more; empty if there is none.
	RemovedRelease string
}

// Tell tells the client, the audit log, and the metrics, which are nil for none.
func (d Deprecation) Tell(ctx context.Context, m *metrics.Metrics) {
	if d.Warning == "" {
		return
	}
	warning.AddWarning(ctx, "", d.Warning)
	audit.AddAuditAnnotation(ctx, "k8s.io/deprecated", "true")
	if d.RemovedRelease != "" {
		audit.AddAuditAnnotation(ctx, "k8s.io/removed-release", d.RemovedRelease)
	}
	if info, ok := request.RequestInfoFrom(ctx); ok {
		m.Deprecated(info, d.RemovedRelease)
	}
}

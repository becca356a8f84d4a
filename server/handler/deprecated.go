package handler

import (
	"context"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/server/metrics"
)

// Deprecation describes the deprecation of a kind. The zero value means that it is not deprecated.
type Deprecation struct {
	// Warning is the text of the client's warning.
	Warning string
	// RemovedRelease is the first Kubernetes release without the kind; empty if none is planned.
	RemovedRelease string
}

// Tell adds the deprecation to the client's warnings, the audit event, and the metrics, which may be nil.
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
		m.CountDeprecated(info, d.RemovedRelease)
	}
}

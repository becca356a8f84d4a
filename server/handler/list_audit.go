package handler

import (
	"context"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"

	"github.com/kx-apiserver/kx/core/object"
)

// maxAuditedBytes limits the lists in the audit log, by the stored size of their items.
const maxAuditedBytes = 1 << 20

// truncatedAnnotation marks an audit event whose object was left out, as upstream's truncating backend does.
const truncatedAnnotation = "audit.k8s.io/truncated"

// audit adds the list to the audit event, if the policy asks for responses. An event holds its list in memory as a
// whole, so a long list is left out, and an annotation says so.
func (a *listAnswer) audit(ctx context.Context) error {
	if !auditsAnswers(ctx) {
		return nil
	}
	short, err := isShort(ctx, a.list)
	if err != nil {
		return err
	}
	if !short {
		audit.AddAuditAnnotation(ctx, truncatedAnnotation, "true")
		return nil
	}
	whole, err := a.list.Object(ctx)
	if err != nil {
		return err
	}
	obj, err := doTransformObject(ctx, whole.DeepCopyObject(), a.options, a.mediaType.Convert, a.scope)
	if err != nil {
		return err
	}
	kind, codecs := targetEncodingForTransform(a.scope, a.mediaType)
	audit.LogResponseObject(ctx, obj, kind.GroupVersion(), codecs)
	return nil
}

// auditsAnswers reports whether the audit event includes the response.
func auditsAnswers(ctx context.Context) bool {
	ac := audit.AuditContextFrom(ctx)
	return ac != nil && !ac.GetEventLevel().Less(auditinternal.LevelRequestResponse)
}

// isShort stops at the item that exceeds maxAuditedBytes.
func isShort(ctx context.Context, list *object.List) (bool, error) {
	size := 0
	for item, err := range list.Items(ctx) {
		if err != nil {
			return false, err
		}
		if size += object.SizeOf(item); size > maxAuditedBytes {
			return false, nil
		}
	}
	return true, nil
}

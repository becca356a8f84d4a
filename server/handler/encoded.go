package handler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
)

// takeEncoded says in ctx that this request takes encoded objects: it does not convert them.
func (scope *RequestScope) takeEncoded(ctx context.Context) context.Context {
	if scope.HubGroupVersion != scope.Kind.GroupVersion() {
		return ctx
	}
	return rest.WithEncoded(ctx)
}

// describeEncoded tells step where the bytes of the response come from, and shows it the object if it shows objects.
func describeEncoded(step *trace.Step, obj runtime.Object, encoder runtime.Encoder) {
	switch obj := obj.(type) {
	case *object.Encoded:
		if obj.Has(encoder.Identifier()) {
			step.Why("bytes that were there: nothing is encoded")
		} else {
			step.Why("nobody has had the object in this form before: encoded, and the bytes kept with it")
		}
		step.After(obj)
	case *object.List:
		there, id := 0, encoder.Identifier()
		for _, item := range obj.Items {
			if item.Has(id) {
				there++
			}
		}
		if there == len(obj.Items) {
			step.Why("bytes that were there, of all items: nothing is encoded")
		} else {
			step.Whyf("bytes that were there, of %d of %d items: the others are encoded, and the bytes kept with them", there, len(obj.Items))
		}
	}
}

// auditable is what the audit log is shown of a response. It takes parts away from objects that it writes down, so it gets
// its own.
func auditable(ctx context.Context, obj runtime.Object) runtime.Object {
	encoded, ok := obj.(runtime.CacheableObject)
	if !ok {
		return obj
	}
	if ac := audit.AuditContextFrom(ctx); ac == nil || ac.GetEventLevel().Less(auditinternal.LevelRequestResponse) {
		return obj
	}
	return encoded.GetObject()
}

// decoded is what obj stands for, for who wants to know of which type that is.
func decoded(obj runtime.Object) runtime.Object {
	if encoded, ok := obj.(runtime.CacheableObject); ok {
		return encoded.GetObject()
	}
	return obj
}

package handler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

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
	encoded, ok := obj.(*object.Encoded)
	if !ok {
		return
	}
	if encoded.Has(encoder.Identifier()) {
		step.Why("bytes that were there: nothing is encoded")
	} else {
		step.Why("nobody has had the object in this form before: encoded, and the bytes kept with it")
	}
	step.After(encoded)
}

// auditable is what the audit log is shown of a response. It takes parts away from objects that it writes down, so it gets
// its own.
func auditable(ctx context.Context, obj runtime.Object) runtime.Object {
	encoded, ok := obj.(runtime.CacheableObject)
	if !ok {
		return obj
	}
	if !auditsAnswers(ctx) {
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

package handler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
)

// describeEncoded tells step where the bytes of the response come from, and shows it the object if it shows objects.
func describeEncoded(step *trace.Step, obj runtime.Object, encoder runtime.Encoder) {
	encoded, ok := obj.(*object.Encoded)
	if !ok {
		return
	}
	if encoded.Has(encoder.Identifier()) {
		step.Why(trace.BytesReused)
	} else {
		step.Why(trace.BytesMade)
	}
	step.After(encoded)
}

// auditable returns the object that the audit log gets of a response: a copy, since the log removes parts of it.
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

// decoded returns the object behind obj, whose type tells what it is.
func decoded(obj runtime.Object) runtime.Object {
	if encoded, ok := obj.(runtime.CacheableObject); ok {
		return encoded.GetObject()
	}
	return obj
}

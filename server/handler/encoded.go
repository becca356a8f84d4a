package handler

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
)

var (
	bytesReused = trace.Because("bytes-reused",
		"the bytes were there: nothing is encoded",
		"已有编码好的字节，不再编码")
	bytesMade = trace.Because("bytes-made",
		"nobody has had the object in this form before: it is encoded, and the bytes are kept with it",
		"这种形式的对象还没有人要过：编码一次，并随对象保留字节")
)

// describeEncoded adds the origin of the response's bytes to step, and the object if step records objects.
func describeEncoded(step *trace.Step, obj runtime.Object, encoder runtime.Encoder) {
	encoded, ok := obj.(*object.Encoded)
	if !ok {
		return
	}
	if encoded.Has(encoder.Identifier()) {
		step.Why(bytesReused)
	} else {
		step.Why(bytesMade)
	}
	step.After(encoded)
}

// auditable returns the object for the audit log: a copy, since the log removes parts of it.
func auditable(ctx context.Context, obj runtime.Object) runtime.Object {
	if !auditsAnswers(ctx) {
		return obj
	}
	switch obj := obj.(type) {
	case runtime.CacheableObject:
		return obj.GetObject()
	case *metav1.Table:
		return auditableTable(obj)
	}
	return obj
}

// auditableTable returns a table whose rows hold objects instead of bytes, so that the log can remove parts of them.
func auditableTable(table *metav1.Table) *metav1.Table {
	out := *table
	out.Rows = slices.Clone(table.Rows)
	for i := range out.Rows {
		row := &out.Rows[i].Object
		partial := &metav1.PartialObjectMetadata{}
		if row.Raw != nil && json.Unmarshal(row.Raw, partial) == nil {
			*row = runtime.RawExtension{Object: partial}
		}
	}
	return &out
}

// decoded returns the object that obj wraps, or obj itself.
func decoded(obj runtime.Object) runtime.Object {
	if encoded, ok := obj.(runtime.CacheableObject); ok {
		return encoded.GetObject()
	}
	return obj
}

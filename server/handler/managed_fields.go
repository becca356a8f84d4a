package handler

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// managerOrUserAgent returns the field manager of a write: the name that the client gives, or else the product at the
// beginning of its User-Agent, without unprintable characters and cut to the longest name allowed.
func managerOrUserAgent(manager, userAgent string) string {
	if manager != "" {
		return manager
	}
	product, _, _ := strings.Cut(userAgent, "/")
	var name strings.Builder
	for _, r := range product {
		if !unicode.IsPrint(r) {
			continue
		}
		if name.Len()+utf8.RuneLen(r) > validation.FieldManagerMaxLength {
			break
		}
		name.WriteRune(r)
	}
	return name.String()
}

// updateManagedFields records in obj, which replaces live, that manager owns the changed fields. live is empty if the
// object does not exist yet.
func updateManagedFields(ctx context.Context, scope *RequestScope, live, obj runtime.Object, manager string) (_ runtime.Object, err error) {
	if err := scope.checkFields(live, obj); err != nil {
		return nil, err
	}
	if scope.FieldManager == nil {
		return obj, nil
	}
	if err := checkForeignOwned(live, obj); err != nil {
		return nil, err
	}
	if _, err := meta.Accessor(obj); err != nil {
		return obj, nil // nothing to keep it in
	}
	if err := ctx.Err(); err != nil {
		return nil, requestTimedOut(err)
	}
	_, step := trace.Start(ctx, steps.HandlerManagedFields, manager)
	defer step.End(&err)
	step.Before(obj)
	if obj, err = updateOwners(scope, live, obj, manager); err != nil {
		return nil, err
	}
	forgetKind(live)
	forgetKind(obj)
	step.After(obj)
	if step.Recording() && !step.Confidential() {
		sayOwners(step, live, obj, managerKey{manager, metav1.ManagedFieldsOperationUpdate, scope.Subresource})
	}
	if err := ctx.Err(); err != nil {
		return nil, requestTimedOut(err)
	}
	return obj, nil
}

// updateOwners keeps live's owners if they can't be updated: the library can't parse an object that violates its
// schema, and validation will refuse that object later. It drops the library's error, which may quote any value of the
// object.
func updateOwners(scope *RequestScope, live, obj runtime.Object, manager string) (updated runtime.Object, err error) {
	defer refuseUndecodable(&err)
	updated, err = scope.FieldManager.Update(live, obj, manager)
	if err == nil {
		return updated, nil
	}
	if m, metaErr := meta.Accessor(obj); metaErr == nil {
		m.SetManagedFields(managedFieldsOf(live))
	}
	return obj, nil
}

// refuseUndecodable turns a panic of the library into an error. The library panics at an embedded object with a value
// that it can't decode, such as a number that no float64 can hold. Such an object must not be stored: clients without
// Go types could not decode it either.
func refuseUndecodable(err *error) {
	reason := recover()
	if reason == nil {
		return
	}
	if cause, ok := reason.(error); !ok || !strings.HasPrefix(cause.Error(), "error decoding ") {
		panic(reason)
	}
	*err = apierrors.NewBadRequest("an embedded object has a value that can not be decoded: a number may be out of range")
}

// newLiveObject returns an empty object, which stands for one that does not exist yet.
func newLiveObject(scope *RequestScope) (runtime.Object, error) {
	obj, err := scope.Creater.New(scope.Kind)
	if err != nil {
		return nil, fmt.Errorf("failed to create new object (Create for %v): %w", scope.Kind, err)
	}
	return obj, nil
}

// forgetKind clears apiVersion and kind of an object that has a Go type: for rest, the type identifies them.
func forgetKind(obj runtime.Object) {
	if _, ok := obj.(runtime.Unstructured); !ok {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

const invalidManagedFieldsFormat = ".metadata.managedFields was in an invalid state after admission; " +
	"this could be caused by an outdated mutating admission controller; please fix your requests: %v"

// keepManagedFieldsValid runs admit. If admit leaves invalid managedFields in obj, it restores the old ones.
func keepManagedFieldsValid(ctx context.Context, obj runtime.Object, admit func() error) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return admit()
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return keepUnstructuredValid(ctx, u, admit)
	}
	entries := slices.Clone(m.GetManagedFields())
	if err := admit(); err != nil {
		return err
	}
	keepValid(ctx, m, entries)
	return nil
}

// keepUnstructuredValid decodes the managedFields only if admit has changed them: decoding costs more than everything
// else here.
func keepUnstructuredValid(ctx context.Context, u *unstructured.Unstructured, admit func() error) error {
	before := runtime.DeepCopyJSONValue(unstructuredManagedFields(u))
	if err := admit(); err != nil {
		return err
	}
	if object.EqualJSON(unstructuredManagedFields(u), before) {
		return nil
	}
	was := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": before}}}
	keepValid(ctx, u, was.GetManagedFields())
	return nil
}

// unstructuredManagedFields returns nil if there are none.
func unstructuredManagedFields(u *unstructured.Unstructured) any {
	metadata, _ := u.Object["metadata"].(map[string]any)
	return metadata["managedFields"]
}

// keepValid restores entries if m's managedFields are invalid now.
func keepValid(ctx context.Context, m metav1.Object, entries []metav1.ManagedFieldsEntry) {
	after := m.GetManagedFields()
	if slices.EqualFunc(after, entries, sameEntry) {
		return
	}
	if err := managedfields.ValidateManagedFields(after); err != nil {
		m.SetManagedFields(entries)
		warning.AddWarning(ctx, "", fmt.Sprintf(invalidManagedFieldsFormat, err))
	}
}

// sameEntry reports whether a and b are equal except for their times.
func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion &&
		a.Subresource == b.Subresource && a.FieldsType == b.FieldsType && bytes.Equal(rawFields(a), rawFields(b))
}

// rawFields returns memory that may belong to e.
func rawFields(e metav1.ManagedFieldsEntry) []byte {
	if e.FieldsV1 == nil {
		return nil
	}
	return e.FieldsV1.GetRawBytes()
}

// tooLargeWithManagedFields reports whether etcd refused an object as too large that would be smaller without
// managedFields. Clients can do without them.
func tooLargeWithManagedFields(scope *RequestScope, err error) bool {
	return scope.FieldManager != nil && apierrors.IsRequestEntityTooLargeError(err)
}

// dropManagedFields clears obj's managedFields. It returns false if obj can't have any.
func dropManagedFields(obj runtime.Object) bool {
	m, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	m.SetManagedFields(nil)
	return true
}

package handler

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
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

	"github.com/kx-apiserver/kx/core/trace"
)

// managerOrUserAgent is in whose name a write manages fields: what the client calls itself for the purpose or, as far as
// it may be printed and kept, the product that its User-Agent begins with.
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

// updateManagedFields notes in obj, which is going to replace live, that manager owns what it changes. An object that
// does not exist yet has an empty live.
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
	_, step := trace.Start(ctx, trace.HandlerManagedFields, manager)
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

// updateOwners leaves the owners as they are in live if they can't be updated: an object can't be taken apart that its
// schema is about to refuse. The error is not told: it may have each value of the object.
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

// refuseUndecodable makes an error of the library's panic about an embedded object with a value that it can't decode, such as a number
// that no float64 can hold. Such an object must not be stored: clients without Go types could not decode it either.
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

// newLiveObject stands for an object that does not exist yet.
func newLiveObject(scope *RequestScope) (runtime.Object, error) {
	obj, err := scope.Creater.New(scope.Kind)
	if err != nil {
		return nil, fmt.Errorf("failed to create new object (Create for %v): %w", scope.Kind, err)
	}
	return obj, nil
}

// forgetKind takes apiVersion and kind away from an object that has a Go type: on the way to rest, the type says it all.
func forgetKind(obj runtime.Object) {
	if _, ok := obj.(runtime.Unstructured); !ok {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

const invalidManagedFieldsFormat = ".metadata.managedFields was in an invalid state after admission; " +
	"this could be caused by an outdated mutating admission controller; please fix your requests: %v"

// keepManagedFieldsValid runs admit, and brings managedFields back if it leaves invalid ones in obj.
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

// keepUnstructuredValid makes entries of the managedFields only if they have changed: that costs more than all else here.
func keepUnstructuredValid(ctx context.Context, u *unstructured.Unstructured, admit func() error) error {
	before := runtime.DeepCopyJSONValue(unstructuredManagedFields(u))
	if err := admit(); err != nil {
		return err
	}
	if reflect.DeepEqual(unstructuredManagedFields(u), before) {
		return nil
	}
	was := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": before}}}
	keepValid(ctx, u, was.GetManagedFields())
	return nil
}

// unstructuredManagedFields is nil if there are none.
func unstructuredManagedFields(u *unstructured.Unstructured) any {
	metadata, _ := u.Object["metadata"].(map[string]any)
	return metadata["managedFields"]
}

// keepValid brings entries back if m has invalid ones now.
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

// sameEntry says whether a is b but for its time.
func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion &&
		a.Subresource == b.Subresource && a.FieldsType == b.FieldsType && bytes.Equal(rawFields(a), rawFields(b))
}

// rawFields may share memory with e.
func rawFields(e metav1.ManagedFieldsEntry) []byte {
	if e.FieldsV1 == nil {
		return nil
	}
	return e.FieldsV1.GetRawBytes()
}

// tooLargeWithManagedFields says whether err is etcd's refusal of something too large that would be smaller without
// managedFields. They are what an object can do without.
func tooLargeWithManagedFields(scope *RequestScope, err error) bool {
	return scope.FieldManager != nil && apierrors.IsRequestEntityTooLargeError(err)
}

// dropManagedFields takes obj's managedFields away, and says whether it can have any.
func dropManagedFields(obj runtime.Object) bool {
	m, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	m.SetManagedFields(nil)
	return true
}

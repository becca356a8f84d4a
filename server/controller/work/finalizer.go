package work

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LacksFinalizer reports whether an object that is not being deleted lacks a finalizer.
func LacksFinalizer(obj metav1.Object, finalizer string) bool {
	return obj.GetDeletionTimestamp() == nil && !slices.Contains(obj.GetFinalizers(), finalizer)
}

// WaitsForFinalizer reports whether an object that is being deleted has a finalizer.
func WaitsForFinalizer(obj metav1.Object, finalizer string) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), finalizer)
}

// AddFinalizer adds a finalizer if it is missing.
func AddFinalizer(obj metav1.Object, finalizer string) bool {
	if !LacksFinalizer(obj, finalizer) {
		return false
	}
	obj.SetFinalizers(append(obj.GetFinalizers(), finalizer))
	return true
}

// RemoveFinalizer removes a finalizer from an object that is being deleted.
func RemoveFinalizer(obj metav1.Object, finalizer string) bool {
	if !WaitsForFinalizer(obj, finalizer) {
		return false
	}
	obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(other string) bool { return other == finalizer }))
	return true
}

package registry

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
)

// ignoreManagedFieldsTimestamps sets the times in obj's managedFields back to old's if nothing else differs.
// Otherwise a client that applies an unchanged object would cause a write, and an event at every watcher, only for a
// time.
func ignoreManagedFieldsTimestamps(obj, old runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("failed to acquire accessor for newObj: %v", err)
	}
	oldMeta, err := meta.Accessor(old)
	if err != nil {
		return fmt.Errorf("failed to acquire accessor for oldObj: %v", err)
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if was, ok := old.(*unstructured.Unstructured); ok {
			ignoreUnstructuredTimestamps(u, was)
			return nil
		}
	}
	fields, oldFields := m.GetManagedFields(), oldMeta.GetManagedFields()
	if !onlyTimesDiffer(fields, oldFields) {
		return nil
	}
	m.SetManagedFields(withTimesOf(fields, oldFields))
	if !equalObjects(obj, old) {
		m.SetManagedFields(fields)
	}
	return nil
}

// onlyTimesDiffer says whether a and b are of the same managers and fields, and at least one time differs.
func onlyTimesDiffer(a, b []metav1.ManagedFieldsEntry) bool {
	if len(a) != len(b) {
		return false
	}
	differ := false
	for i := range a {
		differ = differ || !a[i].Time.Equal(b[i].Time)
	}
	return differ && equality.Semantic.DeepEqual(withTimesOf(a, b), b)
}

// withTimesOf is a copy of entries with the times of others.
func withTimesOf(entries, others []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	out := make([]metav1.ManagedFieldsEntry, len(entries))
	for i := range entries {
		out[i] = entries[i]
		out[i].Time = others[i].Time
	}
	return out
}

// ignoreUnstructuredTimestamps does not make entries of the managedFields: that would cost more than all else here.
func ignoreUnstructuredTimestamps(obj, old *unstructured.Unstructured) {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	oldMetadata, _ := old.Object["metadata"].(map[string]any)
	fields, _ := metadata["managedFields"].([]any)
	oldFields, _ := oldMetadata["managedFields"].([]any)
	if !onlyTimesOfEntriesDiffer(fields, oldFields) {
		return
	}
	metadata["managedFields"] = oldFields
	if !equalObjects(obj, old) {
		metadata["managedFields"] = fields
	}
}

// onlyTimesOfEntriesDiffer is onlyTimesDiffer for entries as they are stored.
func onlyTimesOfEntriesDiffer(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	differ := false
	for i := range a {
		entry, _ := a[i].(map[string]any)
		other, _ := b[i].(map[string]any)
		if entry == nil || len(entry) != len(other) {
			return false
		}
		for name, value := range entry {
			switch same := object.EqualJSON(value, other[name]); {
			case name == "time":
				differ = differ || !same
			case !same:
				return false
			}
		}
	}
	return differ
}

// equalObjects compares as much as the disk would show: in an unstructured object an empty list is not a missing one.
func equalObjects(a, b runtime.Object) bool {
	if _, ok := a.(*unstructured.Unstructured); ok {
		return equality.Semantic.DeepEqualWithNilDifferentFromEmpty(a, b)
	}
	return equality.Semantic.DeepEqual(a, b)
}

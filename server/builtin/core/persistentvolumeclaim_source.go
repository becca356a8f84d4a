package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// Two fields of a claim name the source of the volume's data: dataSource, for old clients, takes a claim or a
// snapshot; dataSourceRef takes any object. The server keeps them equal.

// prepareSources drops sources that older servers ignored, and completes the others. old is nil for a new claim.
func prepareSources(spec, old *corev1.PersistentVolumeClaimSpec) {
	ref := spec.DataSourceRef
	if ref != nil && ptr.Deref(ref.Namespace, "") != "" && (old == nil || old.DataSourceRef == nil) {
		// Sources in other namespaces belong to a feature that is off by default.
		spec.DataSourceRef = nil
	}
	had := old != nil && (old.DataSource != nil || old.DataSourceRef != nil)
	if !had && spec.DataSourceRef == nil && spec.DataSource != nil && !isOldSource(spec.DataSource) {
		spec.DataSource = nil
	}
	completeSpec(spec)
}

func isOldSource(source *corev1.TypedLocalObjectReference) bool {
	switch ptr.Deref(source.APIGroup, "") {
	case "":
		return source.Kind == "PersistentVolumeClaim"
	case "snapshot.storage.k8s.io":
		return source.Kind == "VolumeSnapshot"
	}
	return false
}

// completeSpec copies the source to the field that lacks it.
func completeSpec(spec *corev1.PersistentVolumeClaimSpec) {
	source, ref := spec.DataSource, spec.DataSourceRef
	switch {
	case source != nil && ref == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: copyOf(source.APIGroup), Kind: source.Kind, Name: source.Name}
	case source == nil && ref != nil && ptr.Deref(ref.Namespace, "") == "":
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: copyOf(ref.APIGroup), Kind: ref.Kind, Name: ref.Name}
	}
}

func copyOf(group *string) *string {
	if group == nil {
		return nil
	}
	return ptr.To(*group)
}

// completeSources completes claims that were stored with only one of the fields.
func completeSources(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		completeSpec(&o.Spec)
	case *corev1.PersistentVolumeClaimList:
		for i := range o.Items {
			completeSpec(&o.Items[i].Spec)
		}
	}
}

package flowcontrol

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mandatory returns the object of a name among objects whose spec is fixed, or nil.
func mandatory[T metav1.Object](objects []T, name string) (mandatory T) {
	if i := slices.IndexFunc(objects, func(obj T) bool { return obj.GetName() == name }); i >= 0 {
		return objects[i]
	}
	return mandatory
}

// keepMeta restores the metadata in an update of the status, except managedFields.
func keepMeta(m, old *metav1.ObjectMeta) {
	managed := m.ManagedFields
	*m = *old
	m.ManagedFields = managed
}

// ValidateConditions requires that every condition has a type, and that types are unique.
func ValidateConditions[C any](conditions []C, typeOf func(*C) string) (errs field.ErrorList) {
	seen := sets.New[string]()
	for i := range conditions {
		name, path := typeOf(&conditions[i]), field.NewPath("status", "conditions").Index(i).Child("type")
		if seen.Has(name) {
			errs = append(errs, field.Duplicate(path, name))
		}
		seen.Insert(name)
		if name == "" {
			errs = append(errs, field.Required(path, ""))
		}
	}
	return errs
}

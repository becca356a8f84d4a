package builtin

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateObjectMeta checks the metadata of a new object. Unlike custom resources', the finalizers of built-in ones must be
// known or have a domain.
func ValidateObjectMeta(m *metav1.ObjectMeta, namespaced bool, name validation.ValidateNameFunc) field.ErrorList {
	path := field.NewPath("metadata")
	errs := validation.ValidateObjectMeta(m, namespaced, name, path)
	for i, f := range m.Finalizers {
		errs = append(errs, validateKnownFinalizer(f, path.Child("finalizers").Index(i))...)
	}
	return errs
}

// ValidateObjectMetaUpdate checks the metadata of a changed object against what it was.
func ValidateObjectMetaUpdate(m, old *metav1.ObjectMeta) field.ErrorList {
	return validation.ValidateObjectMetaUpdate(m, old, field.NewPath("metadata"))
}

// ValidateFinalizer checks one finalizer's name.
func ValidateFinalizer(name string, path *field.Path) field.ErrorList {
	return append(validation.ValidateFinalizerName(name, path), validateKnownFinalizer(name, path)...)
}

func validateKnownFinalizer(name string, path *field.Path) field.ErrorList {
	switch name {
	case "kubernetes", metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
		return nil
	}
	if strings.Contains(name, "/") {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")}
}

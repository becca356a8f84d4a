package core

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

func validateNamespace(ns *corev1.Namespace) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&ns.ObjectMeta, false, apivalidation.NameIsDNSLabel)
	for _, f := range ns.Spec.Finalizers {
		errs = append(errs, builtin.ValidateFinalizer(string(f), field.NewPath("spec", "finalizers"))...)
	}
	return errs
}

func validateNamespaceUpdate(ns, old *corev1.Namespace) field.ErrorList {
	return append(validateNamespace(ns), builtin.ValidateObjectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta)...)
}

func validateNamespaceStatusUpdate(ns, old *corev1.Namespace) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status", "Phase")
	switch {
	case ns.DeletionTimestamp.IsZero() && ns.Status.Phase != corev1.NamespaceActive:
		errs = append(errs, field.Invalid(path, ns.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty"))
	case !ns.DeletionTimestamp.IsZero() && ns.Status.Phase != corev1.NamespaceTerminating:
		errs = append(errs, field.Invalid(path, ns.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
	}
	return errs
}

func validateFinalizeUpdate(ns, old *corev1.Namespace) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta)
	for i, f := range ns.Spec.Finalizers {
		errs = append(errs, builtin.ValidateFinalizer(string(f), field.NewPath("spec", "finalizers").Index(i))...)
	}
	return errs
}

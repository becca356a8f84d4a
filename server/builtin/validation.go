package builtin

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// ValidateObjectMeta checks the metadata of a new object. The finalizers of built-in resources must be well-known or
// have a domain; those of custom resources need not.
func ValidateObjectMeta(m *metav1.ObjectMeta, namespaced bool, name validation.ValidateNameFunc) field.ErrorList {
	return append(validation.ValidateObjectMeta(m, namespaced, name, field.NewPath("metadata")), validateKnownFinalizers(m)...)
}

// ValidateObjectMetaUpdate checks the metadata of a changed object against the old metadata, and all its finalizers
// as if they were new.
func ValidateObjectMetaUpdate(m, old *metav1.ObjectMeta) field.ErrorList {
	return append(validation.ValidateObjectMetaUpdate(m, old, field.NewPath("metadata")), validateKnownFinalizers(m)...)
}

func validateKnownFinalizers(m *metav1.ObjectMeta) (errs field.ErrorList) {
	for i, f := range m.Finalizers {
		errs = append(errs, validateKnownFinalizer(f, field.NewPath("metadata", "finalizers").Index(i))...)
	}
	return errs
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

// Invalids turns the messages of a check into errors about the field at path.
func Invalids(path *field.Path, value any, messages []string) (errs field.ErrorList) {
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

// Immutable returns the error for a change of a field that its type declares immutable. Such an error does not quote
// the value.
func Immutable(path *field.Path) *field.Error {
	return field.Invalid(path, nil, validation.FieldImmutableErrorMsg).MarkCoveredByDeclarative()
}

// SpecialIP returns the reasons why a valid address cannot receive traffic.
func SpecialIP(value string) (msgs []string) {
	ip := netutils.ParseIPSloppy(value)
	if ip.IsUnspecified() {
		msgs = append(msgs, fmt.Sprintf("may not be unspecified (%v)", value))
	}
	if ip.IsLoopback() {
		msgs = append(msgs, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	}
	if ip.IsLinkLocalUnicast() {
		msgs = append(msgs, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	}
	if ip.IsLinkLocalMulticast() {
		msgs = append(msgs, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	}
	return msgs
}

package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	reportingInstanceLimit = 128
	actionLimit            = 128
	reasonLimit            = 128
	messageLimit           = 1024
)

// validateEvent applies the rules of core/v1.
func validateEvent(e *corev1.Event) field.ErrorList {
	return validateLeniently(e, "reportingComponent")
}

// validateLeniently applies the rules that both groups share. reporter is the group's name for the reporter's field.
func validateLeniently(e *corev1.Event, reporter string) field.ErrorList {
	if e.EventTime.IsZero() {
		return validateOldNamespace(e)
	}
	return validateNew(e, field.NewPath(reporter))
}

// validateOldNamespace checks events without an event time. An event about an object without a namespace is in
// "default".
func validateOldNamespace(e *corev1.Event) field.ErrorList {
	of := e.InvolvedObject.Namespace
	if of == e.Namespace || of == "" && e.Namespace == metav1.NamespaceDefault {
		return nil
	}
	return field.ErrorList{wrongNamespace(e)}
}

func wrongNamespace(e *corev1.Event) *field.Error {
	return field.Invalid(field.NewPath("involvedObject", "namespace"), e.InvolvedObject.Namespace, "does not match event.namespace")
}

// validateNew checks events with an event time, which must name their reporter and action.
func validateNew(e *corev1.Event, reporter *field.Path) field.ErrorList {
	var errs field.ErrorList
	if e.InvolvedObject.Namespace == "" && e.Namespace != metav1.NamespaceDefault && e.Namespace != metav1.NamespaceSystem {
		errs = append(errs, wrongNamespace(e))
	}
	if e.ReportingController == "" {
		errs = append(errs, field.Required(reporter, ""))
	}
	for _, msg := range validation.IsQualifiedName(e.ReportingController) {
		errs = append(errs, field.Invalid(reporter, e.ReportingController, msg))
	}
	for _, f := range []struct {
		name, value string
		limit       int
		required    bool
	}{
		{"reportingInstance", e.ReportingInstance, reportingInstanceLimit, true},
		{"action", e.Action, actionLimit, true},
		{"reason", e.Reason, reasonLimit, true},
		{"message", e.Message, messageLimit, false},
	} {
		if f.required && f.value == "" {
			errs = append(errs, field.Required(field.NewPath(f.name), ""))
		}
		if len(f.value) > f.limit {
			errs = append(errs, field.Invalid(field.NewPath(f.name), "", fmt.Sprintf("can have at most %v characters", f.limit)))
		}
	}
	return errs
}

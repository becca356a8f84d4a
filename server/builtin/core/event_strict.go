package core

import (
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// validateStrictly applies the rules of events.k8s.io to new events: fields of the older form must be unset.
func validateStrictly(e *corev1.Event) field.ErrorList {
	errs := validateLeniently(e, "reportingController")
	errs = append(errs, builtin.ValidateObjectMeta(&e.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)...)
	errs = append(errs, validateSeries(e.Series)...)
	if e.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), "", fmt.Sprintf("has invalid value: %v", e.Type)))
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"firstTimestamp", !e.FirstTimestamp.IsZero()},
		{"lastTimestamp", !e.LastTimestamp.IsZero()},
		{"count", e.Count != 0},
		{"source", e.Source != corev1.EventSource{}},
	} {
		if f.set {
			errs = append(errs, field.Invalid(field.NewPath(f.name), "", "needs to be unset"))
		}
	}
	return errs
}

func validateSeries(s *corev1.EventSeries) (errs field.ErrorList) {
	if s == nil {
		return nil
	}
	path := field.NewPath("series")
	if s.Count < 2 {
		errs = append(errs, field.Invalid(path.Child("count"), "", "should be at least 2"))
	}
	if s.LastObservedTime.IsZero() {
		errs = append(errs, field.Required(path.Child("lastObservedTime"), ""))
	}
	return errs
}

// reference and origin have no JSON names: messages name fields as Kubernetes' internal types do.
type (
	reference struct {
		Kind, Namespace, Name                  string
		UID                                    types.UID
		APIVersion, ResourceVersion, FieldPath string
	}
	origin struct{ Component, Host string }
)

// validateStrictUpdate applies the rules of events.k8s.io to changes: only the series may change.
func validateStrictUpdate(e, old *corev1.Event) field.ErrorList {
	errs := validateLeniently(e, "reportingController")
	errs = append(errs, builtin.ValidateObjectMetaUpdate(&e.ObjectMeta, &old.ObjectMeta)...)
	if !reflect.DeepEqual(e.Series, old.Series) {
		errs = append(errs, validateSeries(e.Series)...)
	}
	same := func(name string, value, was any) {
		errs = append(errs, apivalidation.ValidateImmutableField(value, was, field.NewPath(name))...)
	}
	same("involvedObject", reference(e.InvolvedObject), reference(old.InvolvedObject))
	same("reason", e.Reason, old.Reason)
	same("message", e.Message, old.Message)
	same("source", origin(e.Source), origin(old.Source))
	same("firstTimestamp", e.FirstTimestamp, old.FirstTimestamp)
	same("lastTimestamp", e.LastTimestamp, old.LastTimestamp)
	same("count", e.Count, old.Count)
	same("type", e.Type, old.Type)
	// A client may truncate times to microseconds: that is no change.
	if cut := time.Microsecond; e.EventTime.Truncate(cut).UTC() != old.EventTime.Truncate(cut).UTC() {
		same("eventTime", e.EventTime, old.EventTime)
	}
	same("action", e.Action, old.Action)
	same("related", (*reference)(e.Related), (*reference)(old.Related))
	same("reportingController", e.ReportingController, old.ReportingController)
	same("reportingInstance", e.ReportingInstance, old.ReportingInstance)
	return errs
}

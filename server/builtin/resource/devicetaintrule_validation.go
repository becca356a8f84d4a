package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidate "k8s.io/apimachinery/pkg/api/validate"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

var taintOf = builtin.ViewAs[resourcev1beta2.DeviceTaint, resourcev1.DeviceTaint]()

// validateDeviceTaintRule validates a rule. old is nil for a new one.
func validateDeviceTaintRule(r, old *resourcev1beta2.DeviceTaintRule) (errs field.ErrorList) {
	if old == nil {
		errs = builtin.ValidateObjectMeta(&r.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	} else {
		errs = builtin.ValidateObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)
	}
	if s, path := r.Spec.DeviceSelector, field.NewPath("spec", "deviceSelector"); s != nil {
		if s.Driver != nil {
			errs = append(errs, validateDriver(*s.Driver, path.Child("driver"))...)
		}
		if s.Pool != nil {
			errs = append(errs, validatePool(*s.Pool, path.Child("pool"))...)
		}
		if s.Device != nil {
			errs = append(errs, ValidateDeviceName(*s.Device, path.Child("device"))...)
		}
	}
	taint := field.NewPath("spec", "taint")
	errs = append(errs, validateTaint(taintOf(&r.Spec.Taint), taint)...)
	return append(errs, validateEffect(&r.Spec.Taint.Effect, taint.Child("effect")).MarkCoveredByDeclarative()...)
}

// validateEffect checks the effect by the rules that its type declares.
func validateEffect(effect *resourcev1beta2.DeviceTaintEffect, path *field.Path) field.ErrorList {
	effects := sets.New(resourcev1beta2.DeviceTaintEffectNoExecute, resourcev1beta2.DeviceTaintEffectNoSchedule,
		resourcev1beta2.DeviceTaintEffectNone)
	ctx, op := context.Background(), operation.Operation{}
	if errs := apivalidate.RequiredValue(ctx, op, path, effect, nil); len(errs) > 0 {
		return errs
	}
	return apivalidate.Enum(ctx, op, path, effect, nil, effects, nil)
}

func validateStatus(r, old *resourcev1beta2.DeviceTaintRule) field.ErrorList {
	path := field.NewPath("status", "conditions")
	errs := builtin.ValidateObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, metav1validation.ValidateConditions(r.Status.Conditions, path)...)
	if n := len(r.Status.Conditions); n > resourcev1beta2.DeviceTaintRuleStatusMaxConditions {
		errs = append(errs, field.TooMany(path, n, resourcev1beta2.DeviceTaintRuleStatusMaxConditions))
	}
	return errs
}

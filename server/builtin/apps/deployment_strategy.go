package apps

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// deploymentStrategy applies rules that depend on the API version of the request.
type deploymentStrategy struct {
	builtin.Strategy
}

func newStrategy(s builtin.Strategy) rest.RESTCreateUpdateStrategy {
	return deploymentStrategy{s}
}

// ValidateUpdate lets only clients of apps/v1beta1 change the selector: that version always allowed it.
func (s deploymentStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	errs := s.Strategy.ValidateUpdate(ctx, obj, old)
	if version, known := builtin.RequestVersion(ctx); known && version != appsv1beta1.SchemeGroupVersion {
		selector, was := obj.(*appsv1.Deployment).Spec.Selector, old.(*appsv1.Deployment).Spec.Selector
		errs = append(errs, apivalidation.ValidateImmutableField(selector, was, deploymentSpecPath.Child("selector"))...)
	}
	return errs
}

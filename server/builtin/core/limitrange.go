package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// LimitRange is the resource limitranges: bounds and defaults for the requests of each pod, container and claim of a
// namespace.
var LimitRange = builtin.Resource[*corev1.LimitRange]{
	Names:          builtin.Names{Plural: "limitranges", Singular: "limitrange", Short: []string{"limits"}},
	List:           &corev1.LimitRangeList{},
	Stored:         corev1.SchemeGroupVersion,
	Default:        setLimitRangeDefaults,
	PrepareCreate:  giveName,
	Validate:       validateLimitRange,
	ValidateUpdate: func(l, _ *corev1.LimitRange) field.ErrorList { return validateLimitRange(l) },
	CreateOnUpdate: true,
	Sample: `
spec:
  limits:
  - type: Container
    default: {cpu: 500m, memory: 256Mi}
    defaultRequest: {cpu: 100m, memory: 64Mi}`,
}

// giveName sets a missing name to a UUID. No other resource does that.
func giveName(_ context.Context, l *corev1.LimitRange) {
	if l.Name == "" {
		l.Name = string(uuid.NewUUID())
	}
}

func setLimitRangeDefaults(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		limit := &l.Spec.Limits[i]
		if limit.Type == corev1.LimitTypeContainer {
			setDefaultsContainer(limit)
		}
		podspec.RoundUpResources(limit.Max, limit.Min, limit.Default, limit.DefaultRequest, limit.MaxLimitRequestRatio)
	}
}

// setDefaultsContainer fills in missing defaults: a default limit from the maximum, and a default request from the
// default limit, or else from the minimum.
func setDefaultsContainer(limit *corev1.LimitRangeItem) {
	if limit.Default == nil {
		limit.Default = corev1.ResourceList{}
	}
	if limit.DefaultRequest == nil {
		limit.DefaultRequest = corev1.ResourceList{}
	}
	podspec.FillInResources(limit.Default, limit.Max)
	podspec.FillInResources(limit.DefaultRequest, limit.Default)
	podspec.FillInResources(limit.DefaultRequest, limit.Min)
}

package autoscaling

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// metricTypes lists the types in the order of the messages.
var metricTypes = [...]autoscalingv2.MetricSourceType{
	autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType, autoscalingv2.ObjectMetricSourceType,
	autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType,
}

func validateMetrics(spec *autoscalingv2.HorizontalPodAutoscalerSpec, path *field.Path, allowed references) field.ErrorList {
	var errs field.ErrorList
	fromOutside := false
	for i := range spec.Metrics {
		m := &spec.Metrics[i]
		errs = append(errs, validateMetric(m, path.Index(i), allowed)...)
		fromOutside = fromOutside || m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
	}
	// With 0 pods, metrics of pods have no values, so nothing would ever start a pod again.
	if spec.MinReplicas != nil && *spec.MinReplicas == 0 && !fromOutside {
		errs = append(errs,
			field.Forbidden(path, "must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	return errs
}

// source is one of the fields of a metric.
type source struct {
	name string
	of   autoscalingv2.MetricSourceType
	// validate is nil if the field is not set.
	validate func(*field.Path) field.ErrorList
}

// sourcesOf lists the sources of a metric. The order matters: only the first one that is set is validated.
func sourcesOf(m *autoscalingv2.MetricSpec, allowed references) []source {
	all := []source{
		{name: "object", of: autoscalingv2.ObjectMetricSourceType},
		{name: "external", of: autoscalingv2.ExternalMetricSourceType},
		{name: "pods", of: autoscalingv2.PodsMetricSourceType},
		{name: "resource", of: autoscalingv2.ResourceMetricSourceType},
		{name: "containerResource", of: autoscalingv2.ContainerResourceMetricSourceType},
	}
	if m.Object != nil {
		all[0].validate = func(path *field.Path) field.ErrorList { return validateObject(m.Object, path, allowed) }
	}
	if m.External != nil {
		all[1].validate = func(path *field.Path) field.ErrorList { return validateExternal(m.External, path) }
	}
	if m.Pods != nil {
		all[2].validate = func(path *field.Path) field.ErrorList { return validatePods(m.Pods, path) }
	}
	if m.Resource != nil {
		all[3].validate = func(path *field.Path) field.ErrorList { return validateResource(m.Resource, path) }
	}
	if m.ContainerResource != nil {
		all[4].validate = func(path *field.Path) field.ErrorList { return validateContainerResource(m.ContainerResource, path) }
	}
	return all
}

// validateMetric requires the source that the type names, and no other.
func validateMetric(m *autoscalingv2.MetricSpec, path *field.Path, allowed references) field.ErrorList {
	var errs field.ErrorList
	at, known := path.Child("type"), slices.Contains(metricTypes[:], m.Type)
	if m.Type == "" {
		errs = append(errs, field.Required(at, "must specify a metric source type"))
	}
	if !known {
		errs = append(errs, field.NotSupported(at, m.Type, metricTypes[:]))
	}
	count := 0
	var missing, others field.ErrorList
	for _, s := range sourcesOf(m, allowed) {
		if s.validate != nil {
			if count++; count == 1 {
				errs = append(errs, s.validate(path.Child(s.name))...)
			}
		}
		switch {
		case s.of == m.Type && s.validate == nil:
			missing = append(missing, field.Required(path.Child(s.name), "must populate information for the given metric source"))
		case s.of != m.Type && s.validate != nil:
			others = append(others, field.Forbidden(path.Child(s.name), "must populate the given metric source only"))
		}
	}
	if !known {
		missing = append(missing, field.NotSupported(at, m.Type, metricTypes[:]))
	}
	errs = append(errs, missing...)
	if count != 1 {
		errs = append(errs, others...)
	}
	return errs
}

func validateObject(s *autoscalingv2.ObjectMetricSource, path *field.Path, allowed references) field.ErrorList {
	errs := validateReference(s.DescribedObject, path.Child("describedObject"), allowed)
	errs = append(errs, validateMetricAndTarget(s.Metric, s.Target, path)...)
	if s.Target.Value == nil && s.Target.AverageValue == nil {
		errs = append(errs, field.Required(path.Child("target", "averageValue"), "must set either a target value or averageValue"))
	}
	return errs
}

func validateExternal(s *autoscalingv2.ExternalMetricSource, path *field.Path) field.ErrorList {
	errs := validateMetricAndTarget(s.Metric, s.Target, path)
	target := path.Child("target")
	switch {
	case s.Target.Value == nil && s.Target.AverageValue == nil:
		errs = append(errs, field.Required(target.Child("averageValue"), "must set either a target value for metric or a per-pod target"))
	case s.Target.Value != nil && s.Target.AverageValue != nil:
		errs = append(errs, field.Forbidden(target.Child("value"), "may not set both a target value for metric and a per-pod target"))
	}
	return errs
}

func validatePods(s *autoscalingv2.PodsMetricSource, path *field.Path) field.ErrorList {
	errs := validateMetricAndTarget(s.Metric, s.Target, path)
	if s.Target.AverageValue == nil {
		errs = append(errs, field.Required(path.Child("target", "averageValue"), "must specify a positive target averageValue"))
	}
	return errs
}

func validateResource(s *autoscalingv2.ResourceMetricSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "must specify a resource name"))
	}
	return append(errs, validateResourceTarget(s.Target, path.Child("target"))...)
}

func validateContainerResource(s *autoscalingv2.ContainerResourceMetricSource, path *field.Path) field.ErrorList {
	errs := validateResourceName(s.Name, path.Child("name"))
	container := path.Child("container")
	if s.Container == "" {
		errs = append(errs, field.Required(container, "must specify a container"))
	} else {
		for _, message := range validation.IsDNS1123Label(s.Container) {
			errs = append(errs, field.Invalid(container, s.Container, message))
		}
	}
	return append(errs, validateResourceTarget(s.Target, path.Child("target"))...)
}

func validateResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "must specify a resource name")}
	}
	return podspec.ValidateContainerResource(name, path)
}

func validateResourceTarget(target autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	errs := validateTarget(target, path)
	switch {
	case target.AverageUtilization == nil && target.AverageValue == nil:
		errs = append(errs, field.Required(path.Child("averageUtilization"), "must set either a target raw value or a target utilization"))
	case target.AverageUtilization != nil && target.AverageValue != nil:
		errs = append(errs, field.Forbidden(path.Child("averageValue"), "may not set both a target raw value and a target utilization"))
	}
	return errs
}

func validateMetricAndTarget(metric autoscalingv2.MetricIdentifier, target autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	errs := validateSegment(metric.Name, "must specify a metric name", path.Child("metric", "name"))
	return append(errs, validateTarget(target, path.Child("target"))...)
}

func validateTarget(target autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("type")
	if target.Type == "" {
		errs = append(errs, field.Required(at, "must specify a metric target type"))
	}
	switch target.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	default:
		errs = append(errs, field.Invalid(at, target.Type, "must be either Utilization, Value, or AverageValue"))
	}
	if target.Value != nil && target.Value.Sign() != 1 {
		errs = append(errs, field.Invalid(path.Child("value"), target.Value, "must be positive"))
	}
	if target.AverageValue != nil && target.AverageValue.Sign() != 1 {
		errs = append(errs, field.Invalid(path.Child("averageValue"), target.AverageValue, "must be positive"))
	}
	if target.AverageUtilization != nil && *target.AverageUtilization < 1 {
		errs = append(errs, field.Invalid(path.Child("averageUtilization"), *target.AverageUtilization, "must be greater than 0"))
	}
	return errs
}

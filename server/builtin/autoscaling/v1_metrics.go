package autoscaling

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func conditionToHub(c *autoscalingv1.HorizontalPodAutoscalerCondition) v2.HorizontalPodAutoscalerCondition {
	return v2.HorizontalPodAutoscalerCondition{Type: v2.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status,
		LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration}
}

func conditionFromHub(c *v2.HorizontalPodAutoscalerCondition) autoscalingv1.HorizontalPodAutoscalerCondition {
	return autoscalingv1.HorizontalPodAutoscalerCondition{Type: autoscalingv1.HorizontalPodAutoscalerConditionType(c.Type),
		Status:             c.Status,
		LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration}
}

func identifier(name string, selector *metav1.LabelSelector) v2.MetricIdentifier {
	return v2.MetricIdentifier{Name: name, Selector: selector}
}

func metricToHub(m *autoscalingv1.MetricSpec) v2.MetricSpec {
	out := v2.MetricSpec{Type: v2.MetricSourceType(m.Type)}
	if s := m.Object; s != nil {
		out.Object = &v2.ObjectMetricSource{
			DescribedObject: v2.CrossVersionObjectReference(s.Target), Metric: identifier(s.MetricName, s.Selector),
			Target: objectTarget(s),
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &v2.PodsMetricSource{Metric: identifier(s.MetricName, s.Selector),
			Target: v2.MetricTarget{Type: v2.AverageValueMetricType, AverageValue: ptr.To(s.TargetAverageValue)}}
	}
	if s := m.Resource; s != nil {
		out.Resource = &v2.ResourceMetricSource{Name: s.Name, Target: resourceTarget(s.TargetAverageUtilization, s.TargetAverageValue)}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &v2.ContainerResourceMetricSource{
			Name: s.Name, Container: s.Container, Target: resourceTarget(s.TargetAverageUtilization, s.TargetAverageValue),
		}
	}
	if s := m.External; s != nil {
		target := v2.MetricTarget{Type: v2.AverageValueMetricType, Value: s.TargetValue, AverageValue: s.TargetAverageValue}
		if s.TargetValue != nil {
			target.Type = v2.ValueMetricType
		}
		out.External = &v2.ExternalMetricSource{Metric: identifier(s.MetricName, s.MetricSelector), Target: target}
	}
	return out
}

// objectTarget treats a value of 0 beside an average as missing: in this version the value is required.
func objectTarget(s *autoscalingv1.ObjectMetricSource) v2.MetricTarget {
	switch {
	case s.AverageValue == nil:
		return v2.MetricTarget{Type: v2.ValueMetricType, Value: ptr.To(s.TargetValue)}
	case s.TargetValue.IsZero():
		return v2.MetricTarget{Type: v2.AverageValueMetricType, AverageValue: s.AverageValue}
	}
	return v2.MetricTarget{Type: v2.AverageValueMetricType, Value: ptr.To(s.TargetValue), AverageValue: s.AverageValue}
}

func resourceTarget(percent *int32, value *resource.Quantity) v2.MetricTarget {
	target := v2.MetricTarget{Type: v2.AverageValueMetricType, AverageValue: value, AverageUtilization: percent}
	if percent != nil {
		target.Type = v2.UtilizationMetricType
	}
	return target
}

func metricFromHub(m *v2.MetricSpec) autoscalingv1.MetricSpec {
	out := autoscalingv1.MetricSpec{Type: autoscalingv1.MetricSourceType(m.Type)}
	if s := m.Object; s != nil {
		out.Object = &autoscalingv1.ObjectMetricSource{
			Target: autoscalingv1.CrossVersionObjectReference(s.DescribedObject), MetricName: s.Metric.Name, Selector: s.Metric.Selector,
			TargetValue: ptr.Deref(s.Target.Value, resource.Quantity{}), AverageValue: s.Target.AverageValue,
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &autoscalingv1.PodsMetricSource{
			MetricName: s.Metric.Name, Selector: s.Metric.Selector,
			TargetAverageValue: ptr.Deref(s.Target.AverageValue, resource.Quantity{}),
		}
	}
	if s := m.Resource; s != nil {
		out.Resource = &autoscalingv1.ResourceMetricSource{
			Name: s.Name, TargetAverageUtilization: s.Target.AverageUtilization, TargetAverageValue: s.Target.AverageValue,
		}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &autoscalingv1.ContainerResourceMetricSource{
			Name: s.Name, Container: s.Container, TargetAverageUtilization: s.Target.AverageUtilization,
			TargetAverageValue: s.Target.AverageValue,
		}
	}
	if s := m.External; s != nil {
		out.External = &autoscalingv1.ExternalMetricSource{
			MetricName: s.Metric.Name, MetricSelector: s.Metric.Selector, TargetValue: s.Target.Value,
			TargetAverageValue: s.Target.AverageValue,
		}
	}
	return out
}

func statusToHub(m *autoscalingv1.MetricStatus) v2.MetricStatus {
	out := v2.MetricStatus{Type: v2.MetricSourceType(m.Type)}
	if s := m.Object; s != nil {
		out.Object = &v2.ObjectMetricStatus{
			DescribedObject: v2.CrossVersionObjectReference(s.Target), Metric: identifier(s.MetricName, s.Selector),
			Current: v2.MetricValueStatus{Value: ptr.To(s.CurrentValue), AverageValue: s.AverageValue},
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &v2.PodsMetricStatus{Metric: identifier(s.MetricName, s.Selector),
			Current: v2.MetricValueStatus{AverageValue: ptr.To(s.CurrentAverageValue)}}
	}
	if s := m.Resource; s != nil {
		out.Resource = &v2.ResourceMetricStatus{Name: s.Name,
			Current: v2.MetricValueStatus{AverageValue: ptr.To(s.CurrentAverageValue), AverageUtilization: s.CurrentAverageUtilization}}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &v2.ContainerResourceMetricStatus{Name: s.Name, Container: s.Container,
			Current: v2.MetricValueStatus{AverageValue: ptr.To(s.CurrentAverageValue), AverageUtilization: s.CurrentAverageUtilization}}
	}
	if s := m.External; s != nil {
		out.External = &v2.ExternalMetricStatus{Metric: identifier(s.MetricName, s.MetricSelector),
			Current: v2.MetricValueStatus{Value: ptr.To(s.CurrentValue), AverageValue: s.CurrentAverageValue}}
	}
	return out
}

func statusFromHub(m *v2.MetricStatus) autoscalingv1.MetricStatus {
	out := autoscalingv1.MetricStatus{Type: autoscalingv1.MetricSourceType(m.Type)}
	if s := m.Object; s != nil {
		out.Object = &autoscalingv1.ObjectMetricStatus{
			Target: autoscalingv1.CrossVersionObjectReference(s.DescribedObject), MetricName: s.Metric.Name, Selector: s.Metric.Selector,
			CurrentValue: ptr.Deref(s.Current.Value, resource.Quantity{}), AverageValue: s.Current.AverageValue,
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &autoscalingv1.PodsMetricStatus{
			MetricName: s.Metric.Name, Selector: s.Metric.Selector,
			CurrentAverageValue: ptr.Deref(s.Current.AverageValue, resource.Quantity{}),
		}
	}
	if s := m.Resource; s != nil {
		out.Resource = &autoscalingv1.ResourceMetricStatus{
			Name: s.Name, CurrentAverageUtilization: s.Current.AverageUtilization,
			CurrentAverageValue: ptr.Deref(s.Current.AverageValue, resource.Quantity{}),
		}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &autoscalingv1.ContainerResourceMetricStatus{
			Name: s.Name, Container: s.Container, CurrentAverageUtilization: s.Current.AverageUtilization,
			CurrentAverageValue: ptr.Deref(s.Current.AverageValue, resource.Quantity{}),
		}
	}
	if s := m.External; s != nil {
		out.External = &autoscalingv1.ExternalMetricStatus{
			MetricName: s.Metric.Name, MetricSelector: s.Metric.Selector,
			CurrentValue: ptr.Deref(s.Current.Value, resource.Quantity{}), CurrentAverageValue: s.Current.AverageValue,
		}
	}
	return out
}

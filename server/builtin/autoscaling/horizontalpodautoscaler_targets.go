package autoscaling

import (
	"fmt"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

const (
	unknown      = "<unknown>"
	shownTargets = 2
)

// targetsCell shows the first targets with their current values. Both lists have the same order.
func targetsCell(specs []autoscalingv2.MetricSpec, statuses []autoscalingv2.MetricStatus) string {
	if len(specs) == 0 {
		return "<none>"
	}
	var cells []string
	for i := range specs {
		status := &autoscalingv2.MetricStatus{}
		if i < len(statuses) {
			status = &statuses[i]
		}
		cells = append(cells, targetCell(&specs[i], status))
	}
	if more := len(cells) - shownTargets; more > 0 {
		return fmt.Sprintf("%s + %d more...", strings.Join(cells[:shownTargets], ", "), more)
	}
	return strings.Join(cells, ", ")
}

func targetCell(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) string {
	switch spec.Type {
	case autoscalingv2.ExternalMetricSourceType:
		var current *autoscalingv2.MetricValueStatus
		if status.External != nil {
			current = &status.External.Current
		}
		return valueCell(&spec.External.Target, current)
	case autoscalingv2.ObjectMetricSourceType:
		var current *autoscalingv2.MetricValueStatus
		if status.Object != nil {
			current = &status.Object.Current
		}
		return valueCell(&spec.Object.Target, current)
	case autoscalingv2.PodsMetricSourceType:
		current := unknown
		if status.Pods != nil {
			current = status.Pods.Current.AverageValue.String()
		}
		return current + "/" + spec.Pods.Target.AverageValue.String()
	case autoscalingv2.ResourceMetricSourceType:
		var current *autoscalingv2.MetricValueStatus
		if status.Resource != nil {
			current = &status.Resource.Current
		}
		return spec.Resource.Name.String() + ": " + resourceCell(&spec.Resource.Target, current)
	case autoscalingv2.ContainerResourceMetricSourceType:
		var current *autoscalingv2.MetricValueStatus
		if status.ContainerResource != nil {
			current = &status.ContainerResource.Current
		}
		return spec.ContainerResource.Name.String() + ": " + resourceCell(&spec.ContainerResource.Target, current)
	}
	return "<unknown type>"
}

// valueCell prefers the average for each pod.
func valueCell(target *autoscalingv2.MetricTarget, status *autoscalingv2.MetricValueStatus) string {
	current := unknown
	if target.AverageValue != nil {
		if status != nil && status.AverageValue != nil {
			current = status.AverageValue.String()
		}
		return fmt.Sprintf("%s/%s (avg)", current, target.AverageValue)
	}
	if status != nil {
		current = status.Value.String()
	}
	return fmt.Sprintf("%s/%s", current, target.Value)
}

func resourceCell(target *autoscalingv2.MetricTarget, status *autoscalingv2.MetricValueStatus) string {
	current := unknown
	if target.AverageValue != nil {
		if status != nil {
			current = status.AverageValue.String()
		}
		return fmt.Sprintf("%s/%s", current, target.AverageValue)
	}
	if status != nil && status.AverageUtilization != nil {
		current = fmt.Sprintf("%d%%", *status.AverageUtilization)
	}
	wanted := "<auto>"
	if target.AverageUtilization != nil {
		wanted = fmt.Sprintf("%d%%", *target.AverageUtilization)
	}
	return current + "/" + wanted
}

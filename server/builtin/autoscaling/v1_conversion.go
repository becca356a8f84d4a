package autoscaling

import (
	"encoding/json"
	"errors"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

// The annotations that stand for fields of autoscaling/v2.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
)

// annotations lists the annotations that are removed from objects with the fields. The last two held a tolerance.
var annotations = [...]string{metricsAnnotation, currentMetricsAnnotation, conditionsAnnotation, behaviorAnnotation,
	"autoscaling.alpha.kubernetes.io/scale-down-tolerance", "autoscaling.alpha.kubernetes.io/scale-up-tolerance"}

// AddV1 registers the defaults of autoscaling/v1 and its conversions from and to autoscaling/v2.
func AddV1(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&autoscalingv1.HorizontalPodAutoscaler{}, func(obj any) {
		setV1Defaults(obj.(*autoscalingv1.HorizontalPodAutoscaler))
	})
	s.AddTypeDefaultingFunc(&autoscalingv1.HorizontalPodAutoscalerList{}, func(obj any) {
		list := obj.(*autoscalingv1.HorizontalPodAutoscalerList)
		for i := range list.Items {
			setV1Defaults(&list.Items[i])
		}
	})
	return errors.Join(
		builtin.AddConversion(s, toHub),
		builtin.AddConversion(s, fromHub),
		builtin.AddConversion(s, listToHub),
		builtin.AddConversion(s, listFromHub),
	)
}

// setV1Defaults leaves the target to the conversion: only that sees all metrics.
func setV1Defaults(h *autoscalingv1.HorizontalPodAutoscaler) {
	if h.Spec.MinReplicas == nil {
		h.Spec.MinReplicas = ptr.To[int32](1)
	}
}

// withoutAnnotations returns all without the annotations that stand for fields. If there are none, it returns all
// itself.
func withoutAnnotations(all map[string]string) map[string]string {
	rest := all
	for _, name := range annotations {
		if _, ok := rest[name]; !ok {
			continue
		}
		if len(rest) == len(all) {
			rest = maps.Clone(all)
		}
		delete(rest, name)
	}
	return rest
}

func toHub(in *autoscalingv1.HorizontalPodAutoscaler, out *v2.HorizontalPodAutoscaler) error {
	*out = v2.HorizontalPodAutoscaler{
		ObjectMeta: in.ObjectMeta,
		Spec: v2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: v2.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
		},
		Status: v2.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration,
			LastScaleTime:      in.Status.LastScaleTime,
			CurrentReplicas:    in.Status.CurrentReplicas,
			DesiredReplicas:    in.Status.DesiredReplicas,
		},
	}
	if percent := in.Spec.TargetCPUUtilizationPercentage; percent != nil {
		out.Spec.Metrics = []v2.MetricSpec{cpuMetric(*percent)}
	}
	if percent := in.Status.CurrentCPUUtilizationPercentage; percent != nil {
		out.Status.CurrentMetrics = []v2.MetricStatus{{Type: v2.ResourceMetricSourceType, Resource: &v2.ResourceMetricStatus{
			Name: corev1.ResourceCPU, Current: v2.MetricValueStatus{AverageUtilization: ptr.To(*percent)}}}}
	}
	fromAnnotations(in.Annotations, out)
	if len(out.Spec.Metrics) == 0 {
		out.Spec.Metrics = []v2.MetricSpec{cpuMetric(defaultUtilization)}
	}
	out.Annotations = withoutAnnotations(in.Annotations)
	return nil
}

// defaultUtilization is the CPU target, in percent, of an autoscaler without metrics.
const defaultUtilization = 80

func cpuMetric(percent int32) v2.MetricSpec {
	return v2.MetricSpec{Type: v2.ResourceMetricSourceType, Resource: &v2.ResourceMetricSource{Name: corev1.ResourceCPU,
		Target: v2.MetricTarget{Type: v2.UtilizationMetricType, AverageUtilization: &percent}}}
}

// fromAnnotations ignores annotations that it can't decode: no server wrote them.
func fromAnnotations(all map[string]string, out *v2.HorizontalPodAutoscaler) {
	if metrics, ok := decode[[]autoscalingv1.MetricSpec](all, metricsAnnotation); ok {
		out.Spec.Metrics = append(each(metrics, metricToHub), out.Spec.Metrics...)
	}
	if b, ok := decode[behavior](all, behaviorAnnotation); ok && b != (behavior{}) {
		out.Spec.Behavior = b.toHub()
	}
	if metrics, ok := decode[[]autoscalingv1.MetricStatus](all, currentMetricsAnnotation); ok {
		out.Status.CurrentMetrics = each(metrics, statusToHub)
	}
	if conditions, ok := decode[[]autoscalingv1.HorizontalPodAutoscalerCondition](all, conditionsAnnotation); ok {
		out.Status.Conditions = each(conditions, conditionToHub)
	}
}

func fromHub(in *v2.HorizontalPodAutoscaler, out *autoscalingv1.HorizontalPodAutoscaler) error {
	*out = autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: in.ObjectMeta,
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
		},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration,
			LastScaleTime:      in.Status.LastScaleTime,
			CurrentReplicas:    in.Status.CurrentReplicas,
			DesiredReplicas:    in.Status.DesiredReplicas,
		},
	}
	var others []autoscalingv1.MetricSpec
	for i := range in.Spec.Metrics {
		m := &in.Spec.Metrics[i]
		switch {
		case !isCPU(m):
			others = append(others, metricFromHub(m))
		case out.Spec.TargetCPUUtilizationPercentage == nil:
			out.Spec.TargetCPUUtilizationPercentage = m.Resource.Target.AverageUtilization
		}
	}
	for i := range in.Status.CurrentMetrics {
		m := &in.Status.CurrentMetrics[i]
		if m.Type == v2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU &&
			m.Resource.Current.AverageUtilization != nil {
			out.Status.CurrentCPUUtilizationPercentage = m.Resource.Current.AverageUtilization
		}
	}
	return toAnnotations(in, others, out)
}

// isCPU reports whether this version has a field for the metric.
func isCPU(m *v2.MetricSpec) bool {
	return m.Type == v2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU &&
		m.Resource.Target.AverageUtilization != nil
}

// toAnnotations writes the status of all metrics, including CPU: the field for CPU lacks the absolute value.
func toAnnotations(in *v2.HorizontalPodAutoscaler, others []autoscalingv1.MetricSpec, out *autoscalingv1.HorizontalPodAutoscaler) error {
	values := map[string]any{}
	if len(others) > 0 {
		values[metricsAnnotation] = others
	}
	if len(in.Status.CurrentMetrics) > 0 {
		values[currentMetricsAnnotation] = each(in.Status.CurrentMetrics, statusFromHub)
	}
	if in.Spec.Behavior != nil {
		values[behaviorAnnotation] = behaviorFromHub(in.Spec.Behavior)
	}
	if len(in.Status.Conditions) > 0 {
		values[conditionsAnnotation] = each(in.Status.Conditions, conditionFromHub)
	}
	out.Annotations = withoutAnnotations(in.Annotations)
	if len(values) == 0 {
		return nil
	}
	all := maps.Clone(out.Annotations)
	if all == nil {
		all = map[string]string{}
	}
	for name, value := range values {
		data, err := json.Marshal(value)
		if err != nil {
			return err
		}
		all[name] = string(data)
	}
	out.Annotations = all
	return nil
}

// decode reads an annotation if it is set and holds the JSON of a T.
func decode[T any](all map[string]string, name string) (value T, ok bool) {
	text, ok := all[name]
	if !ok {
		return value, false
	}
	err := json.Unmarshal([]byte(text), &value)
	return value, err == nil
}

// each converts a list. From nil it makes an empty list: an annotation without metrics still replaces the fields.
func each[In, Out any](in []In, convert func(*In) Out) []Out {
	out := make([]Out, len(in))
	for i := range in {
		out[i] = convert(&in[i])
	}
	return out
}

func listToHub(in *autoscalingv1.HorizontalPodAutoscalerList, out *v2.HorizontalPodAutoscalerList) (err error) {
	*out = v2.HorizontalPodAutoscalerList{ListMeta: in.ListMeta}
	out.Items, err = builtin.ConvertList(in.Items, toHub)
	return err
}

func listFromHub(in *v2.HorizontalPodAutoscalerList, out *autoscalingv1.HorizontalPodAutoscalerList) (err error) {
	*out = autoscalingv1.HorizontalPodAutoscalerList{ListMeta: in.ListMeta}
	out.Items, err = builtin.ConvertList(in.Items, fromHub)
	return err
}

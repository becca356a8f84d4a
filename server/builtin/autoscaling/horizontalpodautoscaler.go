package autoscaling

import (
	"fmt"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	docs       = autoscalingv2.HorizontalPodAutoscalerSpec{}.SwaggerDoc()
	statusDocs = autoscalingv2.HorizontalPodAutoscalerStatus{}.SwaggerDoc()
)

// HorizontalPodAutoscaler is the resource horizontalpodautoscalers: rules for the number of pods of a scalable object.
//
// They are stored in autoscaling/v2. Objects of autoscaling/v1 are converted above rest.
var HorizontalPodAutoscaler = builtin.Resource[*autoscalingv2.HorizontalPodAutoscaler]{
	Names: builtin.Names{
		Plural: "horizontalpodautoscalers", Singular: "horizontalpodautoscaler", Short: []string{"hpa"}, Categories: []string{"all"},
	},
	List:           &autoscalingv2.HorizontalPodAutoscalerList{},
	Stored:         autoscalingv2.SchemeGroupVersion,
	Served:         []schema.GroupVersion{autoscalingv2.SchemeGroupVersion, autoscalingv1.SchemeGroupVersion},
	ResetIn:        []schema.GroupVersion{autoscalingv1.SchemeGroupVersion},
	Default:        setDefaults,
	Validate:       validateAutoscaler,
	ValidateUpdate: validateUpdate,
	Spec:           func(h *autoscalingv2.HorizontalPodAutoscaler) any { return &h.Spec },
	Status: &builtin.Status[*autoscalingv2.HorizontalPodAutoscaler]{
		Of: func(h *autoscalingv2.HorizontalPodAutoscaler) any { return &h.Status },
		Part: builtin.Part[*autoscalingv2.HorizontalPodAutoscaler]{
			Keep:  func(h, old *autoscalingv2.HorizontalPodAutoscaler) { h.Spec = old.Spec },
			Check: validateStatusUpdate,
		},
	},
	Sample: `
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}
  minReplicas: 1
  maxReplicas: 3
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Reference", Type: "string", Description: docs["scaleTargetRef"]},
		{Name: "Targets", Type: "string", Description: docs["metrics"]},
		{Name: "MinPods", Type: "string", Description: docs["minReplicas"]},
		{Name: "MaxPods", Type: "string", Description: docs["maxReplicas"]},
		{Name: "Replicas", Type: "string", Description: statusDocs["currentReplicas"]},
		builtin.AgeColumn,
	},
	Row: autoscalerRow,
}

func autoscalerRow(h *autoscalingv2.HorizontalPodAutoscaler) metav1.TableRow {
	least := "<unset>"
	if h.Spec.MinReplicas != nil {
		least = strconv.Itoa(int(*h.Spec.MinReplicas))
	}
	return builtin.Row(h.Name, fmt.Sprintf("%s/%s", h.Spec.ScaleTargetRef.Kind, h.Spec.ScaleTargetRef.Name),
		targetsCell(h.Spec.Metrics, h.Status.CurrentMetrics), least, int64(h.Spec.MaxReplicas), int64(h.Status.CurrentReplicas),
		builtin.Age(h.CreationTimestamp))
}

func setDefaults(h *autoscalingv2.HorizontalPodAutoscaler) {
	// Annotations of autoscaling/v1 could contradict the fields.
	h.Annotations = withoutAnnotations(h.Annotations)
	podspec.SetDefault(&h.Spec.MinReplicas, 1)
	if len(h.Spec.Metrics) == 0 {
		h.Spec.Metrics = []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{
				Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](defaultUtilization)}},
		}}
	}
	if b := h.Spec.Behavior; b != nil {
		// A flag of the controller sets the delay before scaling down, so it has no default here.
		podspec.SetDefault(&b.ScaleUp, autoscalingv2.HPAScalingRules{})
		podspec.SetDefault(&b.ScaleUp.StabilizationWindowSeconds, 0)
		setRuleDefaults(b.ScaleUp, atMost(autoscalingv2.PodsScalingPolicy, 4), atMost(autoscalingv2.PercentScalingPolicy, 100))
		podspec.SetDefault(&b.ScaleDown, autoscalingv2.HPAScalingRules{})
		setRuleDefaults(b.ScaleDown, atMost(autoscalingv2.PercentScalingPolicy, 100))
	}
}

// atMost makes a policy with a period of 15 seconds, the interval of the controller.
func atMost(of autoscalingv2.HPAScalingPolicyType, n int32) autoscalingv2.HPAScalingPolicy {
	return autoscalingv2.HPAScalingPolicy{Type: of, Value: n, PeriodSeconds: 15}
}

func setRuleDefaults(rules *autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) {
	podspec.SetDefault(&rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if rules.Policies == nil {
		rules.Policies = policies
	}
}

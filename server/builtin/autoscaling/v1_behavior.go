package autoscaling

import (
	"k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

// behavior is the JSON in the annotation. Its field names differ from those of every version, and empty fields are
// null: the first server wrote it so, and clients read it.
type behavior struct {
	ScaleUp, ScaleDown *rules
}

type rules struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *v2.ScalingPolicySelect
	Policies                   []policy
	Tolerance                  *resource.Quantity
}

type policy struct {
	Type                 v2.HPAScalingPolicyType
	Value, PeriodSeconds int32
}

func (b behavior) toHub() *v2.HorizontalPodAutoscalerBehavior {
	return &v2.HorizontalPodAutoscalerBehavior{ScaleUp: b.ScaleUp.toHub(), ScaleDown: b.ScaleDown.toHub()}
}

func (r *rules) toHub() *v2.HPAScalingRules {
	if r == nil {
		return nil
	}
	out := &v2.HPAScalingRules{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy,
		Tolerance: r.Tolerance}
	if r.Policies != nil {
		out.Policies = each(r.Policies, func(p *policy) v2.HPAScalingPolicy {
			return v2.HPAScalingPolicy{Type: p.Type, Value: p.Value, PeriodSeconds: p.PeriodSeconds}
		})
	}
	return out
}

func behaviorFromHub(b *v2.HorizontalPodAutoscalerBehavior) behavior {
	return behavior{ScaleUp: rulesFromHub(b.ScaleUp), ScaleDown: rulesFromHub(b.ScaleDown)}
}

func rulesFromHub(r *v2.HPAScalingRules) *rules {
	if r == nil {
		return nil
	}
	out := &rules{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance}
	if r.Policies != nil {
		out.Policies = each(r.Policies, func(p *v2.HPAScalingPolicy) policy {
			return policy{Type: p.Type, Value: p.Value, PeriodSeconds: p.PeriodSeconds}
		})
	}
	return out
}

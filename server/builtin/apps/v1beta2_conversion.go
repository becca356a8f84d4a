package apps

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
)

// AddV1beta2 registers the defaults of apps/v1beta2 and its conversions from and to apps/v1.
func AddV1beta2(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&v1beta2.Deployment{}, func(obj any) { setV1beta2Defaults(obj.(*v1beta2.Deployment)) })
	s.AddTypeDefaultingFunc(&v1beta2.DeploymentList{}, func(obj any) {
		list := obj.(*v1beta2.DeploymentList)
		for i := range list.Items {
			setV1beta2Defaults(&list.Items[i])
		}
	})
	return errors.Join(
		builtin.AddConversion(s, v1beta2ToHub),
		builtin.AddConversion(s, v1beta2FromHub),
		builtin.AddConversion(s, v1beta2ListToHub),
		builtin.AddConversion(s, v1beta2ListFromHub),
		builtin.AddConversion(s, v1beta2ScaleToHub),
		builtin.AddConversion(s, v1beta2ScaleFromHub),
	)
}

func v1beta2ToHub(in *v1beta2.Deployment, out *appsv1.Deployment) error {
	*out = appsv1.Deployment{
		ObjectMeta: in.ObjectMeta,
		Spec: appsv1.DeploymentSpec{
			Replicas:                in.Spec.Replicas,
			Selector:                in.Spec.Selector,
			Template:                in.Spec.Template,
			Strategy:                appsv1.DeploymentStrategy{Type: appsv1.DeploymentStrategyType(in.Spec.Strategy.Type)},
			MinReadySeconds:         in.Spec.MinReadySeconds,
			RevisionHistoryLimit:    in.Spec.RevisionHistoryLimit,
			Paused:                  in.Spec.Paused,
			ProgressDeadlineSeconds: in.Spec.ProgressDeadlineSeconds,
		},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration:  in.Status.ObservedGeneration,
			Replicas:            in.Status.Replicas,
			UpdatedReplicas:     in.Status.UpdatedReplicas,
			ReadyReplicas:       in.Status.ReadyReplicas,
			AvailableReplicas:   in.Status.AvailableReplicas,
			UnavailableReplicas: in.Status.UnavailableReplicas,
			TerminatingReplicas: in.Status.TerminatingReplicas,
			CollisionCount:      in.Status.CollisionCount,
		},
	}
	if u := in.Spec.Strategy.RollingUpdate; u != nil {
		out.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxUnavailable: u.MaxUnavailable, MaxSurge: u.MaxSurge}
	}
	for _, c := range in.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentConditionType(c.Type), Status: c.Status, LastUpdateTime: c.LastUpdateTime,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return nil
}

func v1beta2FromHub(in *appsv1.Deployment, out *v1beta2.Deployment) error {
	*out = v1beta2.Deployment{
		ObjectMeta: in.ObjectMeta,
		Spec: v1beta2.DeploymentSpec{
			Replicas:                in.Spec.Replicas,
			Selector:                in.Spec.Selector,
			Template:                in.Spec.Template,
			Strategy:                v1beta2.DeploymentStrategy{Type: v1beta2.DeploymentStrategyType(in.Spec.Strategy.Type)},
			MinReadySeconds:         in.Spec.MinReadySeconds,
			RevisionHistoryLimit:    in.Spec.RevisionHistoryLimit,
			Paused:                  in.Spec.Paused,
			ProgressDeadlineSeconds: in.Spec.ProgressDeadlineSeconds,
		},
		Status: v1beta2.DeploymentStatus{
			ObservedGeneration:  in.Status.ObservedGeneration,
			Replicas:            in.Status.Replicas,
			UpdatedReplicas:     in.Status.UpdatedReplicas,
			ReadyReplicas:       in.Status.ReadyReplicas,
			AvailableReplicas:   in.Status.AvailableReplicas,
			UnavailableReplicas: in.Status.UnavailableReplicas,
			TerminatingReplicas: in.Status.TerminatingReplicas,
			CollisionCount:      in.Status.CollisionCount,
		},
	}
	if u := in.Spec.Strategy.RollingUpdate; u != nil {
		out.Spec.Strategy.RollingUpdate = &v1beta2.RollingUpdateDeployment{MaxUnavailable: u.MaxUnavailable, MaxSurge: u.MaxSurge}
	}
	for _, c := range in.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, v1beta2.DeploymentCondition{
			Type: v1beta2.DeploymentConditionType(c.Type), Status: c.Status, LastUpdateTime: c.LastUpdateTime,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return nil
}

func v1beta2ListToHub(in *v1beta2.DeploymentList, out *appsv1.DeploymentList) (err error) {
	*out = appsv1.DeploymentList{ListMeta: in.ListMeta}
	out.Items, err = builtin.ConvertList(in.Items, v1beta2ToHub)
	return err
}

func v1beta2ListFromHub(in *appsv1.DeploymentList, out *v1beta2.DeploymentList) (err error) {
	*out = v1beta2.DeploymentList{ListMeta: in.ListMeta}
	out.Items, err = builtin.ConvertList(in.Items, v1beta2FromHub)
	return err
}

// v1beta2ScaleToHub prefers the newer of the two selector fields.
func v1beta2ScaleToHub(in *v1beta2.Scale, out *autoscalingv1.Scale) error {
	*out = autoscalingv1.Scale{
		ObjectMeta: in.ObjectMeta,
		Spec:       autoscalingv1.ScaleSpec{Replicas: in.Spec.Replicas},
		Status:     autoscalingv1.ScaleStatus{Replicas: in.Status.Replicas, Selector: in.Status.TargetSelector},
	}
	if out.Status.Selector == "" && in.Status.Selector != nil {
		out.Status.Selector = labels.SelectorFromSet(in.Status.Selector).String()
	}
	return nil
}

// v1beta2ScaleFromHub also fills the older selector field, if it can express the selector.
func v1beta2ScaleFromHub(in *autoscalingv1.Scale, out *v1beta2.Scale) error {
	*out = v1beta2.Scale{
		ObjectMeta: in.ObjectMeta,
		Spec:       v1beta2.ScaleSpec{Replicas: in.Spec.Replicas},
		Status:     v1beta2.ScaleStatus{Replicas: in.Status.Replicas, TargetSelector: in.Status.Selector},
	}
	selector, err := metav1.ParseToLabelSelector(in.Status.Selector)
	if err != nil {
		return fmt.Errorf("failed to parse selector: %w", err)
	}
	if len(selector.MatchExpressions) == 0 {
		out.Status.Selector = selector.MatchLabels
	}
	return nil
}

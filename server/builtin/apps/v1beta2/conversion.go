package v1beta2

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

// AddToScheme registers the defaults of this version and its conversions from and to apps/v1.
func AddToScheme(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&v1beta2.Deployment{}, func(obj any) { setDefaults(obj.(*v1beta2.Deployment)) })
	s.AddTypeDefaultingFunc(&v1beta2.DeploymentList{}, func(obj any) {
		list := obj.(*v1beta2.DeploymentList)
		for i := range list.Items {
			setDefaults(&list.Items[i])
		}
	})
	return errors.Join(
		builtin.AddConversion(s, toHub),
		builtin.AddConversion(s, fromHub),
		builtin.AddConversion(s, listToHub),
		builtin.AddConversion(s, listFromHub),
		builtin.AddConversion(s, scaleToHub),
		builtin.AddConversion(s, scaleFromHub),
	)
}

func toHub(in *v1beta2.Deployment, out *appsv1.Deployment) error {
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

func fromHub(in *appsv1.Deployment, out *v1beta2.Deployment) error {
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

func listToHub(in *v1beta2.DeploymentList, out *appsv1.DeploymentList) (err error) {
	*out = appsv1.DeploymentList{ListMeta: in.ListMeta}
	out.Items, err = builtin.ConvertList(in.Items, toHub)
	return err
}

func listFromHub(in *appsv1.DeploymentList, out *v1beta2.DeploymentList) (err error) {
	*out = v1beta2.DeploymentList{ListMeta: in.ListMeta}
	out.Items, err = builtin.ConvertList(in.Items, fromHub)
	return err
}

// scaleToHub prefers the newer of the two selector fields.
func scaleToHub(in *v1beta2.Scale, out *autoscalingv1.Scale) error {
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

// scaleFromHub also fills the older selector field, if it can express the selector.
func scaleFromHub(in *autoscalingv1.Scale, out *v1beta2.Scale) error {
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

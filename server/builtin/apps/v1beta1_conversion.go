package apps

import (
	"errors"
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/api/apps/v1beta1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
)

// AddV1beta1 registers the defaults of apps/v1beta1 and its conversions from and to apps/v1. Only this version has a
// rollback in the spec. The others have an annotation instead.
func AddV1beta1(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&v1beta1.Deployment{}, func(obj any) { setV1beta1Defaults(obj.(*v1beta1.Deployment)) })
	s.AddTypeDefaultingFunc(&v1beta1.DeploymentList{}, func(obj any) {
		list := obj.(*v1beta1.DeploymentList)
		for i := range list.Items {
			setV1beta1Defaults(&list.Items[i])
		}
	})
	return errors.Join(
		builtin.AddConversion(s, v1beta1ToHub),
		builtin.AddConversion(s, v1beta1FromHub),
		builtin.AddConversion(s, v1beta1ListToHub),
		builtin.AddConversion(s, v1beta1ListFromHub),
		builtin.AddConversion(s, v1beta1ScaleToHub),
		builtin.AddConversion(s, v1beta1ScaleFromHub),
	)
}

func v1beta1ToHub(in *v1beta1.Deployment, out *appsv1.Deployment) error {
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
	return rollbackToHub(in, out)
}

func v1beta1FromHub(in *appsv1.Deployment, out *v1beta1.Deployment) error {
	*out = v1beta1.Deployment{
		ObjectMeta: in.ObjectMeta,
		Spec: v1beta1.DeploymentSpec{
			Replicas:                in.Spec.Replicas,
			Selector:                in.Spec.Selector,
			Template:                in.Spec.Template,
			Strategy:                v1beta1.DeploymentStrategy{Type: v1beta1.DeploymentStrategyType(in.Spec.Strategy.Type)},
			MinReadySeconds:         in.Spec.MinReadySeconds,
			RevisionHistoryLimit:    in.Spec.RevisionHistoryLimit,
			Paused:                  in.Spec.Paused,
			ProgressDeadlineSeconds: in.Spec.ProgressDeadlineSeconds,
		},
		Status: v1beta1.DeploymentStatus{
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
		out.Spec.Strategy.RollingUpdate = &v1beta1.RollingUpdateDeployment{MaxUnavailable: u.MaxUnavailable, MaxSurge: u.MaxSurge}
	}
	for _, c := range in.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, v1beta1.DeploymentCondition{
			Type: v1beta1.DeploymentConditionType(c.Type), Status: c.Status, LastUpdateTime: c.LastUpdateTime,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return rollbackFromHub(in, out)
}

func v1beta1ListToHub(in *v1beta1.DeploymentList, out *appsv1.DeploymentList) (err error) {
	*out = appsv1.DeploymentList{ListMeta: in.ListMeta}
	out.Items, err = builtin.ConvertList(in.Items, v1beta1ToHub)
	return err
}

func v1beta1ListFromHub(in *appsv1.DeploymentList, out *v1beta1.DeploymentList) (err error) {
	*out = v1beta1.DeploymentList{ListMeta: in.ListMeta}
	out.Items, err = builtin.ConvertList(in.Items, v1beta1FromHub)
	return err
}

// v1beta1ScaleToHub prefers the newer of the two selector fields.
func v1beta1ScaleToHub(in *v1beta1.Scale, out *autoscalingv1.Scale) error {
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

// v1beta1ScaleFromHub also fills the older selector field, if it can express the selector.
func v1beta1ScaleFromHub(in *autoscalingv1.Scale, out *v1beta1.Scale) error {
	*out = v1beta1.Scale{
		ObjectMeta: in.ObjectMeta,
		Spec:       v1beta1.ScaleSpec{Replicas: in.Spec.Replicas},
		Status:     v1beta1.ScaleStatus{Replicas: in.Status.Replicas, TargetSelector: in.Status.Selector},
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

// rollbackToHub keeps the rollback in an annotation: apps/v1 has no field for it. Without a rollback it removes the
// annotation.
func rollbackToHub(in *v1beta1.Deployment, out *appsv1.Deployment) error {
	_, annotated := in.Annotations[appsv1.DeprecatedRollbackTo]
	if in.Spec.RollbackTo == nil && !annotated {
		return nil
	}
	out.Annotations = maps.Clone(in.Annotations)
	if in.Spec.RollbackTo == nil {
		delete(out.Annotations, appsv1.DeprecatedRollbackTo)
		return nil
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[appsv1.DeprecatedRollbackTo] = strconv.FormatInt(in.Spec.RollbackTo.Revision, 10)
	return nil
}

func rollbackFromHub(in *appsv1.Deployment, out *v1beta1.Deployment) error {
	value := in.Annotations[appsv1.DeprecatedRollbackTo]
	if value == "" {
		return nil
	}
	revision, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return fmt.Errorf("failed to parse annotation[%s]=%s as int64: %w", appsv1.DeprecatedRollbackTo, value, err)
	}
	out.Spec.RollbackTo = &v1beta1.RollbackConfig{Revision: revision}
	out.Annotations = maps.Clone(in.Annotations)
	delete(out.Annotations, appsv1.DeprecatedRollbackTo)
	return nil
}

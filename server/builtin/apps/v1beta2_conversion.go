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
	old, hub := v1beta2.SchemeGroupVersion, appsv1.SchemeGroupVersion
	return errors.Join(
		builtin.AddAlike(s, old.WithKind("Deployment"), hub.WithKind("Deployment")),
		builtin.AddAlike(s, old.WithKind("DeploymentList"), hub.WithKind("DeploymentList")),
		builtin.AddConversion(s, v1beta2ScaleToHub),
		builtin.AddConversion(s, v1beta2ScaleFromHub),
	)
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

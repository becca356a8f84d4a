package apps

import (
	"errors"
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/api/apps/v1beta1"
	"k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
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

// The parts of apps/v1beta1 that have the same fields in the other versions.
var (
	statusToHub     = builtin.ViewAs[v1beta1.DeploymentStatus, appsv1.DeploymentStatus]()
	statusFromHub   = builtin.ViewAs[appsv1.DeploymentStatus, v1beta1.DeploymentStatus]()
	strategyToHub   = builtin.ViewAs[v1beta1.DeploymentStrategy, appsv1.DeploymentStrategy]()
	strategyFromHub = builtin.ViewAs[appsv1.DeploymentStrategy, v1beta1.DeploymentStrategy]()
	scaleAsV1beta2  = builtin.ViewAs[v1beta1.Scale, v1beta2.Scale]()
)

func v1beta1ToHub(in *v1beta1.Deployment, out *appsv1.Deployment) error {
	*out = appsv1.Deployment{
		ObjectMeta: in.ObjectMeta,
		Spec: appsv1.DeploymentSpec{
			Replicas:                in.Spec.Replicas,
			Selector:                in.Spec.Selector,
			Template:                in.Spec.Template,
			Strategy:                *strategyToHub(&in.Spec.Strategy),
			MinReadySeconds:         in.Spec.MinReadySeconds,
			RevisionHistoryLimit:    in.Spec.RevisionHistoryLimit,
			Paused:                  in.Spec.Paused,
			ProgressDeadlineSeconds: in.Spec.ProgressDeadlineSeconds,
		},
		Status: *statusToHub(&in.Status),
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
			Strategy:                *strategyFromHub(&in.Spec.Strategy),
			MinReadySeconds:         in.Spec.MinReadySeconds,
			RevisionHistoryLimit:    in.Spec.RevisionHistoryLimit,
			Paused:                  in.Spec.Paused,
			ProgressDeadlineSeconds: in.Spec.ProgressDeadlineSeconds,
		},
		Status: *statusFromHub(&in.Status),
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

func v1beta1ScaleToHub(in *v1beta1.Scale, out *autoscalingv1.Scale) error {
	return v1beta2ScaleToHub(scaleAsV1beta2(in), out)
}

func v1beta1ScaleFromHub(in *autoscalingv1.Scale, out *v1beta1.Scale) error {
	return v1beta2ScaleFromHub(in, scaleAsV1beta2(out))
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

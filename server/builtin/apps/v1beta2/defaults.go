package v1beta2

import (
	"k8s.io/api/apps/v1beta2"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

func setDefaults(d *v1beta2.Deployment) {
	spec := &d.Spec
	setDefault(&spec.Replicas, 1)
	if spec.Strategy.Type == "" {
		spec.Strategy.Type = v1beta2.RollingUpdateDeploymentStrategyType
	}
	if spec.Strategy.Type == v1beta2.RollingUpdateDeploymentStrategyType {
		setDefault(&spec.Strategy.RollingUpdate, v1beta2.RollingUpdateDeployment{})
		setDefault(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		setDefault(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	setDefault(&spec.RevisionHistoryLimit, 10)
	setDefault(&spec.ProgressDeadlineSeconds, 600)
	podspec.SetDefaultsPodTemplate(&spec.Template)
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

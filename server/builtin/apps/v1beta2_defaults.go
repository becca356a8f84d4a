package apps

import (
	"k8s.io/api/apps/v1beta2"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

func setV1beta2Defaults(d *v1beta2.Deployment) {
	spec := &d.Spec
	podspec.SetDefault(&spec.Replicas, 1)
	if spec.Strategy.Type == "" {
		spec.Strategy.Type = v1beta2.RollingUpdateDeploymentStrategyType
	}
	if spec.Strategy.Type == v1beta2.RollingUpdateDeploymentStrategyType {
		podspec.SetDefault(&spec.Strategy.RollingUpdate, v1beta2.RollingUpdateDeployment{})
		podspec.SetDefault(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		podspec.SetDefault(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	podspec.SetDefault(&spec.RevisionHistoryLimit, 10)
	podspec.SetDefault(&spec.ProgressDeadlineSeconds, 600)
	podspec.SetDefaultsPodTemplate(&spec.Template)
}

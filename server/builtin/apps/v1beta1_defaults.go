package apps

import (
	"maps"

	"k8s.io/api/apps/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

func setV1beta1Defaults(d *v1beta1.Deployment) {
	spec := &d.Spec
	// A missing selector, and missing labels of the deployment, are the template's labels.
	if template := spec.Template.Labels; template != nil {
		if spec.Selector == nil {
			spec.Selector = &metav1.LabelSelector{MatchLabels: maps.Clone(template)}
		}
		if len(d.Labels) == 0 {
			d.Labels = maps.Clone(template)
		}
	}
	podspec.SetDefault(&spec.Replicas, 1)
	if spec.Strategy.Type == "" {
		spec.Strategy.Type = v1beta1.RollingUpdateDeploymentStrategyType
	}
	if spec.Strategy.Type == v1beta1.RollingUpdateDeploymentStrategyType {
		podspec.SetDefault(&spec.Strategy.RollingUpdate, v1beta1.RollingUpdateDeployment{})
		podspec.SetDefault(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		podspec.SetDefault(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	podspec.SetDefault(&spec.RevisionHistoryLimit, 2)
	podspec.SetDefault(&spec.ProgressDeadlineSeconds, 600)
	podspec.SetDefaultsPodTemplate(&spec.Template)
}

package apps

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/scale"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// Deployment is the resource deployments: pods made from a template, replaced in steps when it changes.
//
// This package gets only apps/v1 Deployments: v1beta1 and v1beta2 are converted above rest. The few rules that depend
// on the client's version read it from the request in the context.
//
// Only apps/v1beta1 can request a rollback. The stored object holds the request in an annotation: apps/v1 has no
// field for it.
var Deployment = builtin.Resource[*appsv1.Deployment]{
	Names: builtin.Names{
		Plural: "deployments", Singular: "deployment", Short: []string{"deploy"}, Categories: []string{"all"},
	},
	List:           &appsv1.DeploymentList{},
	Stored:         appsv1.SchemeGroupVersion,
	Served:         []schema.GroupVersion{appsv1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion, appsv1beta1.SchemeGroupVersion},
	Default:        setDeploymentDefaults,
	PrepareCreate:  workload.PrepareCreate(deploymentTemplate),
	PrepareUpdate:  workload.PrepareUpdate(deploymentTemplate),
	Validate:       validateDeployment,
	ValidateUpdate: validateDeploymentUpdate,
	Warnings:       workload.Warnings(deploymentTemplate),
	// In the group's first versions, the deletion of a deployment orphaned its replica sets.
	Dependents: workload.OrphansOf(appsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion),
	// Annotations are copied to the replica sets, so they count too.
	Spec: func(d *appsv1.Deployment) any { return []any{&d.Spec, d.Annotations} },
	Status: &builtin.Status[*appsv1.Deployment]{
		Of: func(d *appsv1.Deployment) any { return &d.Status },
		Part: builtin.Part[*appsv1.Deployment]{
			Keep: func(d, old *appsv1.Deployment) {
				d.Spec = old.Spec
				d.Labels = old.Labels
			},
			Reset: []string{"spec", "metadata.labels"},
			Check: validateDeploymentStatusUpdate,
		},
	},
	Sub: []builtin.Sub{
		scale.Sub(func(d *appsv1.Deployment) scale.View {
			return scale.View{Replicas: d.Spec.Replicas, Current: d.Status.Replicas, Selector: d.Spec.Selector}
		}),
		{
			Name: "rollback", Served: []schema.GroupVersion{appsv1beta1.SchemeGroupVersion},
			New: builtin.Make(func(r *builtin.REST) rest.Storage { return &RollbackREST{store: r.Store} }),
		},
	},
	Sample: `
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: nginx}]}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Ready", Type: "string", Description: "Number of the pod with ready state"},
		{Name: "Up-to-date", Type: "string", Description: appsv1.DeploymentStatus{}.SwaggerDoc()["updatedReplicas"]},
		{Name: "Available", Type: "string", Description: appsv1.DeploymentStatus{}.SwaggerDoc()["availableReplicas"]},
		builtin.AgeColumn,
		workload.ContainersColumn,
		workload.ImagesColumn,
		{Name: "Selector", Type: "string", Priority: 1, Description: appsv1.DeploymentSpec{}.SwaggerDoc()["selector"]},
	},
	Row:     deploymentRow,
	Special: builtin.Specialize(newStrategy),
}

func deploymentTemplate(obj *appsv1.Deployment) *corev1.PodTemplateSpec { return &obj.Spec.Template }

func deploymentRow(d *appsv1.Deployment) metav1.TableRow {
	desired := int32(0)
	if d.Spec.Replicas != nil {
		desired = *d.Spec.Replicas
	}
	names, images := workload.ContainerCells(d.Spec.Template.Spec.Containers)
	selector := "<invalid>"
	if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
		selector = s.String()
	}
	return builtin.Row(d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, desired), int64(d.Status.UpdatedReplicas),
		int64(d.Status.AvailableReplicas), builtin.Age(d.CreationTimestamp), names, images, selector)
}

func setDeploymentDefaults(d *appsv1.Deployment) {
	spec := &d.Spec
	podspec.SetDefault(&spec.Replicas, 1)
	if spec.Strategy.Type == "" {
		spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		podspec.SetDefault(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		podspec.SetDefault(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		podspec.SetDefault(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	podspec.SetDefault(&spec.RevisionHistoryLimit, 10)
	podspec.SetDefault(&spec.ProgressDeadlineSeconds, 600)
	podspec.SetDefaultsPodTemplate(&spec.Template)
}

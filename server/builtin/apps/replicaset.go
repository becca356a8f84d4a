package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/scale"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// ReplicaSet is the resource replicasets: a number of pods made from one template.
//
// Package apps/workload holds the rules for the template.
var ReplicaSet = builtin.Resource[*appsv1.ReplicaSet]{
	Names: builtin.Names{
		Plural: "replicasets", Singular: "replicaset", Short: []string{"rs"}, Categories: []string{"all"},
	},
	List:           &appsv1.ReplicaSetList{},
	Stored:         appsv1.SchemeGroupVersion,
	Default:        setReplicaSetDefaults,
	PrepareCreate:  workload.PrepareCreate(replicaSetTemplate),
	PrepareUpdate:  workload.PrepareUpdate(replicaSetTemplate),
	Validate:       validateReplicaSet,
	ValidateUpdate: validateReplicaSetUpdate,
	Warnings:       workload.Warnings(replicaSetTemplate),
	// In apps/v1beta2, the deletion of a replica set orphaned its pods.
	Dependents: workload.OrphansOf(appsv1beta2.SchemeGroupVersion),
	Spec:       func(rs *appsv1.ReplicaSet) any { return &rs.Spec },
	Status: &builtin.Status[*appsv1.ReplicaSet]{
		Of: func(rs *appsv1.ReplicaSet) any { return &rs.Status },
		Part: builtin.Part[*appsv1.ReplicaSet]{
			Keep:  func(rs, old *appsv1.ReplicaSet) { rs.Spec = old.Spec },
			Check: validateReplicaSetStatusUpdate,
		},
	},
	Sub: []builtin.Sub{scale.Sub(func(rs *appsv1.ReplicaSet) scale.View {
		return scale.View{Replicas: rs.Spec.Replicas, Current: rs.Status.Replicas, Selector: rs.Spec.Selector}
	})},
	Sample: `
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: nginx}]}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Desired", Type: "integer", Description: appsv1.ReplicaSetSpec{}.SwaggerDoc()["replicas"]},
		{Name: "Current", Type: "integer", Description: appsv1.ReplicaSetStatus{}.SwaggerDoc()["replicas"]},
		{Name: "Ready", Type: "integer", Description: appsv1.ReplicaSetStatus{}.SwaggerDoc()["readyReplicas"]},
		builtin.AgeColumn,
		workload.ContainersColumn,
		workload.ImagesColumn,
		{Name: "Selector", Type: "string", Priority: 1, Description: appsv1.ReplicaSetSpec{}.SwaggerDoc()["selector"]},
	},
	Row: replicaSetRow,
}

func replicaSetTemplate(obj *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &obj.Spec.Template }

func replicaSetRow(rs *appsv1.ReplicaSet) metav1.TableRow {
	desired := int32(0)
	if rs.Spec.Replicas != nil {
		desired = *rs.Spec.Replicas
	}
	names, images := workload.ContainerCells(rs.Spec.Template.Spec.Containers)
	return builtin.Row(rs.Name, int64(desired), int64(rs.Status.Replicas), int64(rs.Status.ReadyReplicas),
		builtin.Age(rs.CreationTimestamp),
		names, images, metav1.FormatLabelSelector(rs.Spec.Selector))
}

func setReplicaSetDefaults(rs *appsv1.ReplicaSet) {
	if rs.Spec.Replicas == nil {
		rs.Spec.Replicas = new(int32)
		*rs.Spec.Replicas = 1
	}
	podspec.SetDefaultsPodTemplate(&rs.Spec.Template)
}

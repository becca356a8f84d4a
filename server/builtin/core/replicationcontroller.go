package core

import (
	"context"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/scale"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// ReplicationController is the resource replicationcontrollers, the predecessor of replica sets: a number of pods
// from one template.
//
// Package apps/workload holds the rules for the template.
var ReplicationController = builtin.Resource[*corev1.ReplicationController]{
	Names: builtin.Names{
		Plural: "replicationcontrollers", Singular: "replicationcontroller", Short: []string{"rc"}, Categories: []string{"all"},
	},
	List:    &corev1.ReplicationControllerList{},
	Stored:  corev1.SchemeGroupVersion,
	Default: setReplicationControllerDefaults,
	Fields: []builtin.Field[*corev1.ReplicationController]{
		{Label: "status.replicas", Value: func(rc *corev1.ReplicationController) string { return strconv.Itoa(int(rc.Status.Replicas)) }},
	},
	PrepareCreate: func(_ context.Context, rc *corev1.ReplicationController) { dropDisabledFields(rc, nil) },
	PrepareUpdate: func(rc, old *corev1.ReplicationController) { dropDisabledFields(rc, templateSpec(old)) },
	Validate:      validateReplicationController,

	ValidateUpdate: validateReplicationControllerUpdate,
	Warnings:       replicationControllerWarnings,
	// By default, the deletion of a controller orphans its pods: that is v1's behaviour, and there is no later
	// version.
	Dependents: workload.OrphansOf(corev1.SchemeGroupVersion),
	Spec:       func(rc *corev1.ReplicationController) any { return &rc.Spec },
	Status: &builtin.Status[*corev1.ReplicationController]{
		Of: func(rc *corev1.ReplicationController) any { return &rc.Status },
		Part: builtin.Part[*corev1.ReplicationController]{
			Keep:  func(rc, old *corev1.ReplicationController) { rc.Spec = old.Spec },
			Check: validateReplicationControllerStatusUpdate,
		},
	},
	Sub: []builtin.Sub{scale.Sub(func(rc *corev1.ReplicationController) scale.View {
		return scale.View{Replicas: rc.Spec.Replicas, Current: rc.Status.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}}
	})},
	Sample: `
spec:
  replicas: 1
  selector: {app: NAME}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: nginx}]}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Desired", Type: "integer", Description: corev1.ReplicationControllerSpec{}.SwaggerDoc()["replicas"]},
		{Name: "Current", Type: "integer", Description: corev1.ReplicationControllerStatus{}.SwaggerDoc()["replicas"]},
		{Name: "Ready", Type: "integer", Description: corev1.ReplicationControllerStatus{}.SwaggerDoc()["readyReplicas"]},
		builtin.AgeColumn,
		workload.ContainersColumn,
		workload.ImagesColumn,
		{Name: "Selector", Type: "string", Priority: 1, Description: corev1.ReplicationControllerSpec{}.SwaggerDoc()["selector"]},
	},
	Row: replicationControllerRow,
}

func replicationControllerRow(rc *corev1.ReplicationController) metav1.TableRow {
	var containers []corev1.Container
	if spec := templateSpec(rc); spec != nil {
		containers = spec.Containers
	}
	names, images := workload.ContainerCells(containers)
	return builtin.Row(rc.Name, int64(ptr.Deref(rc.Spec.Replicas, 0)), int64(rc.Status.Replicas), int64(rc.Status.ReadyReplicas),
		builtin.Age(rc.CreationTimestamp), names, images, labels.FormatLabels(rc.Spec.Selector))
}

// setReplicationControllerDefaults copies a missing selector, and missing labels, from the template.
func setReplicationControllerDefaults(rc *corev1.ReplicationController) {
	if template := rc.Spec.Template; template != nil {
		if template.Labels != nil && len(rc.Spec.Selector) == 0 {
			rc.Spec.Selector = maps.Clone(template.Labels)
		}
		if template.Labels != nil && len(rc.Labels) == 0 {
			rc.Labels = maps.Clone(template.Labels)
		}
		podspec.SetDefaultsPodTemplate(template)
	}
	podspec.SetDefault(&rc.Spec.Replicas, 1)
}

// templateSpec returns the spec of the template, or nil without a template.
func templateSpec(rc *corev1.ReplicationController) *corev1.PodSpec {
	if rc.Spec.Template == nil {
		return nil
	}
	return &rc.Spec.Template.Spec
}

func dropDisabledFields(rc *corev1.ReplicationController, old *corev1.PodSpec) {
	if spec := templateSpec(rc); spec != nil {
		podspec.DropDisabledFields(spec, old)
	}
}

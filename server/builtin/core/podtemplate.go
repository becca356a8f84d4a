package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var podTemplatePath = field.NewPath("template")

// PodTemplate is the resource podtemplates: templates of pods that other objects may refer to.
var PodTemplate = builtin.Resource[*corev1.PodTemplate]{
	Names:   builtin.Names{Plural: "podtemplates", Singular: "podtemplate"},
	List:    &corev1.PodTemplateList{},
	Stored:  corev1.SchemeGroupVersion,
	Default: func(t *corev1.PodTemplate) { podspec.SetDefaultsPodTemplate(&t.Template) },
	PrepareCreate: func(_ context.Context, t *corev1.PodTemplate) {
		podspec.DropDisabledFields(&t.Template.Spec, nil)
	},
	PrepareUpdate: func(t, old *corev1.PodTemplate) {
		podspec.DropDisabledFields(&t.Template.Spec, &old.Template.Spec)
	},
	Validate:       validatePodTemplate,
	ValidateUpdate: validatePodTemplateUpdate,
	Warnings:       podTemplateWarnings,
	Spec:           func(t *corev1.PodTemplate) any { return &t.Template },
	Sample: `
template:
  metadata: {labels: {app: NAME}}
  spec: {containers: [{name: main, image: nginx}]}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Containers", Type: "string", Description: "Names of each container in the template."},
		{Name: "Images", Type: "string", Description: "Images referenced by each container in the template."},
		{Name: "Pod Labels", Type: "string", Description: "The labels for the pod template."},
	},
	Row: func(t *corev1.PodTemplate) metav1.TableRow {
		names, images := workload.ContainerCells(t.Template.Spec.Containers)
		return builtin.Row(t.Name, names, images, labels.FormatLabels(t.Template.Labels))
	},
	ReturnDeletedObject: true,
}

func validatePodTemplate(t *corev1.PodTemplate) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&t.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, podspec.ValidatePodTemplateSpec(&t.Template, podTemplatePath, podspec.Options{})...)
}

func validatePodTemplateUpdate(t, old *corev1.PodTemplate) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&t.ObjectMeta, &old.ObjectMeta)
	return append(errs, podspec.ValidatePodTemplateSpec(&t.Template, podTemplatePath, podspec.Options{
		Tolerated: podspec.MistakesIn(&old.Template.Spec, old.Template.Annotations),
	})...)
}

// podTemplateWarnings returns warnings about the template if the generation has changed.
func podTemplateWarnings(t, old *corev1.PodTemplate) []string {
	if old != nil && t.Generation == old.Generation {
		return nil
	}
	return podspec.TemplateWarnings(&t.Template, podTemplatePath)
}

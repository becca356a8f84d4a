package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var templatePath = field.NewPath("spec", "template")

// Warnings are about the name of a new object, and about the template of one whose generation has moved.
func Warnings(obj, old metav1.Object, template *corev1.PodTemplateSpec, isNew bool) []string {
	if isNew {
		return append(nameWarnings(obj.GetName()), podspec.TemplateWarnings(template, templatePath)...)
	}
	if obj.GetGeneration() == old.GetGeneration() {
		return nil
	}
	return podspec.TemplateWarnings(template, templatePath)
}

// nameWarnings are what the author should know of a name that pods' names begin with.
func nameWarnings(name string) []string {
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", wrong)}
	}
	return nil
}

// ContainerCells are the names and the images of containers, as kubectl shows them.
func ContainerCells(containers []corev1.Container) (names, images string) {
	for i, c := range containers {
		if i > 0 {
			names += ","
			images += ","
		}
		names += c.Name
		images += c.Image
	}
	return names, images
}

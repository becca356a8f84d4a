package workload

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var templatePath = field.NewPath("spec", "template")

// comparableObject is a pointer to an object. It is comparable with nil, which the old object is on creation.
type comparableObject interface {
	comparable
	builtin.Object
}

// Warnings makes the Warnings of a resource: about the name of a new object, and about the template if the generation
// has changed.
func Warnings[T comparableObject](template func(T) *corev1.PodTemplateSpec) func(obj, old T) []string {
	return func(obj, old T) []string {
		var none T
		switch {
		case old == none:
			return append(NameWarnings(obj.GetName()), podspec.TemplateWarnings(template(obj), templatePath)...)
		case obj.GetGeneration() == old.GetGeneration():
			return nil
		}
		return podspec.TemplateWarnings(template(obj), templatePath)
	}
}

// PrepareCreate makes the PrepareCreate of a resource that only has to prepare its template.
func PrepareCreate[T any](template func(T) *corev1.PodTemplateSpec) func(context.Context, T) {
	return func(_ context.Context, obj T) { podspec.DropDisabledFields(&template(obj).Spec, nil) }
}

// PrepareUpdate makes the PrepareUpdate of a resource that only has to prepare its template.
func PrepareUpdate[T any](template func(T) *corev1.PodTemplateSpec) func(obj, old T) {
	return func(obj, old T) { podspec.DropDisabledFields(&template(obj).Spec, &template(old).Spec) }
}

// NameWarnings returns warnings about a name that becomes the prefix of pods' names.
func NameWarnings(name string) []string {
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, "+
			"which can result in surprising behavior; a DNS label is recommended: %v", wrong)}
	}
	return nil
}

// ContainersColumn and ImagesColumn describe the cells of [ContainerCells].
var (
	ContainersColumn = builtin.Column{Name: "Containers", Type: "string", Priority: 1,
		Description: "Names of each container in the template."}
	ImagesColumn = builtin.Column{Name: "Images", Type: "string", Priority: 1,
		Description: "Images referenced by each container in the template."}
)

// ContainerCells returns the names and the images of containers in kubectl's form.
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

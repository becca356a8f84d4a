package core

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	persistentVolumeClaimSpecPath   = field.NewPath("spec")
	storagePath                     = persistentVolumeClaimSpecPath.Child("resources", "requests", "storage")
	classPath                       = persistentVolumeClaimSpecPath.Child("volumeAttributesClassName")
	persistentVolumeClaimStatusPath = field.NewPath("status")
)

func validatePersistentVolumeClaim(c *corev1.PersistentVolumeClaim) field.ErrorList {
	return validatePersistentVolumeClaimAll(c, podspec.ClaimMistakes{})
}

func validatePersistentVolumeClaimAll(c *corev1.PersistentVolumeClaim, tolerated podspec.ClaimMistakes) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, podspec.ValidateClaim(&c.Spec, persistentVolumeClaimSpecPath, tolerated)...)
}

func validatePersistentVolumeClaimUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	// Old claims were stored with only one of the data source fields.
	was := old.DeepCopy()
	completeSpec(&was.Spec)
	errs := builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validatePersistentVolumeClaimAll(c, podspec.ClaimMistakesIn(&was.Spec))...)
	errs = append(errs, validateImmutable(c, was)...)
	errs = append(errs, validateSize(c, was)...)
	errs = append(errs, apivalidation.ValidateImmutableField(c.Spec.VolumeMode, was.Spec.VolumeMode, field.NewPath("volumeMode"))...)
	class := c.Spec.VolumeAttributesClassName
	if was.Status.CurrentVolumeAttributesClassName != nil && !apiequality.Semantic.DeepEqual(class, was.Spec.VolumeAttributesClassName) {
		switch {
		case class == nil:
			errs = append(errs,
				field.Forbidden(classPath, "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"))
		case *class == "":
			errs = append(errs,
				field.Forbidden(classPath, "update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil"))
		}
	}
	return errs
}

// validateImmutable compares the specs apart from the allowed changes. The volume and the storage class may be set
// once; the size and the class of attributes may change while the claim is bound.
func validateImmutable(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	var errs field.ErrorList
	next, was := c.Spec.DeepCopy(), old.Spec.DeepCopy()
	if was.VolumeName == "" {
		was.VolumeName = next.VolumeName
	}
	if fromAnnotation(c, old) {
		next.StorageClassName = nil
	} else {
		errs = append(errs, validateAnnotation(c, old)...)
		if fromNothing(c, old) {
			next.StorageClassName = was.StorageClassName
		}
	}
	if c.Status.Phase == corev1.ClaimBound {
		if next.Resources.Requests != nil {
			next.Resources.Requests[corev1.ResourceStorage] = was.Resources.Requests[corev1.ResourceStorage]
		}
		next.VolumeAttributesClassName = was.VolumeAttributesClassName
	}
	if !apiequality.Semantic.DeepEqual(next, was) {
		errs = append(errs,
			field.Forbidden(persistentVolumeClaimSpecPath,
				fmt.Sprintf("spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n%v",
					diff.Diff(builtin.Quote(was), builtin.Quote(next)))))
	}
	return errs
}

// fromAnnotation reports whether the storage class moves from the annotation to the field that replaced it.
func fromAnnotation(c, old *corev1.PersistentVolumeClaim) bool {
	class, annotated := old.Annotations[corev1.BetaStorageClassAnnotation]
	kept, still := c.Annotations[corev1.BetaStorageClassAnnotation]
	next := c.Spec.StorageClassName
	return annotated && old.Spec.StorageClassName == nil && next != nil && *next == class && (!still || kept == class)
}

// fromNothing reports whether the update sets a missing storage class. If there is an annotation, the class must
// equal it.
func fromNothing(c, old *corev1.PersistentVolumeClaim) bool {
	class, annotated := old.Annotations[corev1.BetaStorageClassAnnotation]
	next := c.Spec.StorageClassName
	return next != nil && old.Spec.StorageClassName == nil && (!annotated || *next == class)
}

func validateAnnotation(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	next := c.Annotations[corev1.BetaStorageClassAnnotation]
	if next == old.Annotations[corev1.BetaStorageClassAnnotation] {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations", corev1.BetaStorageClassAnnotation), next,
		apivalidation.FieldImmutableErrorMsg)}
}

// validateSize lets a claim shrink its request only to a size above its capacity. So a user can take back an
// expansion that failed.
func validateSize(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	size, has := c.Spec.Resources.Requests[corev1.ResourceStorage], old.Status.Capacity[corev1.ResourceStorage]
	if size.Cmp(old.Spec.Resources.Requests[corev1.ResourceStorage]) >= 0 || size.Cmp(has) > 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(storagePath, "field can not be less than status.capacity")}
}

func validatePersistentVolumeClaimStatusUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	capacity := persistentVolumeClaimStatusPath.Child("capacity")
	for _, name := range podspec.ResourceNames(c.Status.Capacity) {
		errs = append(errs, validateNotNegative(c.Status.Capacity, name, capacity)...)
	}
	errs = append(errs, validateResizes(c.Status.AllocatedResourceStatuses)...)
	allocated := persistentVolumeClaimStatusPath.Child("allocatedResources")
	for _, name := range podspec.ResourceNames(c.Status.AllocatedResources) {
		wrong := validateResource(string(name), allocated)
		if len(wrong) == 0 {
			wrong = validateNotNegative(c.Status.AllocatedResources, name, allocated)
		}
		errs = append(errs, wrong...)
	}
	return errs
}

func validateNotNegative(list corev1.ResourceList, name corev1.ResourceName, path *field.Path) field.ErrorList {
	if size := list[name]; size.Value() < 0 {
		return field.ErrorList{field.Invalid(path.Key(string(name)), size.Value(), "must be a valid resource quantity")}
	}
	return nil
}

// validateResizes requires known states. The error about an unknown state quotes the resource and not the state, as
// upstream's does.
func validateResizes(states map[corev1.ResourceName]corev1.ClaimResourceStatus) field.ErrorList {
	known := []corev1.ClaimResourceStatus{
		corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
		corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
		corev1.PersistentVolumeClaimNodeResizePending,
	}
	path := persistentVolumeClaimStatusPath.Child("allocatedResourceStatuses")
	var errs field.ErrorList
	for name, state := range states {
		errs = append(errs, validateResource(string(name), path)...)
		if !slices.Contains(known, state) {
			errs = append(errs, field.NotSupported(path, name, known))
		}
	}
	return errs
}

// validateResource requires storage, or a resource that Kubernetes does not define.
func validateResource(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	if len(errs) == 0 && podspec.IsNativeResource(corev1.ResourceName(name)) && name != string(corev1.ResourceStorage) {
		errs = append(errs, field.NotSupported(path, name, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	return errs
}

package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// claimMetaFields are those of a claim template's metadata that its claim gets.
var claimMetaFields = sets.New("Annotations", "Labels")

func validateEphemeral(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	template, at := v.Ephemeral.VolumeClaimTemplate, path.Child("volumeClaimTemplate")
	if template == nil {
		return field.ErrorList{field.Required(at, "")}
	}
	meta := at.Child("metadata")
	errs := apivalidation.ValidateAnnotations(template.Annotations, meta.Child("annotations"))
	errs = append(errs, metav1validation.ValidateLabels(template.Labels, meta.Child("labels"))...)
	errs = append(errs, onlyFields(template.ObjectMeta, claimMetaFields, "cannot be set for an ephemeral volume", meta)...)
	return append(errs, validateClaimSpec(&template.Spec, at.Child("spec"))...)
}

func validateClaimSpec(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	modes := path.Child("accessModes")
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(modes, "at least 1 access mode is required"))
	}
	errs = append(errs, metav1validation.ValidateLabelSelector(spec.Selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
	for _, mode := range spec.AccessModes {
		errs = append(errs, supportedOrEmpty(modes, mode, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)...)
	}
	if len(spec.AccessModes) > 1 && slices.Contains(spec.AccessModes, corev1.ReadWriteOncePod) {
		errs = append(errs, field.Forbidden(modes, "may not use ReadWriteOncePod with other access modes"))
	}
	size := path.Child("resources").Key(string(corev1.ResourceStorage))
	if storage, ok := spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		errs = append(errs, field.Required(size, ""))
	} else if storage.Sign() <= 0 {
		errs = append(errs, validateQuantity(corev1.ResourceStorage, storage, size)...)
		errs = append(errs, field.Invalid(size, storage.String(), "must be greater than zero"))
	}
	if class := spec.StorageClassName; class != nil && *class != "" {
		errs = append(errs, invalid(path.Child("storageClassName"), *class, apivalidation.NameIsDNSSubdomain(*class, false))...)
	}
	if spec.VolumeMode != nil {
		errs = append(errs, supportedOrEmpty(path.Child("volumeMode"), *spec.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	return errs
}

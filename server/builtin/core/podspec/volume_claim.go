package podspec

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// claimMetaFields lists the fields of a claim template's metadata that are copied to the claim.
var claimMetaFields = sets.New("Annotations", "Labels")

func validateEphemeral(_ *validator, v *corev1.Volume, path *field.Path) field.ErrorList {
	template, at := v.Ephemeral.VolumeClaimTemplate, path.Child("volumeClaimTemplate")
	if template == nil {
		return field.ErrorList{field.Required(at, "")}
	}
	errs := ValidateTemplateMeta(&template.ObjectMeta, at.Child("metadata"))
	return append(errs, ValidateClaim(&template.Spec, at.Child("spec"), ClaimMistakes{})...)
}

// ValidateTemplateMeta checks the metadata of a template of claims. Only labels and annotations are allowed, since
// only they are copied to claims.
func ValidateTemplateMeta(meta *metav1.ObjectMeta, path *field.Path) field.ErrorList {
	errs := apivalidation.ValidateAnnotations(meta.Annotations, path.Child("annotations"))
	errs = append(errs, metav1validation.ValidateLabels(meta.Labels, path.Child("labels"))...)
	return append(errs, onlyFields(*meta, claimMetaFields, "cannot be set", path)...)
}

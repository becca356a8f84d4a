package core

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits of a token's lifetime, in seconds.
const minLifetimeSeconds, maxLifetimeSeconds = 10 * 60, 1 << 32

func validateTokenRequest(spec *authenticationv1.TokenRequestSpec) (errs field.ErrorList) {
	path := field.NewPath("spec")
	lifetime := path.Child("expirationSeconds")
	if *spec.ExpirationSeconds < minLifetimeSeconds {
		errs = append(errs, field.Invalid(lifetime, *spec.ExpirationSeconds, "may not specify a duration less than 10 minutes"))
	}
	if *spec.ExpirationSeconds > maxLifetimeSeconds {
		errs = append(errs, field.Invalid(lifetime, *spec.ExpirationSeconds, "may not specify a duration larger than 2^32 seconds"))
	}
	attestations := path.Child("attestations")
	if isWebhookRef(spec.BoundObjectRef) {
		if len(spec.Audiences) != 1 {
			errs = append(errs, field.Invalid(path.Child("audiences"), spec.Audiences, "must be length 1 when bound to a webhook config"))
		}
		return append(errs, validateAttestations(spec.Attestations, attestations)...)
	}
	if len(spec.Attestations) > 0 {
		return field.ErrorList{field.Invalid(attestations, spec.Attestations,
			"attestations may only be specified with a webhook bound object reference")}
	}
	return errs
}

// isWebhookRef reports whether the token is for calls of a webhook. Such requests are validated and then refused,
// since the feature is off.
func isWebhookRef(ref *authenticationv1.BoundObjectReference) bool {
	return ref != nil && ref.APIVersion == admissionregistrationv1.SchemeGroupVersion.String() &&
		(ref.Kind == "ValidatingWebhookConfiguration" || ref.Kind == "MutatingWebhookConfiguration")
}

func validateAttestations(attestations map[string]authenticationv1.AttestationValue, path *field.Path) (errs field.ErrorList) {
	if len(attestations) != 1 {
		return field.ErrorList{field.Invalid(path, attestations,
			"webhook bound requests require exactly one admissionReviewAPIGroups attestation")}
	}
	for key, values := range attestations {
		path := path.Key(key)
		switch {
		case key != authenticationv1.AttestationAdmissionReviewAPIGroups:
			errs = append(errs, field.NotSupported(path, key, []string{authenticationv1.AttestationAdmissionReviewAPIGroups}))
		case len(values) != 1:
			errs = append(errs, field.Invalid(path, values, "must specify a single value"))
		case values[0] == "":
			errs = append(errs, field.Invalid(path.Index(0), values[0], "may not be an empty string"))
		case values[0] != "*":
			for _, reason := range validation.IsDNS1123Subdomain(values[0]) {
				errs = append(errs, field.Invalid(path.Index(0), values[0], "must specify a valid API Group: "+reason))
			}
		}
	}
	return errs
}

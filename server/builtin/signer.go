package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateSignerName checks the name of a signer of certificates: a domain of two labels or more, a slash, and a path
// of labels.
func ValidateSignerName(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	domain, rest, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(rest, "/") {
		return field.ErrorList{field.Invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")}
	}
	if len(domain) > validation.DNS1123SubdomainMaxLength {
		errs = append(errs, field.TooLong(path, "", validation.DNS1123SubdomainMaxLength))
	}
	errs = append(errs, validateSignerPart(domain, validation.IsDNS1123Label, path)...)
	if !strings.Contains(domain, ".") {
		errs = append(errs, field.Invalid(path, domain, "should be a domain with at least two segments separated by dots"))
	}
	errs = append(errs, validateSignerPart(rest, validation.IsDNS1123Subdomain, path)...)
	// A namespace and a name, with a dot between, must fit behind the slash.
	limit := 2*validation.DNS1123SubdomainMaxLength + validation.DNS1123LabelMaxLength + 2
	if len(name) > limit {
		errs = append(errs, field.TooLong(path, "", limit))
	}
	return errs
}

// validateSignerPart reports the errors of the first invalid label only.
func validateSignerPart(part string, check func(string) []string, path *field.Path) (errs field.ErrorList) {
	for _, label := range strings.Split(part, ".") {
		for _, msg := range check(label) {
			errs = append(errs, field.Invalid(path, part, fmt.Sprintf("validating label %q: %s", label, msg)))
		}
		if len(errs) > 0 {
			return errs
		}
	}
	return nil
}

// ValidateUserAnnotations checks the annotations that a pod passes to the signer of its certificates: their keys must
// have domains. Upper case is allowed.
func ValidateUserAnnotations(annotations map[string]string, path *field.Path) (errs field.ErrorList) {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		errs = append(errs, validation.IsDomainPrefixedKey(path, strings.ToLower(key))...)
	}
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		errs = append(errs, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))
	}
	return errs
}

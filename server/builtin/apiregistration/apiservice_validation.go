package apiregistration

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"
)

const (
	maxGroupPriority   = 20000
	maxVersionPriority = 1000
)

var specPath = field.NewPath("spec")

// validate accepts finalizers without a domain, unlike the validation of other built-in objects.
func validate(s *apiregistrationv1.APIService) field.ErrorList {
	name := s.Spec.Version + "." + s.Spec.Group
	errs := apivalidation.ValidateObjectMeta(&s.ObjectMeta, false, func(given string, _ bool) []string {
		if wrong := content.IsPathSegmentName(given); len(wrong) > 0 || given == name {
			return wrong
		}
		return []string{fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", name)}
	}, field.NewPath("metadata"))
	errs = append(errs, validateVersion(&s.Spec)...)
	if s.Spec.Service == nil {
		return append(errs, validateLocal(&s.Spec)...)
	}
	return append(errs, validateService(&s.Spec)...)
}

func validateUpdate(s, old *apiregistrationv1.APIService) field.ErrorList {
	return append(apivalidation.ValidateObjectMetaUpdate(&s.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")), validate(s)...)
}

func validateStatus(s, old *apiregistrationv1.APIService) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&s.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	known := []apiregistrationv1.ConditionStatus{apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse,
		apiregistrationv1.ConditionUnknown}
	for i, c := range s.Status.Conditions {
		if !slices.Contains(known, c.Status) {
			errs = append(errs, field.NotSupported(field.NewPath("status", "conditions").Index(i).Child("status"), c.Status, known))
		}
	}
	return errs
}

func validateVersion(s *apiregistrationv1.APIServiceSpec) (errs field.ErrorList) {
	if s.Group == "" && s.Version != "v1" {
		errs = append(errs, field.Required(specPath.Child("group"), "only v1 may have an empty group and it better be legacy kube"))
	}
	if s.Group != "" {
		for _, msg := range validation.IsDNS1123Subdomain(s.Group) {
			errs = append(errs, field.Invalid(specPath.Child("group"), s.Group, msg))
		}
	}
	for _, msg := range validation.IsDNS1035Label(s.Version) {
		errs = append(errs, field.Invalid(specPath.Child("version"), s.Version, msg))
	}
	for _, p := range []struct {
		field      string
		value, max int32
	}{{"groupPriorityMinimum", s.GroupPriorityMinimum, maxGroupPriority}, {"versionPriority", s.VersionPriority, maxVersionPriority}} {
		if p.value <= 0 || p.value > p.max {
			errs = append(errs, field.Invalid(specPath.Child(p.field), p.value, fmt.Sprintf("must be positive and less than %d", p.max)))
		}
	}
	return errs
}

// validateLocal refuses fields about a connection.
func validateLocal(s *apiregistrationv1.APIServiceSpec) (errs field.ErrorList) {
	if len(s.CABundle) != 0 {
		errs = append(errs,
			field.Invalid(specPath.Child("caBundle"), fmt.Sprintf("%d bytes", len(s.CABundle)),
				"local APIServices may not have a caBundle"))
	}
	if s.InsecureSkipTLSVerify {
		errs = append(errs,
			field.Invalid(specPath.Child("insecureSkipTLSVerify"), true, "local APIServices may not have insecureSkipTLSVerify"))
	}
	return errs
}

func validateService(s *apiregistrationv1.APIServiceSpec) (errs field.ErrorList) {
	path := specPath.Child("service")
	if s.Service.Namespace == "" {
		errs = append(errs, field.Required(path.Child("namespace"), ""))
	}
	if s.Service.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	port := ptr.Deref(s.Service.Port, 0)
	if wrong := validation.IsValidPortNum(int(port)); len(wrong) > 0 {
		errs = append(errs, field.Invalid(path.Child("port"), port, "port is not valid: "+strings.Join(wrong, ", ")))
	}
	if s.InsecureSkipTLSVerify && len(s.CABundle) > 0 {
		errs = append(errs, field.Invalid(specPath.Child("insecureSkipTLSVerify"), true, "may not be true if caBundle is present"))
	}
	return errs
}

package admissionregistration

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

var notFoundActions = []admissionregistrationv1.ParameterNotFoundActionType{
	admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction,
}

// validateParamKind checks the kind of a policy's parameters.
func validateParamKind(kind admissionregistrationv1.ParamKind, path *field.Path) (errs field.ErrorList) {
	at := path.Child("apiVersion")
	if kind.APIVersion == "" {
		errs = append(errs, field.Required(at, ""))
	} else if version, err := schema.ParseGroupVersion(kind.APIVersion); err != nil {
		errs = append(errs, field.Invalid(at, kind.APIVersion, err.Error()))
	} else {
		errs = append(errs, validateVersion(version, kind.APIVersion, at)...)
	}
	if kind.Kind == "" {
		return append(errs, field.Required(path.Child("kind"), ""))
	}
	if msgs := validation.IsDNS1035Label(strings.ToLower(kind.Kind)); len(msgs) > 0 {
		errs = append(errs,
			field.Invalid(path.Child("kind"), kind.Kind, "may have mixed case, but should otherwise match: "+strings.Join(msgs, ",")))
	}
	return errs
}

func validateVersion(version schema.GroupVersion, whole string, path *field.Path) (errs field.ErrorList) {
	if version.Group != "" {
		if msgs := validation.IsDNS1123Subdomain(version.Group); len(msgs) > 0 {
			errs = append(errs, field.Invalid(path, version.Group, strings.Join(msgs, ",")))
		}
	}
	if version.Version == "" {
		return append(errs, field.Invalid(path, whole, "version must be specified"))
	}
	if msgs := validation.IsDNS1035Label(version.Version); len(msgs) > 0 {
		errs = append(errs, field.Invalid(path, version.Version, strings.Join(msgs, ",")))
	}
	return errs
}

// validateParamRef checks a binding's reference to the parameters of its policy. It accepts nil.
func validateParamRef(ref *admissionregistrationv1.ParamRef, path *field.Path) (errs field.ErrorList) {
	const exclusive = "name and selector are mutually exclusive"
	if ref == nil {
		return nil
	}
	if ref.Name != "" {
		for _, msg := range content.IsPathSegmentName(ref.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), ref.Name, msg))
		}
		if ref.Selector != nil {
			errs = append(errs, field.Forbidden(path.Child("name"), exclusive))
		}
	}
	if ref.Selector != nil {
		opts := metav1validation.LabelSelectorValidationOptions{}
		errs = append(errs, metav1validation.ValidateLabelSelector(ref.Selector, opts, path.Child("selector"))...)
		if ref.Name != "" {
			errs = append(errs, field.Forbidden(path.Child("selector"), exclusive))
		}
	}
	if ref.Name == "" && ref.Selector == nil {
		errs = append(errs, field.Required(path, "one of name or selector must be specified"))
	}
	at := path.Child("parameterNotFoundAction")
	if action := ptr.Deref(ref.ParameterNotFoundAction, ""); action == "" {
		errs = append(errs, field.Required(at, ""))
	} else if !slices.Contains(notFoundActions, action) {
		errs = append(errs, field.NotSupported(at, action, notFoundActions))
	}
	return errs
}

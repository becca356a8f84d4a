package flowcontrol

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSubject requires the field that belongs to the subject's kind, and forbids the others.
func validateSubject(s *flowcontrolv1.Subject, path *field.Path) (errs field.ErrorList) {
	kinds := []struct {
		kind     flowcontrolv1.SubjectKind
		field    string
		given    bool
		validate func(*flowcontrolv1.Subject, *field.Path) field.ErrorList
	}{
		{flowcontrolv1.SubjectKindServiceAccount, "serviceAccount", s.ServiceAccount != nil, validateServiceAccount},
		{flowcontrolv1.SubjectKindUser, "user", s.User != nil, validateUser},
		{flowcontrolv1.SubjectKindGroup, "group", s.Group != nil, validateGroup},
	}
	known := sets.New[flowcontrolv1.SubjectKind]()
	for _, k := range kinds {
		known.Insert(k.kind)
	}
	if !known.Has(s.Kind) {
		return field.ErrorList{field.NotSupported(path.Child("kind"), s.Kind, sets.List(known))}
	}
	// As on a Kubernetes API server, the mistakes in the subject's own field come before the forbidden fields.
	for _, k := range kinds {
		switch at := path.Child(k.field); {
		case k.kind != s.Kind:
		case !k.given:
			errs = append(errs, field.Required(at, fmt.Sprintf("%s is required when subject kind is '%s'", k.field, k.kind)))
		default:
			errs = append(errs, k.validate(s, at)...)
		}
	}
	for _, k := range kinds {
		if k.kind != s.Kind && k.given {
			errs = append(errs,
				field.Forbidden(path.Child(k.field), fmt.Sprintf("%s is forbidden when subject kind is not '%s'", k.field, k.kind)))
		}
	}
	return errs
}

func validateServiceAccount(s *flowcontrolv1.Subject, path *field.Path) (errs field.ErrorList) {
	account := s.ServiceAccount
	switch account.Name {
	case "":
		errs = append(errs, field.Required(path.Child("name"), ""))
	case flowcontrolv1.NameAll:
	default:
		for _, msg := range apivalidation.ValidateServiceAccountName(account.Name, false) {
			errs = append(errs, field.Invalid(path.Child("name"), account.Name, msg))
		}
	}
	if account.Namespace == "" {
		return append(errs, field.Required(path.Child("namespace"), "must specify namespace for service account"))
	}
	for _, msg := range apivalidation.ValidateNamespaceName(account.Namespace, false) {
		errs = append(errs, field.Invalid(path.Child("namespace"), account.Namespace, msg))
	}
	return errs
}

func validateUser(s *flowcontrolv1.Subject, path *field.Path) field.ErrorList {
	return requireName(s.User.Name, path)
}

func validateGroup(s *flowcontrolv1.Subject, path *field.Path) field.ErrorList {
	return requireName(s.Group.Name, path)
}

func requireName(name string, path *field.Path) field.ErrorList {
	if name != "" {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("name"), "")}
}

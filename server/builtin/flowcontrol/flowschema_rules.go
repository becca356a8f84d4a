package flowcontrol

import (
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const all = "*"

var verbs = sets.New("get", "list", "create", "update", "delete", "deletecollection", "patch", "watch", "proxy")

func validateResourceRule(r *flowcontrolv1.ResourcePolicyRule, path *field.Path) field.ErrorList {
	errs := validateVerbs(r.Verbs, path.Child("verbs"))
	errs = append(errs,
		validateList(r.APIGroups, path.Child("apiGroups"), "resource rules must supply at least one api group", "api groups")...)
	errs = append(errs,
		validateList(r.Resources, path.Child("resources"), "resource rules must supply at least one resource", "resources")...)
	namespaces := path.Child("namespaces")
	if len(r.Namespaces) == 0 && r.ClusterScope {
		return errs
	}
	errs = append(errs,
		validateList(r.Namespaces, namespaces, "resource rules that are not cluster scoped must supply at least one namespace",
			"namespaces")...)
	if slices.Contains(r.Namespaces, all) {
		return errs
	}
	for i, namespace := range r.Namespaces {
		for _, msg := range apivalidation.ValidateNamespaceName(namespace, false) {
			errs = append(errs,
				field.Invalid(namespaces.Index(i), namespace, "each member of this list must be '*' or a DNS-1123 label; "+msg))
		}
	}
	return errs
}

func validateNonResourceRule(r *flowcontrolv1.NonResourcePolicyRule, path *field.Path) field.ErrorList {
	errs := validateVerbs(r.Verbs, path.Child("verbs"))
	urls := path.Child("nonResourceURLs")
	errs = append(errs, validateList(r.NonResourceURLs, urls, "nonResourceURLs must contain at least one value", "non-resource URLs")...)
	if slices.Contains(r.NonResourceURLs, all) {
		return errs
	}
	for i, url := range r.NonResourceURLs {
		if wrong := wrongURL(url); wrong != "" {
			errs = append(errs, field.Invalid(urls.Index(i), url, wrong))
		}
	}
	return errs
}

func validateVerbs(given []string, path *field.Path) field.ErrorList {
	errs := validateList(given, path, "verbs must contain at least one value", "verbs")
	if len(errs) == 0 && !slices.Contains(given, all) && !verbs.HasAll(given...) {
		errs = append(errs, field.NotSupported(path, given, sets.List(verbs)))
	}
	return errs
}

// validateList requires a list that is not empty, and "*" only on its own.
func validateList(list []string, path *field.Path, missing, what string) field.ErrorList {
	switch {
	case len(list) == 0:
		return field.ErrorList{field.Required(path, missing)}
	case len(list) > 1 && slices.Contains(list, all):
		return field.ErrorList{field.Invalid(path, list, "if '*' is present, must not specify other "+what)}
	}
	return nil
}

// wrongURL explains why a path is invalid, or returns "". "*" may only stand for everything after a slash.
func wrongURL(url string) string {
	stars := strings.Count(url, all)
	switch {
	case url == "":
		return "must not be empty"
	case url == "/":
		return ""
	case !strings.HasPrefix(url, "/"):
		return "must start with slash"
	case strings.Contains(url, " "):
		return "must not contain white-space"
	case strings.Contains(url, "//"):
		return "must not contain double slash"
	case stars > 1 || stars == 1 && !strings.HasSuffix(url, "/*"):
		return "wildcard can only do suffix matching"
	}
	return ""
}

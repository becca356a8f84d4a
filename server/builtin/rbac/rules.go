package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateName requires a valid segment of a path: names of roles may contain colons.
func validateName(name string, _ bool) []string { return content.IsPathSegmentName(name) }

// validateRules checks the rules of a role. missing holds the errors about missing verbs, which an API server reports
// last.
func validateRules(rules []rbacv1.PolicyRule, namespaced bool) (errs, missing field.ErrorList) {
	for i := range rules {
		path := field.NewPath("rules").Index(i)
		errs = append(errs, validateRule(&rules[i], namespaced, path)...)
		if len(rules[i].Verbs) == 0 {
			missing = append(missing, field.Required(path.Child("verbs"), ""))
		}
	}
	return errs, missing
}

func validateRule(rule *rbacv1.PolicyRule, namespaced bool, path *field.Path) (errs field.ErrorList) {
	if urls := rule.NonResourceURLs; len(urls) > 0 {
		at := path.Child("nonResourceURLs")
		if namespaced {
			errs = append(errs, field.Invalid(at, urls, "namespaced rules cannot apply to non-resource URLs"))
		}
		if len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0 {
			errs = append(errs, field.Invalid(at, urls, "rules cannot apply to both regular resources and non-resource URLs"))
		}
		return errs
	}
	if len(rule.APIGroups) == 0 {
		errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if len(rule.Resources) == 0 {
		errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
	}
	return errs
}

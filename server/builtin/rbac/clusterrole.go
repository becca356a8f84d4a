package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ClusterRole declares clusterroles.rbac.authorization.k8s.io. guard refuses writes that grant more permissions than
// the user has.
func ClusterRole(guard *Guard) builtin.Resource[*rbacv1.ClusterRole] {
	return builtin.Resource[*rbacv1.ClusterRole]{
		Names:          builtin.Names{Plural: "clusterroles", Singular: "clusterrole"},
		List:           &rbacv1.ClusterRoleList{},
		Stored:         rbacv1.SchemeGroupVersion,
		ClusterScoped:  true,
		Validate:       func(r *rbacv1.ClusterRole) field.ErrorList { return validateClusterRole(r, nil) },
		ValidateUpdate: validateClusterRole,
		CreateOnUpdate: true,
		Sample:         `rules: [{apiGroups: [""], resources: [pods], verbs: [get, list, watch]}]`,
		Hooks: GuardRoles(guard, "clusterroles", func(r *rbacv1.ClusterRole) (*metav1.ObjectMeta, []rbacv1.PolicyRule, bool) {
			return &r.ObjectMeta, r.Rules, r.AggregationRule != nil && len(r.AggregationRule.ClusterRoleSelectors) > 0
		}),
	}
}

func validateClusterRole(r, old *rbacv1.ClusterRole) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&r.ObjectMeta, false, validateName)
	rules, missing := validateRules(r.Rules, false)
	errs = append(errs, rules...)
	errs = append(errs, validateAggregation(r.AggregationRule, old)...)
	if old != nil {
		errs = append(errs, builtin.ValidateObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)...)
	}
	return append(errs, missing...)
}

var selectorsPath = field.NewPath("aggregationRule", "clusterRoleSelectors")

// validateAggregation lets a stored role keep label values that are no longer valid.
func validateAggregation(rule *rbacv1.AggregationRule, old *rbacv1.ClusterRole) (errs field.ErrorList) {
	if rule == nil {
		return nil
	}
	if len(rule.ClusterRoleSelectors) == 0 {
		errs = append(errs, field.Required(selectorsPath, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	opts := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: hasInvalidSelector(old)}
	for i := range rule.ClusterRoleSelectors {
		path := selectorsPath.Index(i)
		errs = append(errs, metav1validation.ValidateLabelSelector(&rule.ClusterRoleSelectors[i], opts, path)...)
		if selector, err := metav1.LabelSelectorAsSelector(&rule.ClusterRoleSelectors[i]); err != nil {
			errs = append(errs, field.Invalid(path, selector, "invalid label selector."))
		}
	}
	return errs
}

func hasInvalidSelector(r *rbacv1.ClusterRole) bool {
	if r == nil || r.AggregationRule == nil {
		return false
	}
	for i := range r.AggregationRule.ClusterRoleSelectors {
		selector := &r.AggregationRule.ClusterRoleSelectors[i]
		if len(metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, nil)) > 0 {
			return true
		}
	}
	return false
}

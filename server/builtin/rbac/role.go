package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// Role declares roles.rbac.authorization.k8s.io. guard refuses writes that grant more permissions than the user has.
func Role(guard *Guard) builtin.Resource[*rbacv1.Role] {
	return builtin.Resource[*rbacv1.Role]{
		Names:          builtin.Names{Plural: "roles", Singular: "role"},
		List:           &rbacv1.RoleList{},
		Stored:         rbacv1.SchemeGroupVersion,
		Validate:       func(r *rbacv1.Role) field.ErrorList { return validateRole(r, nil) },
		ValidateUpdate: validateRole,
		CreateOnUpdate: true,
		Sample:         `rules: [{apiGroups: [""], resources: [pods], verbs: [get, list, watch]}]`,
		Hooks: GuardRoles(guard, "roles", func(r *rbacv1.Role) (*metav1.ObjectMeta, []rbacv1.PolicyRule, bool) {
			return &r.ObjectMeta, r.Rules, false
		}),
	}
}

func validateRole(r, old *rbacv1.Role) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&r.ObjectMeta, true, validateName)
	rules, missing := validateRules(r.Rules, true)
	errs = append(errs, rules...)
	if old != nil {
		errs = append(errs, builtin.ValidateObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)...)
	}
	return append(errs, missing...)
}

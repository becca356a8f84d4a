// Package role declares roles.rbac.authorization.k8s.io.
package role

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/rbac"
)

// Resource declares roles. guard keeps users from giving more than they have.
func Resource(guard *rbac.Guard) builtin.Resource[*rbacv1.Role] {
	return builtin.Resource[*rbacv1.Role]{
		Names:          builtin.Names{Plural: "roles", Singular: "role"},
		List:           &rbacv1.RoleList{},
		Stored:         rbacv1.SchemeGroupVersion,
		Validate:       func(r *rbacv1.Role) field.ErrorList { return validate(r, nil) },
		ValidateUpdate: validate,
		CreateOnUpdate: true,
		Sample:         `rules: [{apiGroups: [""], resources: [pods], verbs: [get, list, watch]}]`,
		Hooks: rbac.GuardRoles(guard, "roles", func(r *rbacv1.Role) (*metav1.ObjectMeta, []rbacv1.PolicyRule, bool) {
			return &r.ObjectMeta, r.Rules, false
		}),
	}
}

func validate(r, old *rbacv1.Role) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&r.ObjectMeta, true, rbac.ValidateName)
	rules, missing := rbac.ValidateRules(r.Rules, true)
	errs = append(errs, rules...)
	if old != nil {
		errs = append(errs, builtin.ValidateObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)...)
	}
	return append(errs, missing...)
}

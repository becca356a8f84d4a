package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// RoleBinding declares rolebindings.rbac.authorization.k8s.io. guard refuses writes that grant more permissions than
// the user has.
func RoleBinding(guard *Guard) builtin.Resource[*rbacv1.RoleBinding] {
	return builtin.Resource[*rbacv1.RoleBinding]{
		Names:    builtin.Names{Plural: "rolebindings", Singular: "rolebinding"},
		List:     &rbacv1.RoleBindingList{},
		Stored:   rbacv1.SchemeGroupVersion,
		Default:  func(b *rbacv1.RoleBinding) { roleBindingParts(b).setDefaults() },
		Validate: func(b *rbacv1.RoleBinding) field.ErrorList { return roleBindingParts(b).Validate(true) },
		ValidateUpdate: func(b, old *rbacv1.RoleBinding) field.ErrorList {
			return roleBindingParts(b).ValidateUpdate(roleBindingParts(old), true)
		},
		CreateOnUpdate: true,
		Sample: `
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: NAME}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]`,
		// The description comes from v1beta1, as in every Kubernetes API server.
		Columns: columns("roleBinding", rbacv1beta1.RoleBinding{}.SwaggerDoc()["roleRef"]),
		Row:     func(b *rbacv1.RoleBinding) metav1.TableRow { return roleBindingParts(b).row() },
		Hooks:   GuardBindings(guard, "rolebindings", roleBindingParts),
	}
}

func roleBindingParts(b *rbacv1.RoleBinding) binding {
	return binding{
		Kind: "RoleBinding", RoleKinds: []string{"Role", "ClusterRole"}, Meta: &b.ObjectMeta, Role: &b.RoleRef, Subjects: b.Subjects,
	}
}

// Package rolebinding declares rolebindings.rbac.authorization.k8s.io.
package rolebinding

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/rbac"
)

// Resource declares role bindings. guard keeps users from giving more than they have.
func Resource(guard *rbac.Guard) builtin.Resource[*rbacv1.RoleBinding] {
	return builtin.Resource[*rbacv1.RoleBinding]{
		Names:    builtin.Names{Plural: "rolebindings", Singular: "rolebinding"},
		List:     &rbacv1.RoleBindingList{},
		Stored:   rbacv1.SchemeGroupVersion,
		Default:  func(b *rbacv1.RoleBinding) { parts(b).SetDefaults() },
		Validate: func(b *rbacv1.RoleBinding) field.ErrorList { return parts(b).Validate(true) },
		ValidateUpdate: func(b, old *rbacv1.RoleBinding) field.ErrorList {
			return parts(b).ValidateUpdate(parts(old), true)
		},
		CreateOnUpdate: true,
		Sample: `
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: NAME}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]`,
		// The description is that of v1beta1, as with every Kubernetes API server.
		Columns: rbac.Columns("roleBinding", rbacv1beta1.RoleBinding{}.SwaggerDoc()["roleRef"]),
		Row:     func(b *rbacv1.RoleBinding) metav1.TableRow { return parts(b).Row() },
		Hooks:   rbac.GuardBindings(guard, "rolebindings", parts),
	}
}

func parts(b *rbacv1.RoleBinding) rbac.Binding {
	return rbac.Binding{
		Kind: "RoleBinding", RoleKinds: []string{"Role", "ClusterRole"}, Meta: &b.ObjectMeta, Role: &b.RoleRef, Subjects: b.Subjects,
	}
}

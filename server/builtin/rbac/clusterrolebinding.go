package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ClusterRoleBinding declares clusterrolebindings.rbac.authorization.k8s.io. guard refuses writes that grant more
// permissions than the user has.
func ClusterRoleBinding(guard *Guard) builtin.Resource[*rbacv1.ClusterRoleBinding] {
	return builtin.Resource[*rbacv1.ClusterRoleBinding]{
		Names:         builtin.Names{Plural: "clusterrolebindings", Singular: "clusterrolebinding"},
		List:          &rbacv1.ClusterRoleBindingList{},
		Stored:        rbacv1.SchemeGroupVersion,
		ClusterScoped: true,
		Default:       func(b *rbacv1.ClusterRoleBinding) { clusterRoleBindingParts(b).setDefaults() },
		Validate:      func(b *rbacv1.ClusterRoleBinding) field.ErrorList { return clusterRoleBindingParts(b).Validate(false) },
		ValidateUpdate: func(b, old *rbacv1.ClusterRoleBinding) field.ErrorList {
			return clusterRoleBindingParts(b).ValidateUpdate(clusterRoleBindingParts(old), false)
		},
		CreateOnUpdate: true,
		Sample: `
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]`,
		// The description comes from v1beta1, as in every Kubernetes API server.
		Columns: columns("clusterRoleBinding", rbacv1beta1.ClusterRoleBinding{}.SwaggerDoc()["roleRef"]),
		Row:     func(b *rbacv1.ClusterRoleBinding) metav1.TableRow { return clusterRoleBindingParts(b).row() },
		Hooks:   GuardBindings(guard, "clusterrolebindings", clusterRoleBindingParts),
	}
}

func clusterRoleBindingParts(b *rbacv1.ClusterRoleBinding) binding {
	return binding{
		Kind: "ClusterRoleBinding", RoleKinds: []string{"ClusterRole"}, Meta: &b.ObjectMeta, Role: &b.RoleRef, Subjects: b.Subjects,
	}
}

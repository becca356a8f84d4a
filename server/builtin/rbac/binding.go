package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// binding holds the common parts of RoleBindings and ClusterRoleBindings.
type binding struct {
	// Kind is the kind of the binding. RoleKinds lists the kinds of roles that it can refer to.
	Kind      string
	RoleKinds []string

	Meta     *metav1.ObjectMeta
	Role     *rbacv1.RoleRef
	Subjects []rbacv1.Subject
}

// setDefaults fills in the API groups.
func (b binding) setDefaults() {
	if b.Role.APIGroup == "" {
		b.Role.APIGroup = rbacv1.GroupName
	}
	for i := range b.Subjects {
		if s := &b.Subjects[i]; s.APIGroup == "" && (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) {
			s.APIGroup = rbacv1.GroupName
		}
	}
}

// Validate checks the role and the subjects of a new binding. It reports missing names last, as every Kubernetes API
// server does.
func (b binding) Validate(namespaced bool) field.ErrorList {
	errs, missing := b.validate(namespaced)
	if b.Role.Name == "" {
		missing = append(missing, field.Required(rolePath.Child("name"), ""))
	}
	return append(errs, missing...)
}

// ValidateUpdate also refuses a change of the role. It does not report a missing name of the role last: only Validate
// does.
func (b binding) ValidateUpdate(old binding, namespaced bool) field.ErrorList {
	errs, missing := b.validate(namespaced)
	if b.Role.Name == "" {
		errs = append(errs, field.Required(rolePath.Child("name"), ""))
	}
	errs = append(errs, builtin.ValidateObjectMetaUpdate(b.Meta, old.Meta)...)
	if *b.Role != *old.Role {
		// Messages name the fields as Kubernetes' internal types do.
		value := struct{ APIGroup, Kind, Name string }{b.Role.APIGroup, b.Role.Kind, b.Role.Name}
		errs = append(errs, field.Invalid(rolePath, value, apivalidation.FieldImmutableErrorMsg))
	}
	return append(errs, missing...)
}

var rolePath = field.NewPath("roleRef")

// validateRoleKind checks group and kind of the role, before the role is read.
func (b binding) validateRoleKind() (errs field.ErrorList) {
	if b.Role.APIGroup != rbacv1.GroupName {
		errs = append(errs, field.NotSupported(rolePath.Child("apiGroup"), b.Role.APIGroup, []string{rbacv1.GroupName}))
	}
	if !slices.Contains(b.RoleKinds, b.Role.Kind) {
		errs = append(errs, field.NotSupported(rolePath.Child("kind"), b.Role.Kind, b.RoleKinds))
	}
	return errs
}

func (b binding) validate(namespaced bool) (errs, missing field.ErrorList) {
	errs = builtin.ValidateObjectMeta(b.Meta, namespaced, validateName)
	errs = append(errs, b.validateRoleKind()...)
	for _, msg := range validateName(b.Role.Name, false) {
		errs = append(errs, field.Invalid(rolePath.Child("name"), b.Role.Name, msg))
	}
	for i := range b.Subjects {
		path := field.NewPath("subjects").Index(i)
		errs = append(errs, validateSubject(&b.Subjects[i], namespaced, path)...)
		if b.Subjects[i].Name == "" {
			missing = append(missing, field.Required(path.Child("name"), ""))
		}
	}
	return errs, missing
}

func validateSubject(s *rbacv1.Subject, namespaced bool, path *field.Path) (errs field.ErrorList) {
	group := rbacv1.GroupName
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		group = ""
		if s.Name != "" {
			for _, msg := range apivalidation.ValidateServiceAccountName(s.Name, false) {
				errs = append(errs, field.Invalid(path.Child("name"), s.Name, msg))
			}
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
	default:
		kinds := []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}
		return field.ErrorList{field.NotSupported(path.Child("kind"), s.Kind, kinds)}
	}
	if s.APIGroup != group {
		errs = append(errs, field.NotSupported(path.Child("apiGroup"), s.APIGroup, []string{group}))
	}
	if s.Kind == rbacv1.ServiceAccountKind && !namespaced && s.Namespace == "" {
		errs = append(errs, field.Required(path.Child("namespace"), ""))
	}
	return errs
}

// columns returns kubectl's columns of a kind of bindings.
func columns(kind, roleRef string) []builtin.Column {
	return []builtin.Column{
		builtin.NameColumn,
		{Name: "Role", Type: "string", Description: roleRef},
		builtin.AgeColumn,
		{Name: "Users", Type: "string", Priority: 1, Description: "Users in the " + kind},
		{Name: "Groups", Type: "string", Priority: 1, Description: "Groups in the " + kind},
		{Name: "ServiceAccounts", Type: "string", Priority: 1, Description: "ServiceAccounts in the " + kind},
	}
}

// row makes the cells of a binding.
func (b binding) row() metav1.TableRow {
	names := map[string][]string{}
	for _, s := range b.Subjects {
		name := s.Name
		if s.Kind == rbacv1.ServiceAccountKind {
			name = s.Namespace + "/" + name
		}
		names[s.Kind] = append(names[s.Kind], name)
	}
	join := func(kind string) string { return strings.Join(names[kind], ", ") }
	return builtin.Row(b.Meta.Name, b.Role.Kind+"/"+b.Role.Name, builtin.Age(b.Meta.CreationTimestamp),
		join(rbacv1.UserKind), join(rbacv1.GroupKind), join(rbacv1.ServiceAccountKind))
}

package rbac

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Kind is the kind of a role or a binding.
type Kind int

// The kinds.
const (
	ClusterRole Kind = iota
	Role
	ClusterRoleBinding
	RoleBinding
)

// String returns the kind's name in the API.
func (k Kind) String() string {
	return [...]string{"ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"}[k]
}

// Change is the new state of a role or a binding.
type Change struct {
	Kind            Kind
	Namespace, Name string
	// Gone is true if the object was deleted, and Damaged if it can't be read.
	Gone, Damaged bool
	// Rules are the rules of a role. They must not change any more.
	Rules []rbacv1.PolicyRule
	// To is the role that a binding gives to Subjects.
	To       rbacv1.RoleRef
	Subjects []rbacv1.Subject
}

// id identifies a role or a binding. The namespace is empty for a ClusterRole or a ClusterRoleBinding.
type id struct{ namespace, name string }

// index is the state at one time. It is immutable.
type index struct {
	roles map[id]*role
	// users has full names as keys, and so includes service accounts.
	users, groups map[string]subject
	// damaged lists the bindings that can't be read.
	damaged []*binding
}

// subject has the bindings of a user or a group by namespace, sorted by name. ClusterRoleBindings have the empty
// namespace.
type subject map[string][]*binding

// binding gives a role to subjects.
type binding struct {
	id
	to       rbacv1.RoleRef
	subjects []rbacv1.Subject

	sentence atomic.Pointer[sentence]
}

func (b *binding) kind() Kind {
	if b.namespace == "" {
		return ClusterRoleBinding
	}
	return RoleBinding
}

// role returns the role that a binding gives, or nil.
func (x *index) role(b *binding) *role {
	switch b.to.Kind {
	case "ClusterRole":
		return x.roles[id{name: b.to.Name}]
	case "Role":
		if b.namespace != "" {
			return x.roles[id{b.namespace, b.to.Name}]
		}
	}
	return nil
}

// rulesOf returns the rules of a referenced role in a namespace. Its errors have the text of a Kubernetes API server.
func (x *index) rulesOf(to rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	b := binding{id: id{namespace: namespace}, to: to}
	r := x.role(&b)
	switch {
	case to.Kind != "Role" && to.Kind != "ClusterRole":
		return nil, fmt.Errorf("unsupported role reference kind: %q", to.Kind)
	case r == nil:
		return nil, apierrors.NewNotFound(rbacv1.Resource(strings.ToLower(to.Kind)), to.Name)
	case r.damaged:
		return nil, fmt.Errorf("%s %q can't be read: what is stored is damaged", rbacv1.Resource(strings.ToLower(to.Kind)), to.Name)
	}
	return r.rules, nil
}

// grant is a rule that allows a request.
type grant struct {
	by   *binding
	role *role
	rule int
}

// find looks for a grant to a user. If there is none, failed reports whether some role of theirs is missing or can't be
// read.
//
// A grant by a ClusterRoleBinding comes before one by a RoleBinding, whether the user or a group has it. The decision
// is the same, but so its reason names the same binding as upstream.
func (x *index) find(who user.Info, q *question) (g grant, failed bool) {
	// local is the first grant by a RoleBinding.
	local, fails := grant{}, false
	if g, failed = x.findGrant(x.users[who.GetName()], q, &local); g.by != nil {
		return g, false
	}
	for _, group := range who.GetGroups() {
		if g, fails = x.findGrant(x.groups[group], q, &local); g.by != nil {
			return g, false
		}
		failed = failed || fails
	}
	return local, failed && local.by == nil
}

// findGrant looks for a grant to a subject by a ClusterRoleBinding, and for one by a RoleBinding unless local has one.
func (x *index) findGrant(s subject, q *question, local *grant) (g grant, failed bool) {
	if s == nil {
		return grant{}, false
	}
	if g, failed = x.first(s[""], q); g.by != nil || q.namespace == "" || local.by != nil {
		return g, failed
	}
	var fails bool
	*local, fails = x.first(s[q.namespace], q)
	return grant{}, failed || fails
}

func (x *index) first(bindings []*binding, q *question) (g grant, failed bool) {
	for _, b := range bindings {
		r := x.role(b)
		if r == nil || r.damaged {
			failed = true
			continue
		}
		if rule, ok := r.allows(q); ok {
			return grant{by: b, role: r, rule: rule}, false
		}
	}
	return grant{}, failed
}

// bindings returns each binding of a user once: the ClusterRoleBindings, then those of the wanted namespaces.
func (x *index) bindings(who user.Info, wanted func(namespace string) bool) []*binding {
	found := map[*binding]bool{}
	add := func(s subject) {
		for namespace, bindings := range s {
			if wanted(namespace) {
				for _, b := range bindings {
					found[b] = true
				}
			}
		}
	}
	add(x.users[who.GetName()])
	for _, group := range who.GetGroups() {
		add(x.groups[group])
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b *binding) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}

// bindingsIn returns the bindings of a user that count in a namespace.
func (x *index) bindingsIn(who user.Info, namespace string) []*binding {
	return x.bindings(who, func(of string) bool { return of == "" || of == namespace })
}

// subjectOf returns the first subject of a binding that matches a user.
func (b *binding) subjectOf(who user.Info) *rbacv1.Subject {
	for i := range b.subjects {
		s := &b.subjects[i]
		is := false
		if s.Kind == rbacv1.GroupKind {
			is = slices.Contains(who.GetGroups(), s.Name)
		} else if name, ok := userOf(s, b.namespace); ok {
			is = name == who.GetName()
		}
		if is {
			return s
		}
	}
	return nil
}

// userOf returns the full name of a user or a service account. An account without a namespace belongs to that of its
// binding.
func userOf(s *rbacv1.Subject, namespace string) (name string, ok bool) {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name, true
	case rbacv1.ServiceAccountKind:
		namespace = cmp.Or(s.Namespace, namespace)
		return serviceaccount.ServiceAccountUsernamePrefix + namespace + serviceaccount.ServiceAccountUsernameSeparator +
			s.Name, namespace != ""
	}
	return "", false
}

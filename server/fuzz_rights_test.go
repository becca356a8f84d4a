package server_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/internal/fuzztest"
)

// grants are roles and bindings at one time, by which the fuzzer decides without the server's code who may do what.
type grants struct {
	roles           []rbacv1.Role
	bindings        []rbacv1.RoleBinding
	clusterRoles    []rbacv1.ClusterRole
	clusterBindings []rbacv1.ClusterRoleBinding
}

// rights returns the present rights, or nil if the sequence has made their API unusable.
func (w *world) rights(t testing.TB) *grants {
	t.Helper()
	ctx, access, g := within(t), w.admin.RbacV1(), &grants{}
	roles, err1 := access.Roles("").List(ctx, metav1.ListOptions{})
	bindings, err2 := access.RoleBindings("").List(ctx, metav1.ListOptions{})
	clusterRoles, err3 := access.ClusterRoles().List(ctx, metav1.ListOptions{})
	clusterBindings, err4 := access.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return nil
	}
	g.roles, g.bindings, g.clusterRoles, g.clusterBindings = roles.Items, bindings.Items, clusterRoles.Items, clusterBindings.Items
	return g
}

// question is what a user wants to do: verbs of which one is enough, to one of some resources or to a path.
type question struct {
	who             fuzztest.Identity
	verbs           []string
	group           string
	resources       []string
	namespace, name string
	path            string
}

func (g *grants) allow(q question) bool {
	if slices.Contains(q.who.Groups, "system:masters") {
		return true
	}
	for _, b := range g.clusterBindings {
		if isBound(b.Subjects, "", q.who) && allowed(g.rules(b.RoleRef, ""), q) {
			return true
		}
	}
	for _, b := range g.bindings {
		if q.path == "" && b.Namespace == q.namespace && isBound(b.Subjects, b.Namespace, q.who) && allowed(g.rules(b.RoleRef, b.Namespace), q) {
			return true
		}
	}
	return false
}

func (g *grants) rules(ref rbacv1.RoleRef, ns string) []rbacv1.PolicyRule {
	for _, r := range g.clusterRoles {
		if ref.Kind == "ClusterRole" && r.Name == ref.Name {
			return r.Rules
		}
	}
	for _, r := range g.roles {
		if ref.Kind == "Role" && r.Name == ref.Name && r.Namespace == ns {
			return r.Rules
		}
	}
	return nil
}

func isBound(subjects []rbacv1.Subject, ns string, who fuzztest.Identity) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		if s.Kind == rbacv1.ServiceAccountKind {
			in := s.Namespace
			if in == "" {
				in = ns
			}
			return who.Name == "system:serviceaccount:"+in+":"+s.Name
		}
		return s.Kind == rbacv1.UserKind && s.Name == who.Name || s.Kind == rbacv1.GroupKind && slices.Contains(who.Groups, s.Name)
	})
}

func allowed(rules []rbacv1.PolicyRule, q question) bool {
	has := func(all []string, wanted ...string) bool {
		return slices.Contains(all, "*") || slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(all, w) })
	}
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		switch {
		case !has(r.Verbs, q.verbs...):
			return false
		case q.path != "":
			return slices.ContainsFunc(r.NonResourceURLs, func(pattern string) bool {
				prefix, wild := strings.CutSuffix(pattern, "*")
				return pattern == q.path || wild && strings.HasPrefix(q.path, prefix)
			})
		case len(r.ResourceNames) > 0 && !slices.Contains(r.ResourceNames, q.name):
			return false
		}
		wanted := q.resources
		for _, resource := range q.resources {
			if _, sub, found := strings.Cut(resource, "/"); found {
				wanted = append(slices.Clone(wanted), "*/"+sub)
			}
		}
		return has(r.APIGroups, q.group) && has(r.Resources, wanted...)
	})
}

// may says whether the user could do it at any time of this sequence or the one before: the server learns of new rights later than the
// client that made them.
func (w *world) may(t testing.TB, q question) bool {
	allows := func(g *grants) bool { return g == nil || g.allow(q) }
	if slices.ContainsFunc(w.grants, allows) {
		return true
	}
	w.grants = append(w.grants, w.rights(t)) // a controller may have added to a role
	return allows(w.grants[len(w.grants)-1])
}

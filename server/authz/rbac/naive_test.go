package rbac_test

import (
	"math/rand/v2"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/server/authz/rbac"
)

// policy is what the naive evaluator decides by: all roles and bindings, in the order in which they came.
type policy []rbac.Change

// with returns the policy after a change.
func (p policy) with(c rbac.Change) policy {
	p = slices.DeleteFunc(slices.Clone(p), func(old rbac.Change) bool {
		return old.Kind == c.Kind && old.Namespace == c.Namespace && old.Name == c.Name
	})
	if c.Gone {
		return p
	}
	return append(p, c)
}

// allows asks every binding, every subject and every rule.
func (p policy) allows(a authorizer.AttributesRecord) bool {
	for _, b := range p {
		if b.Kind != rbac.ClusterRoleBinding && (b.Kind != rbac.RoleBinding || a.Namespace == "" || b.Namespace != a.Namespace) || b.Damaged {
			continue
		}
		if slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return names(s, a.User, b.Namespace) }) &&
			slices.ContainsFunc(p.rules(b), func(r rbacv1.PolicyRule) bool { return permits(r, a) }) {
			return true
		}
	}
	return false
}

func (p policy) rules(b rbac.Change) []rbacv1.PolicyRule {
	for _, r := range p {
		if r.Name != b.To.Name || r.Damaged {
			continue
		}
		if r.Kind == rbac.ClusterRole && b.To.Kind == "ClusterRole" || r.Kind == rbac.Role && b.To.Kind == "Role" && b.Namespace != "" && r.Namespace == b.Namespace {
			return r.Rules
		}
	}
	return nil
}

func names(s rbacv1.Subject, who user.Info, namespace string) bool {
	switch s.Kind {
	case "User":
		return s.Name == who.GetName()
	case "Group":
		return slices.Contains(who.GetGroups(), s.Name)
	case "ServiceAccount":
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		return namespace != "" && who.GetName() == "system:serviceaccount:"+namespace+":"+s.Name
	}
	return false
}

func permits(r rbacv1.PolicyRule, a authorizer.AttributesRecord) bool {
	has := func(list []string, one string) bool { return slices.Contains(list, one) || slices.Contains(list, "*") }
	if !has(r.Verbs, a.Verb) {
		return false
	}
	if !a.ResourceRequest {
		return slices.ContainsFunc(r.NonResourceURLs, func(url string) bool {
			return url == a.Path || strings.HasSuffix(url, "*") && strings.HasPrefix(a.Path, strings.TrimRight(url, "*"))
		})
	}
	whole := a.Resource
	if a.Subresource != "" {
		whole += "/" + a.Subresource
	}
	return has(r.APIGroups, a.APIGroup) &&
		(has(r.Resources, whole) || a.Subresource != "" && slices.Contains(r.Resources, "*/"+a.Subresource)) &&
		(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, a.Name))
}

// The words of random policies and questions: few, so that they meet.
var (
	someNames      = []string{"a", "b", "c"}
	someNamespaces = []string{"x", "y"}
	someVerbs      = []string{"get", "list", "create", "*"}
	someGroups     = []string{"", "apps", "*"}
	someResources  = []string{"pods", "pods/status", "pods/a/b", "*", "*/status", "secrets", "*/", "/status", "pods/*", "*/*"}
	somePaths      = []string{"/healthz", "/healthz/*", "/api*", "/a**", "*", "/", ""}
)

func one[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func some[T any](r *rand.Rand, of []T) (list []T) {
	for range r.IntN(4) {
		list = append(list, one(r, of))
	}
	return list
}

func randomRules(r *rand.Rand) (rules []rbacv1.PolicyRule) {
	for range r.IntN(6) {
		rule := rbacv1.PolicyRule{Verbs: some(r, someVerbs)}
		if r.IntN(4) == 0 {
			rule.NonResourceURLs = some(r, somePaths)
		}
		if r.IntN(4) > 0 {
			rule.APIGroups, rule.Resources = some(r, someGroups), some(r, someResources)
		}
		if r.IntN(3) == 0 {
			rule.ResourceNames = some(r, someNames)
		}
		rules = append(rules, rule)
	}
	return rules
}

func randomSubject(r *rand.Rand) rbacv1.Subject {
	return rbacv1.Subject{
		Kind: one(r, []string{"User", "User", "Group", "Group", "ServiceAccount", "Other"}), Name: one(r, someNames), Namespace: one(r, append(someNamespaces, "", "")),
	}
}

func randomChange(r *rand.Rand) rbac.Change {
	c := rbac.Change{Kind: rbac.Kind(r.IntN(4)), Name: one(r, someNames), Gone: r.IntN(8) == 0, Damaged: r.IntN(15) == 0}
	if c.Kind == rbac.Role || c.Kind == rbac.RoleBinding {
		c.Namespace = one(r, someNamespaces)
	}
	if c.Gone || c.Damaged {
		return c
	}
	if c.Kind == rbac.ClusterRole || c.Kind == rbac.Role {
		c.Rules = randomRules(r)
		return c
	}
	c.To = rbacv1.RoleRef{Kind: one(r, []string{"ClusterRole", "ClusterRole", "ClusterRole", "ClusterRole", "Role", "Role", "Other"}), Name: one(r, someNames)}
	for range r.IntN(4) {
		c.Subjects = append(c.Subjects, randomSubject(r))
	}
	return c
}

func randomQuestion(r *rand.Rand) authorizer.AttributesRecord {
	who := &user.DefaultInfo{Name: one(r, append(someNames, "system:serviceaccount:x:a", "system:serviceaccount:y:b")), Groups: some(r, someNames)}
	a := authorizer.AttributesRecord{User: who, Verb: one(r, someVerbs)}
	if r.IntN(4) == 0 {
		a.Path = one(r, []string{"/healthz", "/healthz/etcd", "/api", "/apis", "/a", "/", "", "/*", "*"})
		return a
	}
	a.ResourceRequest = true
	a.Namespace, a.APIGroup, a.Name = one(r, append(someNamespaces, "")), one(r, someGroups), one(r, append(someNames, ""))
	a.Resource, a.Subresource = one(r, []string{"pods", "secrets", "*", "pods/status", "pods/a", ""}), one(r, []string{"", "", "status", "b", "a/b", "*"})
	return a
}

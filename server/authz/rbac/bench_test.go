package rbac_test

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/server/authz/rbac"
)

// crowd is a policy in which each of n users is bound by a binding of their own to a role of twenty rules.
func crowd(n int) []rbac.Change {
	var rules []rbacv1.PolicyRule
	for i := range 20 {
		rules = append(rules, rbacv1.PolicyRule{
			Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{fmt.Sprint("things", i), fmt.Sprint("things", i, "/status")},
		})
	}
	all := []rbac.Change{{Kind: rbac.ClusterRole, Name: "view", Rules: rules}}
	for i := range n {
		all = append(all, crowded(i))
	}
	return all
}

func crowded(i int) rbac.Change {
	return rbac.Change{
		Kind: rbac.ClusterRoleBinding, Name: fmt.Sprint("b", i), To: rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: fmt.Sprint("user", i)}},
	}
}

// member is the question of a user who is in the groups of whoever is known.
func member(verb string) authorizer.Attributes {
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "user500", Groups: []string{"dev", "ops", user.AllAuthenticated}}, ResourceRequest: true,
		Verb: verb, Resource: "things19", Namespace: "x", Name: "a",
	}
}

// TestAllocations decides without allocating anything, whether it is allowed or not.
func TestAllocations(t *testing.T) {
	a := rbac.New()
	a.Replace(crowd(1000))
	for verb, want := range map[string]bool{"get": true, "delete": false} {
		ask := member(verb)
		if n := testing.AllocsPerRun(100, func() {
			if v, err := a.Decide(t.Context(), ask); err != nil || v.Allowed() != want {
				t.Errorf("%s: allowed: %v, %v", verb, v.Allowed(), err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", verb, n)
		}
	}
}

// BenchmarkDecide has a user who is bound by one of 1,000 bindings.
func BenchmarkDecide(b *testing.B) {
	a := rbac.New()
	a.Replace(crowd(1000))
	for _, verb := range []string{"get", "delete"} {
		b.Run(verb, func(b *testing.B) {
			ask := member(verb)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = a.Decide(b.Context(), ask)
			}
		})
	}
}

// BenchmarkApply changes one of 1,000 bindings.
func BenchmarkApply(b *testing.B) {
	a := rbac.New()
	a.Replace(crowd(1000))
	for i := 0; b.Loop(); i++ {
		a.Apply([]rbac.Change{crowded(i % 1000)})
	}
}

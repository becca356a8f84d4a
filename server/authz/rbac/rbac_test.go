package rbac_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/server/authz/rbac"
)

// TestRandom compares the index with an evaluator that has none, over random policies and while they change.
func TestRandom(t *testing.T) {
	allowed, denied := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var known policy
		for range 60 {
			known = known.with(randomChange(r))
		}
		a := rbac.New()
		a.Replace(known)
		for range 10 {
			var changes []rbac.Change
			for range 1 + r.IntN(4) {
				c := randomChange(r)
				changes, known = append(changes, c), known.with(c)
			}
			a.Apply(changes)
			for range 40 {
				q := randomQuestion(r)
				got, reason, err := a.Authorize(t.Context(), q)
				want := known.allows(q)
				if err != nil || (got == authorizer.DecisionAllow) != want {
					t.Fatalf("seed %d: %+v by %+v is %v (%s, %v), want allowed: %v\n%+v", seed, q, q.User, got, reason, err, want, known)
				}
				if want {
					allowed++
				} else {
					denied++
				}
				// What a user is told of their rules is what they may do.
				rules, _ := a.Rules(t.Context(), q.User, q.Namespace)
				if told := slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return permits(r, q) }); told != want {
					t.Fatalf("seed %d: the rules of %+v in %q say %v of %+v, want %v", seed, q.User, q.Namespace, told, q, want)
				}
			}
		}
	}
	if allowed < 1000 || denied < 1000 {
		t.Errorf("%d questions were allowed and %d denied: too few to compare", allowed, denied)
	}
}

// TestRace asks while roles change. One of two bindings always allows it.
func TestRace(t *testing.T) {
	rules := []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
	bound := func(name string) rbac.Change {
		return rbac.Change{
			Kind: rbac.RoleBinding, Namespace: "x", Name: name, To: rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "a"}},
		}
	}
	a := rbac.New()
	a.Replace([]rbac.Change{{Kind: rbac.ClusterRole, Name: "reader", Rules: rules}, bound("one"), bound("two")})
	var running sync.WaitGroup
	defer running.Wait()
	for range 2 {
		running.Go(func() {
			for range 5000 {
				if got, reason, err := a.Authorize(t.Context(), ask("a", "get", "pods", "x")); got != authorizer.DecisionAllow {
					t.Errorf("%v %q %v", got, reason, err)
					return
				}
			}
		})
	}
	for range 500 {
		for _, name := range []string{"one", "two"} {
			gone := bound(name)
			gone.Gone = true
			a.Apply([]rbac.Change{gone, {Kind: rbac.ClusterRole, Name: "other", Rules: rules}})
			a.Apply([]rbac.Change{bound(name), {Kind: rbac.ClusterRole, Name: "other", Gone: true}})
		}
	}
}

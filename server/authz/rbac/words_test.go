package rbac_test

import (
	"context"
	"errors"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/server/authz/rbac"
)

// ask is a question of a user about a resource in a namespace.
func ask(who, verb, resource, namespace string, groups ...string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: who, Groups: groups}, ResourceRequest: true, Verb: verb, Resource: resource, Namespace: namespace,
	}
}

func may(verb, resource string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{resource}}}
}

// TestReason has the words of the Kubernetes API server.
func TestReason(t *testing.T) {
	reader := rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"}
	a := rbac.New()
	a.Replace([]rbac.Change{
		{Kind: rbac.ClusterRole, Name: "reader", Rules: may("get", "pods")},
		{Kind: rbac.ClusterRole, Name: "broken", Damaged: true},
		{Kind: rbac.Role, Namespace: "x", Name: "writer", Rules: may("create", "pods")},
		{Kind: rbac.ClusterRoleBinding, Name: "readers", To: reader, Subjects: []rbacv1.Subject{{Kind: "User", Name: "b"}, {Kind: "Group", Name: "g"}}},
		{Kind: rbac.ClusterRoleBinding, Name: "lost", To: rbacv1.RoleRef{Kind: "ClusterRole", Name: "gone"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "l"}, {Kind: "Group", Name: "l"}}},
		{Kind: rbac.RoleBinding, Namespace: "x", Name: "writers", To: rbacv1.RoleRef{Kind: "Role", Name: "writer"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "robot"}}},
		{Kind: rbac.RoleBinding, Namespace: "x", Name: "lost", To: rbacv1.RoleRef{Kind: "Role", Name: "gone"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "l"}}},
		{Kind: rbac.RoleBinding, Namespace: "x", Name: "odd", To: rbacv1.RoleRef{Kind: "Odd", Name: "o"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "l"}}},
		{Kind: rbac.RoleBinding, Namespace: "y", Name: "broken", To: rbacv1.RoleRef{Kind: "ClusterRole", Name: "broken"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "d"}}},
	})
	for _, test := range []struct {
		ask  authorizer.AttributesRecord
		want string
	}{
		{ask("a", "get", "pods", "", "g"), `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "g"`},
		{ask("b", "get", "pods", "", "g"), `RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to User "b"`},
		{ask("system:serviceaccount:x:robot", "create", "pods", "x"), `RBAC: allowed by RoleBinding "writers/x" of Role "writer" to ServiceAccount "robot/x"`},
		{ask("a", "get", "pods", ""), ``},
		{ask("l", "get", "pods", "", "l"), `RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found`},
		{ask("l", "get", "pods", "x"), `RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "gone" not found, unsupported role reference kind: "Odd"]`},
		{ask("d", "get", "pods", "y"), `RBAC: clusterrole.rbac.authorization.k8s.io "broken" can't be read: what is stored is damaged`},
	} {
		if _, got, err := a.Authorize(t.Context(), test.ask); got != test.want || err != nil {
			t.Errorf("%+v: %q (%v), want %q", test.ask, got, err, test.want)
		}
	}
}

// TestUnknown asks before anything is known: the question waits, until something is or its time is up.
func TestUnknown(t *testing.T) {
	a := rbac.New()
	if a.Known() {
		t.Error("nothing is known yet")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if got, _, err := a.Authorize(ctx, ask("a", "get", "pods", "")); got != authorizer.DecisionNoOpinion || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := a.Rules(ctx, &user.DefaultInfo{Name: "a"}, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	asked := make(chan authorizer.Decision)
	go func() {
		got, _, _ := a.Authorize(t.Context(), ask("a", "get", "pods", ""))
		asked <- got
	}()
	a.Replace([]rbac.Change{
		{Kind: rbac.ClusterRole, Name: "reader", Rules: may("get", "pods")},
		{Kind: rbac.ClusterRoleBinding, Name: "a", To: rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "a"}}},
	})
	if got := <-asked; got != authorizer.DecisionAllow {
		t.Errorf("%v", got)
	}
	if !a.Known() {
		t.Error("it is known")
	}
}

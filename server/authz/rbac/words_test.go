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

// TestReasonOrder has a user who is granted the same by bindings of the cluster and of the namespace: those of the cluster come first, also those
// of a group.
func TestReasonOrder(t *testing.T) {
	to := rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"}
	user, first, second := rbacv1.Subject{Kind: "User", Name: "a"}, rbacv1.Subject{Kind: "Group", Name: "g"}, rbacv1.Subject{Kind: "Group", Name: "h"}
	binding := func(namespace, name string, s rbacv1.Subject) rbac.Change {
		c := rbac.Change{Kind: rbac.ClusterRoleBinding, Namespace: namespace, Name: name, To: to, Subjects: []rbacv1.Subject{s}}
		if namespace != "" {
			c.Kind = rbac.RoleBinding
		}
		return c
	}
	a := rbac.New()
	a.Replace([]rbac.Change{
		{Kind: rbac.ClusterRole, Name: "reader", Rules: may("get", "pods")},
		{Kind: rbac.ClusterRoleBinding, Name: "lost", To: rbacv1.RoleRef{Kind: "ClusterRole", Name: "gone"}, Subjects: []rbacv1.Subject{second}},
		binding("x", "of-user", user), binding("x", "of-g", first), binding("x", "of-h", second),
	})
	for _, step := range []struct {
		change rbac.Change
		want   string
	}{
		{rbac.Change{Kind: rbac.RoleBinding, Namespace: "y", Name: "elsewhere", Gone: true}, `RBAC: allowed by RoleBinding "of-user/x" of ClusterRole "reader" to User "a"`},
		{binding("", "all-h", second), `RBAC: allowed by ClusterRoleBinding "all-h" of ClusterRole "reader" to Group "h"`},
		{binding("", "all-g", first), `RBAC: allowed by ClusterRoleBinding "all-g" of ClusterRole "reader" to Group "g"`},
		{binding("", "all-user", user), `RBAC: allowed by ClusterRoleBinding "all-user" of ClusterRole "reader" to User "a"`},
	} {
		a.Apply([]rbac.Change{step.change})
		if got, reason, err := a.Authorize(t.Context(), ask("a", "get", "pods", "x", "g", "h")); got != authorizer.DecisionAllow || reason != step.want || err != nil {
			t.Errorf("after %s: %v %q (%v), want %q", step.change.Name, got, reason, err, step.want)
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

// TestWhy has what a journey says.
func TestWhy(t *testing.T) {
	to := func(kind, name string) rbacv1.RoleRef { return rbacv1.RoleRef{Kind: kind, Name: name} }
	group := []rbacv1.Subject{{Kind: "Group", Name: "dev"}}
	a := rbac.New()
	a.Replace([]rbac.Change{
		{Kind: rbac.ClusterRole, Name: "view", Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, NonResourceURLs: []string{"/logs/*"}},
			{Verbs: []string{"*"}, APIGroups: []string{"apps"}, Resources: []string{"deployments", "*/scale"}, ResourceNames: []string{"web"}},
			{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
		}},
		{Kind: rbac.ClusterRole, Name: "edit", Rules: may("create", "secrets")},
		{Kind: rbac.ClusterRoleBinding, Name: "view-everyone", To: to("ClusterRole", "view"), Subjects: group},
		{Kind: rbac.RoleBinding, Namespace: "y", Name: "dev-edit", To: to("ClusterRole", "edit"), Subjects: group},
		{Kind: rbac.RoleBinding, Namespace: "z", Name: "torn", Damaged: true},
		{Kind: rbac.ClusterRoleBinding, Name: "lost", To: to("ClusterRole", "gone"), Subjects: []rbacv1.Subject{{Kind: "User", Name: "l"}}},
	})
	deployments := ask("user-a", "get", "deployments", "x", "dev")
	deployments.APIGroup, deployments.Name = "apps", "db"
	scale := deployments
	scale.Resource, scale.Subresource, scale.Name = "statefulsets", "scale", "web"
	path := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "user-a", Groups: []string{"dev"}}, Verb: "get", Path: "/logs/a"}
	elsewhere := path
	elsewhere.Path = "/metrics"
	for _, test := range []struct {
		ask  authorizer.AttributesRecord
		want string
	}{
		{ask("user-a", "list", "configmaps", "x", "dev"), "ClusterRoleBinding view-everyone → ClusterRole view: rule 3 allows get,list,watch of configmaps"},
		{scale, "ClusterRoleBinding view-everyone → ClusterRole view: rule 2 allows * of deployments.apps,*.apps/scale web"},
		{path, "ClusterRoleBinding view-everyone → ClusterRole view: rule 1 allows get of /logs/*"},
		{elsewhere, "user-a, group dev reaches get of /metrics"},
		{ask("user-a", "create", "secrets", "y", "dev"), "RoleBinding dev-edit in ns y → ClusterRole edit: rule 1 allows create of secrets"},
		{ask("user-a", "create", "secrets", "x", "dev"), "user-a, group dev reaches create of secrets in ns x; nearest: RoleBinding dev-edit in ns y"},
		{ask("user-a", "delete", "configmaps", "x", "dev"), "user-a, group dev reaches delete of configmaps in ns x; nearest: ClusterRoleBinding view-everyone → ClusterRole view: rule 3 allows get,list,watch of configmaps"},
		{deployments, "user-a, group dev reaches get of deployments.apps db in ns x; nearest: ClusterRoleBinding view-everyone → ClusterRole view: rule 2 allows * of deployments.apps,*.apps/scale web"},
		{ask("b", "get", "pods", "z"), "b reaches get of pods in ns z; what can't be read allows nothing: RoleBinding torn in ns z"},
		{ask("l", "get", "pods", ""), `l reaches get of pods; clusterrole.rbac.authorization.k8s.io "gone" not found`},
		{ask("b\x1b[1m", "get", "pods", "", "1", "2", "3", "4", "5", "6"), `b\x1b[1m, groups 1,2,3,4,5 and 1 more reaches get of pods`},
	} {
		v, err := a.Decide(t.Context(), test.ask)
		if got := v.Why(); got != test.want || err != nil {
			t.Errorf("%+v:\n%s (%v)\nwant\n%s", test.ask, got, err, test.want)
		}
	}
}

// TestMissing applies the rule that lacks, and asks again as the request would be authorized: without a name where it has none.
func TestMissing(t *testing.T) {
	question := func(verb, resource, subresource, name string) authorizer.AttributesRecord {
		q := ask("ann", verb, resource, "x")
		q.Subresource, q.Name = subresource, name
		return q
	}
	for _, test := range []struct{ asked, sent authorizer.AttributesRecord }{
		{question("get", "pods", "", "a"), question("get", "pods", "", "a")},
		{question("list", "pods", "", "a"), question("list", "pods", "", "a")},
		{question("create", "pods", "", "a"), question("create", "pods", "", "")},
		{question("create", "pods", "exec", "a"), question("create", "pods", "exec", "a")},
		{question("deletecollection", "pods", "", "a"), question("deletecollection", "pods", "", "")},
		{question("impersonate-on:user-info:create", "pods", "", "a"), question("impersonate-on:user-info:create", "pods", "", "")},
	} {
		a := rbac.New()
		a.Replace(nil)
		v, err := a.Decide(t.Context(), test.asked)
		if err != nil || v.Allowed() {
			t.Fatalf("%+v: %v %v", test.asked, v.Allowed(), err)
		}
		rule := v.Missing()
		a.Replace([]rbac.Change{
			{Kind: rbac.ClusterRole, Name: "r", Rules: []rbacv1.PolicyRule{*rule}},
			{Kind: rbac.ClusterRoleBinding, Name: "r", To: rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "ann"}}},
		})
		if got, _, err := a.Authorize(t.Context(), test.sent); got != authorizer.DecisionAllow || err != nil {
			t.Errorf("%+v is not allowed by %+v: %v", test.sent, rule, err)
		}
		other := test.sent
		other.Name = "b"
		if got, _, _ := a.Authorize(t.Context(), other); (got == authorizer.DecisionAllow) != (test.sent.Name == "") {
			t.Errorf("%+v: %v by %+v", other, got, rule)
		}
	}
}

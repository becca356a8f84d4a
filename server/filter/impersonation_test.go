package filter

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/authz/rbac"
)

// rule grants verbs on resources of a group, and on single names of them if there are any.
func rule(verbs, group, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs: strings.Split(verbs, " "), APIGroups: []string{group}, Resources: strings.Split(resources, " "), ResourceNames: names,
	}
}

// impersonators have rules each. Their names say what for.
var impersonators = map[string][]rbacv1.PolicyRule{
	"nobody": nil,
	"old": {
		rule("impersonate", "", "users", "bob", "system:anonymous"), rule("impersonate", "", "groups", "dev", "system:unauthenticated"),
		rule("impersonate", "authentication.k8s.io", "uids", "7"), rule("impersonate", "authentication.k8s.io", "userextras/team", "red"),
	},
	"accounts": {rule("impersonate", "", "serviceaccounts", "robot")},
	"masters":  {rule("impersonate", "", "users groups")},
	"new": {
		rule("impersonate-on:user-info:list", "", "pods"), rule("impersonate:user-info", "authentication.k8s.io", "users", "bob"),
		rule("impersonate:user-info", "authentication.k8s.io", "groups"),
		rule("impersonate:user-info", "authentication.k8s.io", "userextras/example.com/team", "red"),
	},
	"half":     {rule("impersonate-on:user-info:list", "", "pods")},
	"nodes":    {rule("impersonate-on:arbitrary-node:list", "", "pods"), rule("impersonate:arbitrary-node", "authentication.k8s.io", "nodes", "n1")},
	"newbots":  {rule("impersonate-on:serviceaccount:list", "", "pods"), rule("impersonate:serviceaccount", "authentication.k8s.io", "serviceaccounts")},
	"onlyname": {rule("impersonate", "", "users")},
	"system:serviceaccount:kube-system:agent": {
		rule("impersonate-on:associated-node:list", "", "pods"), rule("impersonate:associated-node", "authentication.k8s.io", "nodes"),
	},
}

// newImpersonationDoor is a door whose users are the impersonators, by the header Test-User. The handler says who came in.
func newImpersonationDoor(t *testing.T, more ...func(*Config)) *door {
	t.Helper()
	roles := rbac.New()
	var changes []rbac.Change
	for name, rules := range impersonators {
		changes = append(changes, rbac.Change{Kind: rbac.ClusterRole, Name: name, Rules: rules}, rbac.Change{
			Kind: rbac.ClusterRoleBinding, Name: name, To: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
		})
	}
	roles.Replace(append(changes, rbac.Change{Kind: rbac.ClusterRole, Name: "all", Rules: []rbacv1.PolicyRule{rule("*", "*", "*")}}, rbac.Change{
		Kind: rbac.ClusterRoleBinding, Name: "all", To: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "all"},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.UserKind, Name: "bob"}, {Kind: rbacv1.UserKind, Name: "system:serviceaccount:default:robot"}, {Kind: rbacv1.UserKind, Name: "system:anonymous"},
			{Kind: rbacv1.UserKind, Name: "system:node:n1"}, {Kind: rbacv1.UserKind, Name: "system:node:n2"}, {Kind: rbacv1.UserKind, Name: "carol"},
		},
	}))
	return newDoor(t, func(w http.ResponseWriter, r *http.Request) {
		who, _ := request.UserFrom(r.Context())
		for name := range r.Header {
			if strings.HasPrefix(name, "Impersonate-") {
				t.Errorf("the handler sees %s", name)
			}
		}
		_ = json.NewEncoder(w).Encode(who)
	}, func(c *Config) {
		var err error
		c.Authorizer, err = authz.New(authz.Config{Modes: []string{authz.RBAC}, RBAC: roles, Registry: prometheus.NewRegistry(), Log: c.Logger})
		if err != nil {
			t.Fatal(err)
		}
		c.Authenticator = authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
			u := &user.DefaultInfo{Name: r.Header.Get("Test-User"), Groups: []string{user.AllAuthenticated}}
			if u.Name == "admin" {
				u.Groups = append(u.Groups, user.SystemPrivilegedGroup)
			}
			if node := r.Header.Get("Test-Node"); node != "" {
				u.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
			}
			return &authenticator.Response{User: u}, true, nil
		})
		for _, change := range more {
			change(c)
		}
	})
}

// asSomebody lists pods as one of the impersonators, at the node behind an @ if there is one, with headers whose names have no
// "Impersonate-".
func asSomebody(t *testing.T, d *door, who, headers string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest("GET", d.URL+"/api/v1/namespaces/default/pods", nil)
	if err != nil {
		t.Fatal(err)
	}
	name, node, _ := strings.Cut(who, "@")
	req.Header.Set("Test-User", name)
	req.Header.Set("Test-Node", node)
	for _, header := range strings.Split(headers, "; ") {
		name, value, _ := strings.Cut(header, ": ")
		req.Header["Impersonate-"+name] = append(req.Header["Impersonate-"+name], value)
	}
	res, err := d.stranger.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// TestImpersonation asks for the list of pods. The refusals are those of a kube-apiserver, which tells only of the mode that it
// tried first.
func TestImpersonation(t *testing.T) {
	d := newImpersonationDoor(t)
	const allowed = "allowed"
	in := func(groups ...string) []string { return groups }
	for _, test := range []struct {
		who     string
		headers string // name: value; …
		want    string // allowed, or the message
		as      user.DefaultInfo
	}{
		{"admin", "User: system:node:n1", allowed, user.DefaultInfo{Name: "system:node:n1", Groups: in("system:nodes", "system:authenticated")}},
		{"admin", "User: bob", allowed, user.DefaultInfo{Name: "bob", Groups: in("system:authenticated")}},
		{"admin", "User: carol; Group: system:masters", allowed, user.DefaultInfo{Name: "carol", Groups: in("system:masters", "system:authenticated")}},
		{"admin", "User: system:serviceaccount:default:robot", allowed, user.DefaultInfo{Name: "system:serviceaccount:default:robot", Groups: in("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")}},
		{"admin", "User: system:serviceaccount:default:robot; Group: dev", allowed, user.DefaultInfo{Name: "system:serviceaccount:default:robot", Groups: in("dev", "system:authenticated")}},
		{"admin", "User: system:anonymous", allowed, user.DefaultInfo{Name: "system:anonymous", Groups: in("system:unauthenticated")}},
		{"admin", "User: ", allowed, user.DefaultInfo{Name: "admin", Groups: in("system:authenticated", "system:masters")}},
		{"admin", "Group: dev", `requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"dev"}, Extra:map[string][]string(nil)} without impersonating a user name`, user.DefaultInfo{}},
		{"admin", "Uid: 7", `requested &user.DefaultInfo{Name:"", UID:"7", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name`, user.DefaultInfo{}},
		{"admin", "Extra-Team: red", `requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"team":[]string{"red"}}} without impersonating a user name`, user.DefaultInfo{}},

		{"nobody", "User: bob", `pods is forbidden: User "nobody" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "default"`, user.DefaultInfo{}},
		{"nobody", "User: system:serviceaccount:default:robot", `pods is forbidden: User "nobody" cannot impersonate-on:serviceaccount:list resource "pods" in API group "" in the namespace "default"`, user.DefaultInfo{}},
		{"nobody", "User: system:serviceaccount:default:robot; Group: dev", `serviceaccounts "robot" is forbidden: User "nobody" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "default"`, user.DefaultInfo{}},
		{"nobody", "User: system:node:n1", `pods is forbidden: User "nobody" cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" in the namespace "default"`, user.DefaultInfo{}},
		{"nobody", "User: system:node:n1; Uid: 7", `users "system:node:n1" is forbidden: User "nobody" cannot impersonate resource "users" in API group "" at the cluster scope`, user.DefaultInfo{}},
		{"half", "User: bob", `users.authentication.k8s.io "bob" is forbidden: User "half" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope`, user.DefaultInfo{}},

		{"old", "User: bob", allowed, user.DefaultInfo{Name: "bob", Groups: in("system:authenticated")}},
		{"old", "User: bob; Group: dev; Uid: 7; Extra-Team: red", allowed, user.DefaultInfo{Name: "bob", UID: "7", Groups: in("dev", "system:authenticated"), Extra: map[string][]string{"team": {"red"}}}},
		{"old", "User: bob; Group: system:unauthenticated", allowed, user.DefaultInfo{Name: "bob", Groups: in("system:unauthenticated")}},
		{"old", "User: system:anonymous", allowed, user.DefaultInfo{Name: "system:anonymous", Groups: in("system:unauthenticated")}},
		// The old form served this user last: it is told of first.
		{"old", "User: carol", `users "carol" is forbidden: User "old" cannot impersonate resource "users" in API group "" at the cluster scope`, user.DefaultInfo{}},
		{"old", "User: bob; Group: dev; Group: ops", `groups "ops" is forbidden: User "old" cannot impersonate resource "groups" in API group "" at the cluster scope`, user.DefaultInfo{}},
		{"old", "User: bob; Uid: 8", `uids.authentication.k8s.io "8" is forbidden: User "old" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope`, user.DefaultInfo{}},
		{"old", "User: bob; Extra-Team: blue", `userextras.authentication.k8s.io "blue" is forbidden: User "old" cannot impersonate resource "userextras/team" in API group "authentication.k8s.io" at the cluster scope`, user.DefaultInfo{}},
		{"old", "User: bob; Extra-Color: red", `userextras.authentication.k8s.io "red" is forbidden: User "old" cannot impersonate resource "userextras/color" in API group "authentication.k8s.io" at the cluster scope`, user.DefaultInfo{}},
		{"old", "User: system:serviceaccount:default:robot", `serviceaccounts "robot" is forbidden: User "old" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "default"`, user.DefaultInfo{}},
		{"accounts", "User: system:serviceaccount:default:robot", allowed, user.DefaultInfo{Name: "system:serviceaccount:default:robot", Groups: in("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")}},
		{"onlyname", "User: bob; Group: system:masters", `pods is forbidden: User "onlyname" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "default"`, user.DefaultInfo{}},
		{"masters", "User: bob; Group: system:masters", allowed, user.DefaultInfo{Name: "bob", Groups: in("system:masters", "system:authenticated")}},

		{"new", "User: bob", allowed, user.DefaultInfo{Name: "bob", Groups: in("system:authenticated")}},
		{"new", "User: bob; Group: a; Group: b; Group: c; Group: d; Extra-Example.com%2fteam: red", allowed, user.DefaultInfo{Name: "bob", Groups: in("a", "b", "c", "d", "system:authenticated"), Extra: map[string][]string{"example.com/team": {"red"}}}},
		{"new", "User: bob; Group: system:masters", `groups.authentication.k8s.io "system:masters" is forbidden: User "new" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed`, user.DefaultInfo{}},
		{"new", "User: bob; Group: ", `groups.authentication.k8s.io is forbidden: User "new" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the empty string group is not allowed`, user.DefaultInfo{}},
		{"new", "User: bob; Extra-Team: red", `impersonating an invalid key in extra is not allowed`, user.DefaultInfo{}},
		{"new", "User: bob; Extra-Example.com%2fteam: ", `impersonating the empty string value in extra is not allowed`, user.DefaultInfo{}},
		{"new", "User: carol", `users.authentication.k8s.io "carol" is forbidden: User "new" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope`, user.DefaultInfo{}},
		{"new", "User: system:node:n1", `pods is forbidden: User "new" cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" in the namespace "default"`, user.DefaultInfo{}},
		{"nodes", "User: system:node:n1", allowed, user.DefaultInfo{Name: "system:node:n1", Groups: in("system:nodes", "system:authenticated")}},
		{"nodes", "User: system:node:n2", `nodes.authentication.k8s.io "n2" is forbidden: User "nodes" cannot impersonate:arbitrary-node resource "nodes" in API group "authentication.k8s.io" at the cluster scope`, user.DefaultInfo{}},
		{"newbots", "User: system:serviceaccount:default:robot", allowed, user.DefaultInfo{Name: "system:serviceaccount:default:robot", Groups: in("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")}},
		{"system:serviceaccount:kube-system:agent@n1", "User: system:node:n1", allowed, user.DefaultInfo{Name: "system:node:n1", Groups: in("system:nodes", "system:authenticated")}},
		{"system:serviceaccount:kube-system:agent@n1", "User: system:node:n2", `pods is forbidden: User "system:serviceaccount:kube-system:agent" cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" in the namespace "default"`, user.DefaultInfo{}},
		{"system:serviceaccount:kube-system:agent", "User: system:node:n1", `pods is forbidden: User "system:serviceaccount:kube-system:agent" cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" in the namespace "default"`, user.DefaultInfo{}},
	} {
		_, body := asSomebody(t, d, test.who, test.headers)
		label := test.who + ": " + test.headers
		if test.want != allowed {
			code := metav1.StatusReasonForbidden
			if strings.HasPrefix(test.want, "requested") {
				code = metav1.StatusReasonBadRequest
			}
			if s := statusOf(t, body); s.Reason != code || !strings.Contains(s.Message, test.want) || strings.Contains(test.want, "is forbidden") && s.Message != test.want {
				t.Errorf("%s:\n got %s\nwant %s", label, s.Message, test.want)
			}
			continue
		}
		var got user.DefaultInfo
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.Name == "" {
			t.Errorf("%s: %s", label, body)
			continue
		}
		if diff := cmp.Diff(test.as, got); diff != "" {
			t.Errorf("%s: %s", label, diff)
		}
	}
}

// TestImpersonationTraced: the journey names both people, the rules that allow it, and what comes nearest to one where none does.
func TestImpersonationTraced(t *testing.T) {
	d := newImpersonationDoor(t)
	const oldRule = "ClusterRoleBinding old → ClusterRole old: rule "
	const onPods = "refused=impersonate-on:user-info:list of pods in ns default: no binding of old, group system:authenticated reaches impersonate-on:user-info:list of pods in ns default"
	for _, test := range []struct {
		who, headers, as string
		reason           string
		why              string
		said             []string // attributes
	}{
		{"old", "User: bob; Group: dev", "bob", mayActAs.String(), "the user may do so: " + oldRule + "1 allows impersonate of users bob,system:anonymous", []string{
			"wanted=bob", "groups=dev,system:authenticated", "verb=impersonate", "allowed=impersonate of groups dev: " + oldRule + "2 allows impersonate of groups dev,system:unauthenticated",
		}},
		{"admin", "User: bob; Group: dev", "bob", mayActAs.String(), "the user may do so: system:masters may do all", []string{"wanted=bob", "groups=dev,system:authenticated", "verb=impersonate:user-info"}},
		{"new", "User: bob; Group: a; Group: b; Group: c; Group: d", "bob", mayActAs.String(), "the user may do so: ClusterRoleBinding new → ClusterRole new: rule 2 allows impersonate:user-info of users.authentication.k8s.io bob", []string{
			"wanted=bob", "groups=a,b,c,d,system:authenticated", "verb=impersonate:user-info",
			"allowed=impersonate-on:user-info:list of pods in ns default: ClusterRoleBinding new → ClusterRole new: rule 1 allows impersonate-on:user-info:list of pods",
			"allowed=impersonate:user-info of groups.authentication.k8s.io *: ClusterRoleBinding new → ClusterRole new: rule 3 allows impersonate:user-info of groups.authentication.k8s.io",
		}},
		{"old", "User: carol", "carol", "no-binding", "no binding of old, group system:authenticated reaches impersonate of users carol; nearest: " + oldRule + "1 allows impersonate of users bob,system:anonymous", []string{
			"wanted=carol", "resource=users", "name=carol", onPods, // what served the user last is tried first
		}},
		{"old", "User: bob; Extra-Team: blue", "bob", "no-binding", "no binding of old, group system:authenticated reaches impersonate of userextras.authentication.k8s.io/team blue; nearest: " + oldRule + "4 allows impersonate of userextras.authentication.k8s.io/team red", []string{
			"wanted=bob", "resource=userextras.authentication.k8s.io", "subresource=team", "name=blue", onPods,
		}},
		{"new", "User: bob; Group: system:masters", "bob", "no-binding", "no binding of new, group system:authenticated reaches impersonate of users bob", []string{"wanted=bob", "resource=users", "name=bob"}},
		{"nobody", "User: system:serviceaccount:default:robot", "system:serviceaccount:default:robot", "no-binding", "no binding of nobody, group system:authenticated reaches impersonate of serviceaccounts robot in ns default", []string{
			"wanted=system:serviceaccount:default:robot",
			"refused=impersonate-on:serviceaccount:list of pods in ns default: no binding of nobody, group system:authenticated reaches impersonate-on:serviceaccount:list of pods in ns default",
			"resource=serviceaccounts", "namespace=default", "name=robot",
		}},
	} {
		label := test.who + ": " + test.headers
		res, _ := asSomebody(t, d, test.who, test.headers)
		j := d.config.Journeys.Get(res.Header.Get(JourneyHeader))
		j.Wait(t.Context())
		rec := j.Record()
		if q := rec.Request; q.User != test.who || q.ImpersonatedUser != test.as {
			t.Errorf("%s: %s acts as %s", label, q.User, q.ImpersonatedUser)
		}
		at := slices.IndexFunc(rec.Steps, func(s trace.StepRecord) bool { return s.ID == steps.FilterImpersonation })
		step := rec.Steps[at]
		if step.Reason.String() != test.reason || step.Why != test.why {
			t.Errorf("%s: %s,\n got %s\nwant %s", label, step.Reason, step.Why, test.why)
		}
		var said []string
		for _, a := range step.Attrs {
			said = append(said, a.Name+"="+a.Text)
		}
		if diff := cmp.Diff(test.said, said); diff != "" {
			t.Errorf("%s: %s", label, diff)
		}
	}
}

// TestImpersonationAudited: the event names both people, and the verb of the constrained form if it was by that.
func TestImpersonationAudited(t *testing.T) {
	for _, test := range []struct {
		who, as, constraint string
		code                int
	}{
		{"new", "bob", "impersonate:user-info", 200},
		{"nodes", "system:node:n1", "impersonate:arbitrary-node", 200},
		{"newbots", "system:serviceaccount:default:robot", "impersonate:serviceaccount", 200},
		{"old", "bob", "", 200},
		{"half", "bob", "", 403},
	} {
		sink := &events{}
		d := newImpersonationDoor(t, func(c *Config) {
			c.AuditSink = sink
			c.AuditPolicy = policy.NewPolicyRuleEvaluator(&auditinternal.Policy{Rules: []auditinternal.PolicyRule{{Level: auditinternal.LevelMetadata}}})
		})
		res, _ := asSomebody(t, d, test.who, "User: "+test.as)
		d.config.Journeys.Get(res.Header.Get(JourneyHeader)).Wait(t.Context())
		stages, last := sink.take()
		if !strings.HasSuffix(stages, fmt.Sprint("ResponseComplete ", test.code)) {
			t.Errorf("%s: %s", test.who, stages)
			continue
		}
		as, constraint := "", ""
		if last.ImpersonatedUser != nil {
			as = last.ImpersonatedUser.Username
		}
		if last.AuthenticationMetadata != nil {
			constraint = last.AuthenticationMetadata.ImpersonationConstraint
		}
		if as != test.as && test.code == 200 || as != "" && test.code != 200 || constraint != test.constraint || last.User.Username != test.who {
			t.Errorf("%s: %s acts as %q by %q", test.who, last.User.Username, as, constraint)
		}
	}
}

package flow

import (
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// schemaOf returns a schema that leads requests of subjects to the level catch-all.
func schemaOf(name string, precedence int32, rule flowcontrolv1.PolicyRulesWithSubjects) *flowcontrolv1.FlowSchema {
	return &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: flowcontrolv1.FlowSchemaSpec{
		MatchingPrecedence: precedence, Rules: []flowcontrolv1.PolicyRulesWithSubjects{rule},
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.PriorityLevelConfigurationNameCatchAll},
	}}
}

// TestRules: the schema with the lowest precedence that a request fits decides, and among equals the first by name.
func TestRules(t *testing.T) {
	account := func(namespace, name string) flowcontrolv1.Subject {
		return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount, ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: namespace, Name: name}}
	}
	group := func(name string) flowcontrolv1.Subject {
		return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: name}}
	}
	resources := func(namespaces []string, clusterScope bool, names ...string) []flowcontrolv1.ResourcePolicyRule {
		return []flowcontrolv1.ResourcePolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: names, Namespaces: namespaces, ClusterScope: clusterScope}}
	}
	paths := func(all ...string) []flowcontrolv1.NonResourcePolicyRule {
		return []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"get"}, NonResourceURLs: all}}
	}
	type rule = flowcontrolv1.PolicyRulesWithSubjects
	everywhere := []string{"*"}
	c := control(t, 100)
	c.configure(levelsOf(t), []*flowcontrolv1.FlowSchema{
		schemaOf("late", 900, rule{Subjects: []flowcontrolv1.Subject{group("*")}, ResourceRules: resources(everywhere, true, "*"), NonResourceRules: paths("*")}),
		schemaOf("b", 500, rule{Subjects: []flowcontrolv1.Subject{account("apps", "*")}, ResourceRules: resources(everywhere, false, "pods", "pods/status")}),
		schemaOf("a", 500, rule{Subjects: []flowcontrolv1.Subject{account("apps", "web")}, ResourceRules: resources([]string{"apps"}, true, "pods")}),
		schemaOf("paths", 100, rule{Subjects: []flowcontrolv1.Subject{group("probes")}, NonResourceRules: paths("/healthz", "/metrics/*")}),
	})
	const web, other = "system:serviceaccount:apps:web", "system:serviceaccount:apps:other"
	for _, test := range []struct {
		user, group                      string
		namespace, resource, subresource string
		path                             string
		want                             string
	}{
		{user: web, namespace: "apps", resource: "pods", want: "a"},
		{user: web, namespace: "apps", resource: "pods", subresource: "status", want: "b"},
		{user: web, namespace: "default", resource: "pods", want: "b"},
		{user: web, resource: "pods", want: "a"},
		{user: other, namespace: "apps", resource: "pods", want: "b"},
		{user: other, resource: "pods", want: "late"},
		{user: other, namespace: "apps", resource: "pods", subresource: "log", want: "late"},
		{user: "system:serviceaccount:apps2:web", namespace: "apps", resource: "pods", want: "late"},
		{user: "ann", group: "probes", path: "/healthz", want: "paths"},
		{user: "ann", group: "probes", path: "/healthz/etcd", want: "paths"},
		{user: "ann", group: "probes", path: "/healthzz", want: "late"},
		{user: "ann", group: "probes", path: "/metrics/slis", want: "paths"},
		{user: "ann", group: "probes", path: "/metrics", want: "late"},
		{user: "boss", group: user.SystemPrivilegedGroup, path: "/healthz", want: "exempt"},
	} {
		info := &request.RequestInfo{
			IsResourceRequest: test.resource != "", Verb: "get", Namespace: test.namespace, Resource: test.resource, Subresource: test.subresource, Path: test.path,
		}
		got := c.rules.Load().find(&Request{Info: info, User: &user.DefaultInfo{Name: test.user, Groups: []string{test.group}}})
		if got.schema.Name != test.want {
			t.Errorf("%+v: %s", test, got.schema.Name)
		}
	}
}

package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// clusterRoles is what a test does with cluster roles, whose names begin alike.
type clusterRoles struct {
	*kubernetes.Clientset
	t      *testing.T
	prefix string
	// until waits until the state has a line with this text.
	until func(text string)
}

func (c clusterRoles) create(name string, labels map[string]string, rules ...rbacv1.PolicyRule) {
	c.t.Helper()
	must[*rbacv1.ClusterRole](c.t)(c.RbacV1().ClusterRoles().Create(c.t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: c.prefix + "-" + name, Labels: labels}, Rules: rules,
	}, metav1.CreateOptions{}))
}

func (c clusterRoles) aggregate(name string, labels map[string]string, rules []rbacv1.PolicyRule, selectors ...metav1.LabelSelector) {
	c.t.Helper()
	must[*rbacv1.ClusterRole](c.t)(c.RbacV1().ClusterRoles().Create(c.t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: c.prefix + "-" + name, Labels: labels}, Rules: rules,
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: selectors},
	}, metav1.CreateOptions{}))
}

func (c clusterRoles) patch(name, patch string) {
	c.t.Helper()
	must[*rbacv1.ClusterRole](c.t)(c.RbacV1().ClusterRoles().Patch(c.t.Context(), c.prefix+"-"+name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
}

func (c clusterRoles) remove(name string) {
	c.t.Helper()
	if err := c.RbacV1().ClusterRoles().Delete(c.t.Context(), c.prefix+"-"+name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// to is a label that only the roles of one test have.
func (c clusterRoles) to(values ...string) map[string]string {
	labels := map[string]string{}
	for _, value := range values {
		labels[c.prefix+"/to-"+value] = "true"
	}
	return labels
}

func (c clusterRoles) from(value string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: c.to(value)}
}

func may(verb string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: resources, Verbs: []string{verb}}
}

func (c clusterRoles) state() (lines []string) {
	c.t.Helper()
	for _, r := range must[*rbacv1.ClusterRoleList](c.t)(c.RbacV1().ClusterRoles().List(c.t.Context(), metav1.ListOptions{})).Items {
		if !strings.HasPrefix(r.Name, c.prefix+"-") {
			continue
		}
		line := r.Name
		for _, rule := range r.Rules {
			line += fmt.Sprintf(" [%s %s%s%s]", strings.Join(rule.Verbs, ","), strings.Join(rule.Resources, ","), strings.Join(rule.ResourceNames, ","),
				strings.Join(rule.NonResourceURLs, ","))
		}
		if r.Rules == nil {
			line += " (none)"
		}
		for _, owner := range r.ManagedFields {
			line += fmt.Sprintf("; %s %s%s %s", owner.Manager, owner.Operation, owner.Subresource, owner.FieldsV1.GetRawBytes())
		}
		lines = append(lines, line)
	}
	return lines
}

var clusterRoleScenes = map[string]func(c clusterRoles){
	"rules in order": func(c clusterRoles) {
		c.aggregate("all", nil, nil, c.from("b"), c.from("a"))
		c.create("b", c.to("a"), may("get", "b"), may("get", "a"), may("list", "b"))
		c.create("a", c.to("a", "b"), may("get", "a"), may("get", "b"), may("watch", "a", "b"), may("watch", "b", "a"))
		c.create("c", c.to("b"), may("get", "c"))
		c.create("others", c.to("c"), may("delete", "c"))
	},
	"rules of all kinds": func(c clusterRoles) {
		c.create("urls", c.to("a"), rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics", "/z"}, Verbs: []string{"get"}})
		c.create("names", c.to("a"), rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{"x"}, Verbs: []string{"*"}})
		c.create("none", c.to("a"))
		c.aggregate("all", nil, nil, metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: c.prefix + "/to-a", Operator: metav1.LabelSelectorOpExists},
		}})
	},
	"one aggregates another": func(c clusterRoles) {
		c.aggregate("first", c.to("second"), nil, c.from("first"))
		c.aggregate("second", c.to("first"), nil, c.from("second"))
		c.create("leaf", c.to("first"), may("get", "leaves"))
		c.aggregate("itself", c.to("itself"), nil, c.from("itself"))
	},
	"rules that it had": func(c clusterRoles) {
		c.create("a", c.to("a"), may("get", "a"))
		c.aggregate("all", nil, []rbacv1.PolicyRule{may("delete", "everything")}, c.from("a"))
		c.aggregate("nothing", nil, []rbacv1.PolicyRule{may("delete", "everything")}, c.from("nothing"))
	},
	"changes": func(c clusterRoles) {
		c.aggregate("all", nil, nil, c.from("a"))
		c.create("a", c.to("a"), may("get", "a"))
		c.create("b", c.to("a"), may("get", "b"))
		c.create("c", c.to("a"), may("get", "c"))
		c.create("d", nil, may("get", "d"))
		c.until("all [get a] [get b] [get c];")
		c.patch("a", `{"rules":[{"apiGroups":[""],"resources":["a"],"verbs":["list"]}]}`)
		c.remove("b")
		c.patch("c", `{"metadata":{"labels":null}}`)
		c.patch("d", `{"metadata":{"labels":{"`+c.prefix+`/to-a":"true"}}}`)
	},
	"nothing is left": func(c clusterRoles) {
		c.aggregate("all", nil, nil, c.from("a"))
		c.create("a", c.to("a"), may("get", "a"))
		c.until("all [get a];")
		c.remove("a")
	},
	"somebody else writes its rules": func(c clusterRoles) {
		c.aggregate("all", nil, nil, c.from("a"))
		c.create("a", c.to("a"), may("get", "a"))
		c.until("all [get a];")
		c.patch("all", `{"rules":[{"apiGroups":[""],"resources":["more"],"verbs":["list"]}]}`)
	},
	"no aggregation any more": func(c clusterRoles) {
		c.aggregate("all", nil, nil, c.from("a"))
		c.create("a", c.to("a"), may("get", "a"))
		c.until("all [get a];")
		c.patch("all", `{"aggregationRule":null}`)
		c.patch("a", `{"rules":[]}`)
	},
	"another selector": func(c clusterRoles) {
		c.create("a", c.to("a"), may("get", "a"))
		c.create("b", c.to("b"), may("get", "b"))
		c.aggregate("all", nil, nil, c.from("a"))
		c.until("all [get a];")
		c.patch("all", `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"`+c.prefix+`/to-b":"true"}}]}}`)
	},
}

// TestClusterRoleUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager.
func TestClusterRoleUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{
		Answers: "clusterrole.json",
		Play:    map[string]func(*controllertest.Stage){},
		State: func(s *controllertest.Stage) []string {
			return clusterRoles{Clientset: s.Clientset, t: s.T, prefix: s.Namespace}.state()
		},
		Quiet: 4 * time.Second,
	}
	for name, play := range clusterRoleScenes {
		all.Play[name] = func(s *controllertest.Stage) {
			play(clusterRoles{s.Clientset, s.T, s.Namespace, func(text string) { s.AwaitPart(text) }})
		}
	}
	all.Compare(t, ordinary.Clients)
}

package policy

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestAsUpstream compares each object with the one that a kube-apiserver made when it started. TestPolicy of
// server/testdata/upstream records these.
func TestAsUpstream(t *testing.T) {
	p := &Policy{}
	if err := p.parse(upstream); err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile("testdata/upstream.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	for line := range bytes.Lines(recorded) {
		var kind metav1.PartialObjectMetadata
		if err := json.Unmarshal(line, &kind); err != nil {
			t.Fatal(err)
		}
		var object any
		_ = json.Unmarshal(line, &object)
		want[kind.Kind+" "+kind.Namespace+"/"+kind.Name] = object
	}
	got := objects(t, p)
	if len(want) < 100 {
		t.Errorf("%d objects are recorded", len(want))
	}
	for name := range want {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s: a kube-apiserver has no such object", name)
	}
}

// objects are those of a policy as clients see them, by kind and name.
func objects(t *testing.T, p *Policy) map[string]any {
	t.Helper()
	all := map[string]any{}
	add := func(kind string, meta *metav1.ObjectMeta, obj runtime.Object) {
		name := kind + " " + meta.Namespace + "/" + meta.Name
		if all[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		obj.GetObjectKind().SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind))
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		var object any
		_ = json.Unmarshal(data, &object)
		all[name] = object
	}
	for _, o := range p.ClusterRoles {
		add("ClusterRole", &o.ObjectMeta, o)
	}
	for _, o := range p.ClusterRoleBindings {
		add("ClusterRoleBinding", &o.ObjectMeta, o)
	}
	for _, o := range p.Roles {
		add("Role", &o.ObjectMeta, o)
	}
	for _, o := range p.RoleBindings {
		add("RoleBinding", &o.ObjectMeta, o)
	}
	return all
}

// TestOwn: kx's roles are bound to nobody, and add nothing to other roles. Only one of them has the keys of etcd.
func TestOwn(t *testing.T) {
	p := &Policy{}
	if err := p.parse(own); err != nil {
		t.Fatal(err)
	}
	if len(p.ClusterRoles) != 2 || len(p.ClusterRoleBindings)+len(p.Roles)+len(p.RoleBindings) != 0 {
		t.Fatalf("%+v", p)
	}
	for _, r := range p.ClusterRoles {
		if len(r.Labels) != 1 || r.Annotations[descriptionKey] == "" {
			t.Errorf("%s: %v %v", r.Name, r.Labels, r.Annotations)
		}
		keys := false
		for _, rule := range r.Rules {
			if len(rule.APIGroups) != 1 || rule.APIGroups[0] != "kx.dev" {
				t.Errorf("%s: %v", r.Name, rule)
			}
			text := strings.Join(rule.Resources, ",")
			keys = keys || text == "*" || strings.Contains(text, "keys")
		}
		if keys != (r.Name == "kx:admin") {
			t.Errorf("%s has the keys: %t", r.Name, keys)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, text := range []string{
		"  get pods", "something a", "role a", "clusterrole a\n  get", "clusterrole a\n  get pods of apps", "clusterrole a\n  to b", "clusterrole a\n  get pods in",
	} {
		if err := (&Policy{}).parse(text); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

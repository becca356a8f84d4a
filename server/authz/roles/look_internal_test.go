package roles

import (
	"log/slog"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kx-apiserver/kx/server/authz/rbac"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/store/admin"
)

// TestLook looks twice, as after a watch that broke: an object that the second look does not come to is gone. Nothing is told before
// every resource has been looked at.
func TestLook(t *testing.T) {
	a := rbac.New()
	k, err := New(a, &admin.Live{}, &admin.Decoder{Prefix: "/r"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	followers := map[rbac.Kind]*follower{}
	for kind := rbac.ClusterRole; kind <= rbac.RoleBinding; kind++ {
		if followers[kind], err = k.follower("role", kind); err != nil {
			t.Fatal(err)
		}
	}
	role := feed.Pair{Key: "clusterroles/r", Value: []byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","rules":[{"verbs":["get"],"nonResourceURLs":["/a"]}]}`)}
	binding := feed.Pair{Key: "clusterrolebindings/b", Value: []byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"User","name":"u"}]}`)}
	rules := func() int {
		t.Helper()
		rules, err := a.Rules(t.Context(), &user.DefaultInfo{Name: "u"}, "")
		if err != nil {
			t.Fatal(err)
		}
		return len(rules)
	}
	for kind, f := range followers {
		k.tell()
		if a.Known() {
			t.Fatal("it was told before all was looked at")
		}
		f.Begin()
		if kind == rbac.ClusterRole {
			f.Put(role)
		}
		if kind == rbac.ClusterRoleBinding {
			f.Put(binding)
		}
		f.End(1)
	}
	k.tell()
	if got := rules(); got != 1 {
		t.Fatalf("%d rules", got)
	}
	f := followers[rbac.ClusterRoleBinding]
	f.Begin()
	f.Put(binding)
	f.End(2)
	k.tell()
	if got := rules(); got != 1 {
		t.Errorf("%d rules after a look that came to the binding again", got)
	}
	f.Begin()
	f.End(3)
	k.tell()
	if got := rules(); got != 0 {
		t.Errorf("%d rules after a look that did not come to the binding", got)
	}
}

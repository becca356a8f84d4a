package kxtest_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// TestRoleFits: the role of the example lets its controller do what it does. What the role gives beyond that is known.
func TestRoleFits(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	must(t, markReady(context.Background(), s.As("testdata/rbac/role.yaml"), "first"))

	role := s.MinimalRole(t, "widget-manager-*")
	with := role.Compare(t, "testdata/rbac/role.yaml")
	if len(with.Lacks) > 0 {
		t.Errorf("%sIt would be enough:\n%s", with, role)
	}
	want := []string{
		"get configmaps in settings", "list widgets.example.com", "update widgets.example.com", "watch widgets.example.com",
	}
	if strings.Join(with.Unused, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", with)
	}
}

// ask sends requests of a user, most of them without the right to.
func ask(t *testing.T, config *rest.Config) {
	t.Helper()
	client := clientOf(t, config)
	maps := client.CoreV1().ConfigMaps("default")
	_, err := client.Discovery().ServerVersion()
	must(t, err)
	_, _ = client.Discovery().ServerPreferredResources() // every user may
	_, err = maps.List(within(t), metav1.ListOptions{})
	must(t, err)
	for _, name := range []string{"a", "b"} {
		_, err = maps.Create(within(t), configMap(name), metav1.CreateOptions{})
		refused(t, err)
		refused(t, client.CoreV1().Secrets("default").Delete(within(t), name, metav1.DeleteOptions{}))
	}
	_, err = client.CoreV1().Secrets("default").Get(within(t), "a", metav1.GetOptions{})
	refused(t, err)
	refused(t, client.CoreV1().RESTClient().Get().AbsPath("/logs/").Do(within(t)).Error())
	other := rest.CopyConfig(config)
	other.Impersonate.UserName = "system:serviceaccount:default:helper"
	_, err = clientOf(t, other).CoreV1().Pods("default").List(within(t), metav1.ListOptions{})
	refused(t, err)
}

// askedRole is the role of what ask needs.
const askedRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: "widget-manager"
rules:
- apiGroups:
  - ""
  resources:
  - configmaps
  verbs:
  - list
  - create
- apiGroups:
  - ""
  resources:
  - secrets
  verbs:
  - get
  - delete
- apiGroups:
  - ""
  resources:
  - serviceaccounts
  verbs:
  - impersonate
- nonResourceURLs:
  - /logs/
  verbs:
  - get
`

// TestMinimalRole: the role has what a user's requests needed, also those that were refused, and nothing else.
func TestMinimalRole(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	ask(t, s.As("testdata/rbac-of-reader/role.yaml"))
	// Who applies what is not there needs the right to create it, too.
	admin := s.User("applier", "system:masters")
	_, err := clientOf(t, admin).CoreV1().ConfigMaps("default").Patch(within(t), "applied", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"}}`), metav1.PatchOptions{FieldManager: "x"})
	must(t, err)
	must(t, markReady(context.Background(), admin, "first"))

	role := s.MinimalRole(t, "widget-manager-*")
	if role.String() != askedRole {
		t.Errorf("%s", role)
	}
	applier := s.MinimalRole(t, "applier").String()
	for _, want := range []string{"  - configmaps\n  verbs:\n  - create\n  - patch\n", "  - widgets/status\n  verbs:\n  - update\n"} {
		if !strings.Contains(applier, want) {
			t.Errorf("%s\nlacks\n%s", applier, want)
		}
	}
	const difference = `lacks: delete secrets "b" in default
lacks: get /logs/
lacks: impersonate serviceaccounts
unused: * configmaps in default: only create, list
unused: delete secrets "c"
unused: get secrets "c"
unused: get widgets.example.com
`
	if with := role.Compare(t, "testdata/rbac-wide/role.yaml"); with.String() != difference {
		t.Errorf("%s", with)
	}
	for user, want := range map[string]string{
		"widget-manger-1": `no request matches "user:\"widget-manger-1\""; the clients are `, "*-manger-*": "user:widget-manager-1 agent:",
	} {
		if said := failing(t, func(t testing.TB) { s.MinimalRole(t, user) }); !strings.Contains(said, want) {
			t.Errorf("%s: %q", user, said)
		}
	}
	if said := failing(t, func(t testing.TB) { role.Compare(t, "testdata/crd/bases") }); !strings.Contains(said, "has no Role") {
		t.Errorf("%q", said)
	}
}

func refused(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no role allows it")
	}
}

package roles_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/server/authz/rbac"
	"github.com/kx-apiserver/kx/server/authz/roles"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// patience is how long a change may take on a slow machine.
const patience = 3 * time.Minute

// logs collects what is logged.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// cluster is an etcd with an authorizer that is kept as the etcd is.
type cluster struct {
	t      *testing.T
	client *clientv3.Client
	prefix string
	a      *rbac.Authorizer
	keeper *roles.Keeper
	logs   *logs
}

func newCluster(t *testing.T) *cluster {
	client := embedtest.Shared(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	return &cluster{t: t, client: client, prefix: embedtest.Prefix(), a: rbac.New(), logs: &logs{}}
}

// keep keeps the authorizer until the test ends, or stop is called.
func (c *cluster) keep() (stop func()) {
	c.t.Helper()
	keeper, err := roles.New(c.a, &admin.Live{Client: c.client}, &admin.Decoder{Prefix: c.prefix}, slog.New(slog.NewTextHandler(c.logs, nil)))
	if err != nil {
		c.t.Fatal(err)
	}
	c.keeper = keeper
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { keeper.Run(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	c.t.Cleanup(stop)
	return stop
}

// TestAwait asks right after what was written is known.
func TestAwait(t *testing.T) {
	c := newCluster(t)
	c.keep()
	c.put("clusterroles/r", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","rules":[{"verbs":["get"],"nonResourceURLs":["/a"]}]}`)
	for i := range 50 {
		c.put(fmt.Sprint("clusterrolebindings/b", i), fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"User","name":"u%d"}]}`, i))
		if err := c.keeper.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		rules, err := c.a.Rules(t.Context(), &user.DefaultInfo{Name: fmt.Sprint("u", i)}, "")
		if err != nil || len(rules) != 1 {
			t.Fatalf("binding %d is not known: %v, %v", i, rules, err)
		}
	}
}

// TestAwaitBesideOtherGroups writes a custom resource whose key begins as those of roles do.
func TestAwaitBesideOtherGroups(t *testing.T) {
	c := newCluster(t)
	c.keep()
	c.put("roles/default/r", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := c.keeper.Await(ctx); err != nil {
		t.Fatal(err)
	}
	c.put("roles.example.com/widgets/default/w", `{"apiVersion":"roles.example.com/v1","kind":"Widget"}`)
	c.put("clusterroles.example.com/widgets/default/w", `{"apiVersion":"clusterroles.example.com/v1","kind":"Widget"}`)
	if err := c.keeper.Await(ctx); err != nil {
		t.Errorf("what is no role was awaited as one: %v", err)
	}
}

func (c *cluster) put(key, value string) {
	c.t.Helper()
	if _, err := c.client.Put(c.t.Context(), c.prefix+"/"+key, value); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) delete(key string) {
	c.t.Helper()
	if _, err := c.client.Delete(c.t.Context(), c.prefix+"/"+key); err != nil {
		c.t.Fatal(err)
	}
}

// store puts an object as a server stores it.
func (c *cluster) store(key string, obj runtime.Object) {
	c.t.Helper()
	codec, err := scheme.StorageCodec(rbacv1.Resource("roles"), runtime.ContentTypeProtobuf)
	if err != nil {
		c.t.Fatal(err)
	}
	data, err := runtime.Encode(codec, obj)
	if err != nil {
		c.t.Fatal(err)
	}
	c.put(key, string(data))
}

// await waits until a user may, or may not, get pods in a namespace.
func (c *cluster) await(who, namespace string, want bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	q := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: who}, Verb: "get", Resource: "pods", Namespace: namespace, ResourceRequest: true}
	for {
		got, reason, err := c.a.Authorize(ctx, q)
		if err != nil {
			c.t.Fatal(err)
		}
		if (got == authorizer.DecisionAllow) == want {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			c.t.Fatalf("%s may get pods in %q: %v %q, want %v", who, namespace, got, reason, want)
		}
	}
}

const (
	readers = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"reader"},
		"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}`
	bound = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"%s","metadata":{"name":"%s"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"reader"},"subjects":[{"kind":"User","name":"%s"}]}`
)

// TestKeep has all four resources, in protobuf and JSON, from before and changing.
func TestKeep(t *testing.T) {
	c := newCluster(t)
	c.put("clusterroles/reader", readers)
	c.put("clusterrolebindings/early", fmt.Sprintf(bound, "ClusterRoleBinding", "early", "early"))
	if c.a.Known() {
		t.Error("nothing is known yet")
	}
	c.keep()
	c.await("early", "", true)
	c.await("late", "", false)

	c.store("clusterrolebindings/late", &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "late"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "late"}},
	})
	c.await("late", "", true)
	c.delete("clusterrolebindings/early")
	c.await("early", "", false)

	c.put("rolebindings/x/here", fmt.Sprintf(bound, "RoleBinding", "here", "local"))
	c.await("local", "x", true)
	c.await("local", "y", false)
	c.store("roles/y/own", &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "own", Namespace: "y"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}},
	})
	c.store("rolebindings/y/own", &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "own", Namespace: "y"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "own"},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "local"}},
	})
	c.await("local", "y", true)
	c.delete("clusterroles/reader")
	c.await("local", "x", false)
	c.await("local", "y", true)
}

// TestDamaged has what can't be read among what can: it allows nothing, is logged, and is taken again when it can be read.
func TestDamaged(t *testing.T) {
	c := newCluster(t)
	c.put("clusterroles/reader", readers)
	c.put("clusterroles/other", "k8s\x00\xff\xff")
	c.put("clusterroles/odd", fmt.Sprintf(bound, "ClusterRoleBinding", "odd", "odd"))
	c.put("clusterrolebindings/empty", "nothing")
	c.put("clusterrolebindings/good", fmt.Sprintf(bound, "ClusterRoleBinding", "good", "good"))
	c.keep()
	c.await("good", "", true)
	for _, text := range []string{"clusterroles/other", "clusterrolebindings/empty", "there is a ClusterRoleBinding where a ClusterRole must be"} {
		if !c.logs.has(text) {
			t.Errorf("nothing is logged about %s", text)
		}
	}
	c.put("clusterroles/reader", `{"rules":`)
	c.await("good", "", false)
	_, reason, _ := c.a.Authorize(t.Context(), authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "good"}, Verb: "get", Resource: "pods", ResourceRequest: true})
	if want := `RBAC: clusterrole.rbac.authorization.k8s.io "reader" can't be read: what is stored is damaged`; reason != want {
		t.Errorf("%q, want %q", reason, want)
	}
	c.put("clusterroles/reader", readers)
	c.await("good", "", true)
}

// TestAgain has another keeper after a time without one: what went meanwhile is gone.
func TestAgain(t *testing.T) {
	c := newCluster(t)
	c.put("clusterroles/reader", readers)
	for _, name := range []string{"a", "b"} {
		c.put("clusterrolebindings/"+name, fmt.Sprintf(bound, "ClusterRoleBinding", name, name))
	}
	stop := c.keep()
	c.await("a", "", true)
	stop()
	c.delete("clusterrolebindings/a")
	c.put("clusterrolebindings/c", fmt.Sprintf(bound, "ClusterRoleBinding", "c", "c"))
	c.keep()
	c.await("c", "", true)
	c.await("b", "", true)
	c.await("a", "", false)
}

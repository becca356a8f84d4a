package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/authz/policy"
	"github.com/kx-apiserver/kx/server/bootstrap"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

// rules are the roles and bindings of a server by kind and name, as far as the policy says how they are.
func (r *running) rules(t testing.TB) map[string]any {
	t.Helper()
	c, all := r.admin(t).RbacV1(), &policy.Policy{}
	clusterRoles, err := c.ClusterRoles().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	bindings, err := c.ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	roles, err := c.Roles("").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	roleBindings, err := c.RoleBindings("").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for i := range clusterRoles.Items {
		all.ClusterRoles = append(all.ClusterRoles, &clusterRoles.Items[i])
	}
	for i := range bindings.Items {
		all.ClusterRoleBindings = append(all.ClusterRoleBindings, &bindings.Items[i])
	}
	for i := range roles.Items {
		all.Roles = append(all.Roles, &roles.Items[i])
	}
	for i := range roleBindings.Items {
		all.RoleBindings = append(all.RoleBindings, &roleBindings.Items[i])
	}
	return byName(t, all)
}

func byName(t testing.TB, p *policy.Policy) map[string]any {
	t.Helper()
	all := map[string]any{}
	add := func(kind string, meta *metav1.ObjectMeta, obj any) {
		*meta = metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, Labels: meta.Labels, Annotations: meta.Annotations}
		all[strings.Join(strings.Fields(kind+" "+meta.Namespace+" "+meta.Name), " ")] = obj
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

// defaultRules are those of the policy, and of roles that aggregate others the rules of these.
func defaultRules(t testing.TB) map[string]any {
	t.Helper()
	p, err := policy.Default()
	must(t, err)
	_, err = controller.AggregatingRoles(p.ClusterRoles)
	must(t, err)
	return byName(t, p)
}

// written are the revisions at which etcd has the roles and bindings.
func written(t testing.TB, client *clientv3.Client) map[string]int64 {
	t.Helper()
	at := map[string]int64{}
	for _, prefix := range []string{"/registry/clusterrole", "/registry/role"} {
		got, err := client.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		must(t, err)
		for _, kv := range got.Kvs {
			at[string(kv.Key)] = kv.ModRevision
		}
	}
	return at
}

// TestDefaultRoles starts a server three times on one etcd. The first makes the roles and bindings of the policy. The second
// mends what was changed meanwhile, as a kube-apiserver does. The third has nothing to write.
func TestDefaultRoles(t *testing.T) {
	t.Parallel()
	etcd := (&rival{}).startEtcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}})
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	on := func(o *options.Options) { o.Etcd.Servers = []string{etcd} }
	want := defaultRules(t)

	first, stop, err := launch(on, withObjects("192.0.2.1"))
	must(t, err)
	first.ready(t)
	if list := first.journeysOf(t, "?filter=resource%3Dclusterroles"); len(list) != 0 {
		t.Errorf("%d journeys of cluster roles, before anybody asked for any: %s", len(list), list[0].Spec.URI)
	}
	if state := first.cache(t, "clusterroles.rbac.authorization.k8s.io").Status.State; state != v1alpha1.CacheUninitialized {
		t.Errorf("the cache of cluster roles is %s", state)
	}
	if diff := cmp.Diff(want, first.rules(t)); diff != "" {
		t.Error(diff)
	}
	one, err := first.admin(t).RbacV1().ClusterRoles().Get(t.Context(), "edit", metav1.GetOptions{})
	must(t, err)
	if f := one.ManagedFields; len(f) != 1 || f[0].Manager != "kube-apiserver" || f[0].Operation != metav1.ManagedFieldsOperationUpdate {
		t.Errorf("%+v", f)
	}
	damage(t, first.admin(t).RbacV1(), want)
	must(t, stop())

	second, stop, err := launch(on, withObjects("192.0.2.1"))
	must(t, err)
	second.ready(t)
	if diff := cmp.Diff(want, second.rules(t)); diff != "" {
		t.Error(diff)
	}
	must(t, stop())

	before := written(t, client)
	third, stop, err := launch(on, withObjects("192.0.2.1"))
	must(t, err)
	third.ready(t)
	must(t, stop())
	if after := written(t, client); len(after) < len(want) || !maps.Equal(before, after) {
		t.Errorf("%d keys were written again, or came or went, of %d", len(after)-len(before), len(before))
	}
}

// damage changes some of what the policy has, and in want what a server makes of that.
func damage(t testing.TB, c typed.RbacV1Interface, want map[string]any) {
	t.Helper()
	ctx := t.Context()
	role := func(name string) *rbacv1.ClusterRole {
		r, err := c.ClusterRoles().Get(ctx, name, metav1.GetOptions{})
		must(t, err)
		return r
	}
	change := func(r *rbacv1.ClusterRole) {
		_, err := c.ClusterRoles().Update(ctx, r, metav1.UpdateOptions{})
		must(t, err)
	}
	// Rules that are missing come back behind those that a user has added.
	r := role("system:kube-dns")
	own := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}
	r.Rules = []rbacv1.PolicyRule{own}
	change(r)
	dns := want["ClusterRole system:kube-dns"].(*rbacv1.ClusterRole)
	dns.Rules = []rbacv1.PolicyRule{
		own, // the library compares rules broken into single ones
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"endpoints"}},
		{Verbs: []string{"watch"}, APIGroups: []string{""}, Resources: []string{"endpoints"}},
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"services"}},
		{Verbs: []string{"watch"}, APIGroups: []string{""}, Resources: []string{"services"}},
	}
	// A role that is to stay as it is.
	r = role("system:heapster")
	r.Annotations[rbacv1.AutoUpdateAnnotationKey], r.Rules = "false", nil
	change(r)
	heapster := want["ClusterRole system:heapster"].(*rbacv1.ClusterRole)
	heapster.Annotations[rbacv1.AutoUpdateAnnotationKey], heapster.Rules = "false", nil
	// Labels and aggregation.
	r = role("edit")
	r.Labels, r.AggregationRule = nil, nil
	change(r)
	must(t, c.ClusterRoles().Delete(ctx, "system:node-problem-detector", metav1.DeleteOptions{}))

	basic, err := c.ClusterRoleBindings().Get(ctx, "system:basic-user", metav1.GetOptions{})
	must(t, err)
	ann := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "ann"}
	basic.Subjects = []rbacv1.Subject{ann}
	_, err = c.ClusterRoleBindings().Update(ctx, basic, metav1.UpdateOptions{})
	must(t, err)
	wanted := want["ClusterRoleBinding system:basic-user"].(*rbacv1.ClusterRoleBinding)
	wanted.Subjects = append([]rbacv1.Subject{ann}, wanted.Subjects...)
	// A binding keeps its role for good, so one to another role is replaced.
	must(t, c.ClusterRoleBindings().Delete(ctx, "system:discovery", metav1.DeleteOptions{}))
	_, err = c.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "system:discovery"}, Subjects: []rbacv1.Subject{ann},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}, metav1.CreateOptions{})
	must(t, err)
	must(t, c.Roles("kube-system").Delete(ctx, "system:controller:token-cleaner", metav1.DeleteOptions{}))
	must(t, c.RoleBindings("kube-public").Delete(ctx, "system:controller:bootstrap-signer", metav1.DeleteOptions{}))
}

// TestDefaultRolesAtOnce starts servers at once on one etcd that has nothing: none has anything to complain of, and all roles are
// there as soon as each is ready.
func TestDefaultRolesAtOnce(t *testing.T) {
	t.Parallel()
	etcd := (&rival{}).startEtcd(t)
	want := defaultRules(t)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			var log bytes.Buffer
			on := func(o *options.Options) { o.Etcd.Servers = []string{etcd} }
			r, stop, err := launchLogging(slog.New(slog.NewTextHandler(&log, nil)), nil, on, withObjects(fmt.Sprint("192.0.2.", i+1)))
			if err != nil {
				t.Error(err)
				return
			}
			r.ready(t)
			if diff := cmp.Diff(want, r.rules(t)); diff != "" {
				t.Error(diff)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "task="+bootstrap.Roles) {
					t.Error(line)
				}
			}
		})
	}
	wg.Wait()
}

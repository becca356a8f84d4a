package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/options"
)

// namespaceReads are the steps of a journey that asked etcd for a namespace.
func namespaceReads(j *v1alpha1.Journey) (ids []string) {
	for _, s := range j.Status.Steps {
		if s.Layer == "etcd" && strings.HasPrefix(s.Subject, "/registry/namespaces/") {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// TestCreateReadsNoNamespace: the transaction of a create checks the namespace that the cache has, so nothing reads it. What does not
// write, and what matches by the labels of the namespace, reads it once.
func TestCreateReadsNoNamespace(t *testing.T) {
	t.Parallel()
	hook := newReviewer(t)
	r := start(t, prefilled, allow)
	gv := schema.GroupVersion{Group: "condition.example.com", Version: "v1"}
	r.define(t, cronTab(gv.Group))
	ns := r.namespace(t, "plain")
	admin := r.httpClient(t)
	r.configMap(t, ns, "first") // fills the caches that are not filled yet
	_, err := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace(ns).Create(within(t), tab(gv, ns, "first"), metav1.CreateOptions{})
	must(t, err)
	const maps = "configmaps"
	tabs := "/apis/" + gv.String() + "/namespaces/" + ns + "/crontabs"
	plain := "/api/v1/namespaces/" + ns + "/" + maps
	labelled := `{"metadata":{"name":"%s","labels":{"traced":"yes"}}}`
	newTab := `{"apiVersion":"` + gv.String() + `","kind":"CronTab","metadata":{"name":"b"},"spec":{"cronSpec":"*"}}`
	applied := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`
	check := func(name, method, path, body string, reads, conditions int) {
		t.Helper()
		mediaType := map[string]string{"POST": "application/json", "PATCH": "application/apply-patch+yaml"}[method]
		res, answer := ask(t, admin, method, r.URL+path, strings.NewReader(body), "Content-Type: "+mediaType)
		if res.StatusCode != http.StatusCreated {
			t.Errorf("%s: %d %s", name, res.StatusCode, answer)
		}
		j := r.ended(t, res.Header.Get("Kx-Journey"))
		if got := namespaceReads(j); len(got) != reads {
			t.Errorf("%s: the namespace is read by %v, want %d", name, got, reads)
		}
		got := 0
		for _, s := range stepsOf(j, "etcd.txn") {
			if strings.HasPrefix(s.Attribute("condition"), "mod(/registry/namespaces/"+ns+") = ") &&
				strings.Contains(s.Why, "/registry/namespaces/"+ns+" still at revision ") {
				got++
			}
		}
		if got != conditions {
			t.Errorf("%s: %d transactions have the condition, want %d", name, got, conditions)
		}
	}
	check("a config map", "POST", plain, fmt.Sprintf(labelled, "a"), 0, 1)
	check("a generated name", "POST", plain, `{"metadata":{"generateName":"g-"}}`, 0, 1)
	check("a custom resource", "POST", tabs, newTab, 0, 1)
	check("an apply", "PATCH", plain+"/c?fieldManager=m", applied, 0, 1)
	check("a dry run", "POST", plain+"?dryRun=All", fmt.Sprintf(labelled, "dry"), 1, 0)
	accounts := "/api/v1/namespaces/" + ns + "/serviceaccounts"
	check("an account", "POST", accounts, `{"metadata":{"name":"s"}}`, 0, 1)
	check("a token, which is not stored", "POST", accounts+"/s/token", `{}`, 1, 0)

	in := map[string]any{"matchExpressions": []any{map[string]any{"key": "none", "operator": "DoesNotExist"}}}
	rule := map[string]any{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{maps}}
	const group = "/apis/admissionregistration.k8s.io/v1/"
	webhook := func(name string) map[string]any {
		return map[string]any{
			"name": name, "admissionReviewVersions": []string{"v1"}, "sideEffects": "None", "clientConfig": hook.config("/admit"),
			"namespaceSelector": in, "rules": []any{rule},
		}
	}
	about := map[string]any{"namespaceSelector": in, "resourceRules": []any{rule}}
	r.post(t, admin, group+"mutatingwebhookconfigurations", map[string]any{"metadata": named("m"), "webhooks": []any{webhook("m.example.com")}})
	r.post(t, admin, group+"validatingwebhookconfigurations", map[string]any{"metadata": named("v"), "webhooks": []any{webhook("v.example.com"), webhook("w.example.com")}})
	r.post(t, admin, group+"validatingadmissionpolicies", map[string]any{"metadata": named("p"), "spec": map[string]any{
		"matchConstraints": about, "validations": []any{map[string]any{"expression": "object.metadata.name != 'refused'"}},
	}})
	r.post(t, admin, group+"validatingadmissionpolicybindings", map[string]any{"metadata": named("p"), "spec": map[string]any{
		"policyName": "p", "validationActions": []string{"Deny"},
	}})
	until(t, "the policy holds, and the webhooks are asked", func() bool {
		res, _ := ask(t, admin, "POST", r.URL+plain+"?dryRun=All", strings.NewReader(fmt.Sprintf(labelled, "refused")), "Content-Type: application/json")
		asked, _ := ask(t, admin, "POST", r.URL+plain+"?dryRun=All", strings.NewReader(fmt.Sprintf(labelled, "dry")), "Content-Type: application/json")
		return res.StatusCode == http.StatusUnprocessableEntity && asked.StatusCode == http.StatusCreated && hook.asked("/admit") != nil
	})
	check("selectors of namespaces", "POST", plain, fmt.Sprintf(labelled, "d"), 1, 1)
	check("a dry run with selectors of namespaces", "POST", plain+"?dryRun=All", fmt.Sprintf(labelled, "dry"), 1, 0)
}

// waysToCreate are ways to create an object in a namespace.
func waysToCreate(t *testing.T, r *running, gv schema.GroupVersion) map[string]struct {
	resource, stored string
	create           func(ns string) error
} {
	client := r.admin(t).CoreV1()
	one := func(meta metav1.ObjectMeta) func(string) error {
		return func(ns string) error {
			_, err := client.ConfigMaps(ns).Create(within(t), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{})
			return err
		}
	}
	return map[string]struct {
		resource, stored string
		create           func(ns string) error
	}{
		"a config map":     {"configmaps", "/registry/configmaps/", one(named("late"))},
		"a generated name": {"configmaps", "/registry/configmaps/", one(metav1.ObjectMeta{GenerateName: "late-"})},
		"an apply": {"configmaps", "/registry/configmaps/", func(ns string) error {
			_, err := client.ConfigMaps(ns).Patch(within(t), "late", types.ApplyYAMLPatchType,
				[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"late"}}`), metav1.PatchOptions{FieldManager: "m"})
			return err
		}},
		"a custom resource": {"crontabs", "/registry/" + gv.Group + "/crontabs/", func(ns string) error {
			_, err := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace(ns).Create(within(t), tab(gv, ns, "late"), metav1.CreateOptions{})
			return err
		}},
	}
}

// terminating fails the test unless err is upstream's refusal to create something in a namespace that ends.
func terminating(t *testing.T, ns string, err error) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		!strings.Contains(err.Error(), "is forbidden: unable to create new content in namespace "+ns+" because it is being terminated") {
		t.Errorf("the create in a namespace that ends: %v", err)
	}
}

// TestNamespaceEndsBeforeTheTransaction holds creates that admission has allowed just before they are written, and changes their
// namespace. What is created in a namespace that ends must be refused, and nothing may be stored.
func TestNamespaceEndsBeforeTheTransaction(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	gv := schema.GroupVersion{Group: "ends.example.com", Version: "v1"}
	r.define(t, cronTab(gv.Group))
	namespaces := r.admin(t).CoreV1().Namespaces()
	etcd := r.etcd(t)
	annotate := func(ns, patch string) {
		_, err := namespaces.Patch(within(t), ns, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		must(t, err)
	}
	gone := func(ns string) {
		must(t, namespaces.Delete(within(t), ns, metav1.DeleteOptions{}))
		until(t, "the namespace is gone", func() bool {
			_, err := namespaces.Get(within(t), ns, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
	for way, c := range waysToCreate(t, r, gv) {
		for what, change := range map[string]struct {
			do    func(ns string)
			check func(t *testing.T, ns string, err error)
			txns  int
		}{
			"ends": {func(ns string) {
				annotate(ns, `{"metadata":{"finalizers":["example.com/wait"]}}`)
				must(t, namespaces.Delete(within(t), ns, metav1.DeleteOptions{}))
			}, terminating, 1},
			"is gone": {gone, func(t *testing.T, ns string, err error) {
				if !apierrors.IsNotFound(err) || err.Error() != `namespaces "`+ns+`" not found` {
					t.Errorf("the create in a namespace that is gone: %v", err)
				}
			}, 1},
			"is another": {func(ns string) {
				gone(ns)
				_, err := namespaces.Create(within(t), &corev1.Namespace{ObjectMeta: named(ns)}, metav1.CreateOptions{})
				must(t, err)
			}, func(t *testing.T, _ string, err error) { must(t, err) }, 2},
			"has changed": {func(ns string) { annotate(ns, `{"metadata":{"annotations":{"a":"b"}}}`) },
				func(t *testing.T, _ string, err error) { must(t, err) }, 2},
		} {
			t.Run(way+" whose namespace "+what, func(t *testing.T) {
				ns := r.namespace(t, "end")
				r.breakAt(t, ns, v1alpha1.BreakpointSpec{Filter: "step:etcd.txn resource:" + c.resource + " ns:" + ns, Count: 1})
				done := make(chan error, 1)
				go func() { done <- c.create(ns) }()
				j := r.heldBy(t, ns)
				change.do(ns)
				j = r.tell(t, j, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionContinue})
				err := <-done
				change.check(t, ns, err)
				stored, getErr := etcd.Get(within(t), c.stored+ns+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
				must(t, getErr)
				if (stored.Count == 1) != (err == nil) {
					t.Errorf("%d objects are stored, and the answer was %v", stored.Count, err)
				}
				txns := stepsOf(r.ended(t, j.Name), "etcd.txn")
				if len(txns) != change.txns || !strings.Contains(txns[0].Why, "/registry/namespaces/"+ns+" is ") {
					t.Errorf("%d transactions, the first because %q", len(txns), txns[0].Why)
				}
			})
		}
	}
}

// TestNamespaceThatTheCacheKnowsTooLate has two servers on one etcd. The cache of the second one is behind, so what the first one
// does to namespaces is news to its transactions.
func TestNamespaceThatTheCacheKnowsTooLate(t *testing.T) {
	t.Parallel()
	address := (&rival{}).startEtcd(t)
	on := func(o *options.Options) { o.Etcd.Servers = []string{address} }
	first := start(t, on)
	second := start(t, on, prefilled, allow)
	gv := schema.GroupVersion{Group: "late.example.com", Version: "v1"}
	second.define(t, cronTab(gv.Group))
	ending, changed := first.namespace(t, "ending"), first.namespace(t, "changed")
	namespaces := first.admin(t).CoreV1().Namespaces()
	for _, ns := range []string{ending, changed} {
		until(t, "the second server's cache has "+ns, func() bool {
			_, err := second.admin(t).CoreV1().Namespaces().Get(within(t), ns, metav1.GetOptions{ResourceVersion: "0"})
			return err == nil
		})
	}
	second.fault(t, "stale", v1alpha1.FaultSpec{Effect: v1alpha1.FaultStaleCache, Filter: "resource:namespaces"})
	finalize := []byte(`{"metadata":{"finalizers":["example.com/wait"],"annotations":{"a":"b"}}}`)
	for _, ns := range []string{ending, changed} {
		_, err := namespaces.Patch(within(t), ns, types.MergePatchType, finalize, metav1.PatchOptions{})
		must(t, err)
	}
	must(t, namespaces.Delete(within(t), ending, metav1.DeleteOptions{}))
	unknown := first.namespace(t, "unknown")
	for way, c := range waysToCreate(t, second, gv) {
		t.Run(way, func(t *testing.T) {
			terminating(t, ending, c.create(ending))
			if err := c.create("never-there"); !apierrors.IsNotFound(err) {
				t.Errorf("the create in a namespace that never was: %v", err)
			}
			for _, ns := range []string{changed, unknown} {
				err := c.create(ns)
				if apierrors.IsAlreadyExists(err) && c.resource == "configmaps" {
					continue // the other config map
				}
				must(t, err)
			}
		})
	}
}

// TestNamespaceThatChangesAllTheTime: its creates all succeed.
func TestNamespaceThatChangesAllTheTime(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled)
	ns := r.namespace(t, "busy")
	stop := make(chan struct{})
	var changers, creators sync.WaitGroup
	changes := 0
	changers.Go(func() {
		for ; ; changes++ {
			select {
			case <-stop:
				return
			default:
			}
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, changes)
			if _, err := r.admin(t).CoreV1().Namespaces().Patch(within(t), ns, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	const each = 50
	errs := make([]error, 4*each)
	for c := range 4 {
		creators.Go(func() {
			for i := range each {
				_, errs[c*each+i] = r.admin(t).CoreV1().ConfigMaps(ns).Create(within(t),
					&corev1.ConfigMap{ObjectMeta: named(fmt.Sprintf("m-%d-%d", c, i))}, metav1.CreateOptions{})
			}
		})
	}
	creators.Wait()
	close(stop)
	changers.Wait()
	must(t, errors.Join(errs...))
	again := slices.DeleteFunc(r.journeysOf(t, "?filter=verb:create+resource:configmaps+step:etcd.txn"), func(j v1alpha1.Journey) bool {
		return len(stepsOf(r.journeyOf(t, j.Name), "etcd.txn")) < 2
	})
	t.Logf("%d changes of the namespace; of the creates that are kept, %d were tried again", changes, len(again))
	if changes == 0 {
		t.Error("the namespace never changed")
	}
}

package server_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

// snapshot takes a snapshot.
func (r *running) snapshot(t testing.TB, name string) (s v1alpha1.Snapshot) {
	t.Helper()
	r.kx(t, "POST", "snapshots", &v1alpha1.Snapshot{ObjectMeta: named(name)}, 201, &s)
	return s
}

// rewind goes back to a snapshot.
func (r *running) rewind(t testing.TB, name string) v1alpha1.RewindStatus {
	t.Helper()
	var done v1alpha1.Rewind
	r.kx(t, "POST", "snapshots/"+name+"/rewind", &v1alpha1.Rewind{}, 201, &done)
	return done.Status
}

// refused sends a request to the server's own group that is refused with a code and a message with these parts.
func (r *running) refused(t testing.TB, path string, body any, code int, parts ...string) {
	t.Helper()
	var status metav1.Status
	r.kx(t, "POST", path, body, code, &status)
	for _, part := range parts {
		if !strings.Contains(status.Message, part) {
			t.Errorf("POST %s: %q has no %q", path, status.Message, part)
		}
	}
}

// world is all that etcd has below the prefix, by key.
func (r *running) world(t testing.TB) map[string]string {
	t.Helper()
	return r.worldAt(t, 0)
}

// same fails unless etcd has the values of a world and nothing else.
func (r *running) same(t testing.TB, want map[string]string) {
	t.Helper()
	compare(t, r.world(t), want)
}

// compare fails unless two worlds are the same.
func compare(t testing.TB, got, want map[string]string) {
	t.Helper()
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("%s is left", key)
		}
	}
	for key, value := range want {
		if now, ok := got[key]; !ok {
			t.Errorf("%s is missing", key)
		} else if now != value {
			t.Errorf("%s is %q, and was %q", key, now, value)
		}
	}
}

// seen collects what an informer of config maps sees.
type seen struct {
	mu     sync.Mutex
	events []string
}

func (s *seen) add(event string, object any) {
	m := object.(*corev1.ConfigMap)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf("%s %s %s %s", event, m.Name, m.UID, m.Data["a"]))
}

// take returns the events until that of an object, without it, in the order of their text. Those of one object keep theirs.
func (s *seen) take(t testing.TB, last string) (events []string) {
	t.Helper()
	until(t, "the informer sees "+last, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		at := slices.IndexFunc(s.events, func(e string) bool { return strings.HasPrefix(e, "add "+last+" ") })
		if at < 0 {
			return false
		}
		events, s.events = slices.Clone(s.events[:at]), slices.Delete(s.events, 0, at+1)
		return true
	})
	slices.SortStableFunc(events, func(a, b string) int { return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
	return events
}

// inform starts an informer of the config maps of a namespace, and returns when it has all of them.
func (r *running) inform(t testing.TB, namespace string) *seen {
	t.Helper()
	s := &seen{}
	factory := informers.NewSharedInformerFactoryWithOptions(r.admin(t), 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.add("add", o) },
		UpdateFunc: func(_, o any) { s.add("update", o) },
		DeleteFunc: func(o any) { s.add("delete", o) },
	})
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		stop()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(within(t).Done(), informer.HasSynced) {
		t.Fatal("the informer has no list")
	}
	return s
}

// put creates a config map.
func (r *running) put(t testing.TB, namespace, name string) *corev1.ConfigMap {
	t.Helper()
	m, err := r.admin(t).CoreV1().ConfigMaps(namespace).Create(within(t),
		&corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"a": "1"}}, metav1.CreateOptions{})
	must(t, err)
	return m
}

func (r *running) drop(t testing.TB, namespace, name string) {
	t.Helper()
	must(t, r.admin(t).CoreV1().ConfigMaps(namespace).Delete(within(t), name, metav1.DeleteOptions{}))
}

// change gives a config map another value.
func (r *running) change(t testing.TB, m *corev1.ConfigMap, value string) {
	t.Helper()
	m = m.DeepCopy()
	m.Data["a"], m.ResourceVersion = value, ""
	_, err := r.admin(t).CoreV1().ConfigMaps(m.Namespace).Update(within(t), m, metav1.UpdateOptions{})
	must(t, err)
}

// TestRewind: an informer that is connected sees exactly the difference, as ordinary events. Objects come back with their
// UIDs and their content, in new versions. A second rewind writes nothing, and a later one to the same snapshot goes back
// again.
func TestRewind(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, encryption(t, "aescbc", "key1"))
	ns := r.namespace(t, "rewind")
	kept, changed, deleted, again := r.put(t, ns, "kept"), r.put(t, ns, "changed"), r.put(t, ns, "deleted"), r.put(t, ns, "again")
	_, err := r.admin(t).CoreV1().Secrets(ns).Create(within(t), &corev1.Secret{ObjectMeta: named("hidden"), StringData: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	must(t, err)
	informer := r.inform(t, ns)
	r.put(t, ns, "mark-0")
	informer.take(t, "mark-0")
	world := r.world(t)
	s := r.snapshot(t, "clean")
	if s.Status.Revision == 0 || s.Status.Keys < 5 || s.Status.Until == nil {
		t.Errorf("%+v", s.Status)
	}

	spoil := func(mark string) {
		r.change(t, changed, "2")
		r.drop(t, ns, "deleted")
		r.put(t, ns, "new")
		r.drop(t, ns, "again")
		r.put(t, ns, "again")
		must(t, r.admin(t).CoreV1().Secrets(ns).Delete(within(t), "hidden", metav1.DeleteOptions{}))
		r.put(t, ns, mark)
		informer.take(t, mark)
	}
	for round := range 2 {
		spoil(fmt.Sprintf("spoilt-%d", round))
		before, err := r.admin(t).CoreV1().ConfigMaps(ns).List(within(t), metav1.ListOptions{})
		must(t, err)
		done := r.rewind(t, "clean")
		if done.Written != 4 || done.Removed != 2 {
			t.Errorf("round %d: %+v", round, done)
		}
		// The cache has it at once.
		list, err := r.admin(t).CoreV1().ConfigMaps(ns).List(within(t), metav1.ListOptions{ResourceVersion: "0"})
		must(t, err)
		for _, m := range list.Items {
			if m.Name == "changed" && (m.Data["a"] != "1" || m.UID != changed.UID) {
				t.Errorf("%+v", m)
			}
			if number(t, m.ResourceVersion) <= number(t, before.ResourceVersion) && m.Name != "kept" && m.Name != "mark-0" {
				t.Errorf("%s is at %s, and the list before was at %s", m.Name, m.ResourceVersion, before.ResourceVersion)
			}
		}
		r.same(t, world)
		mark := fmt.Sprintf("mark-%d", round+1)
		r.put(t, ns, mark)
		events := informer.take(t, mark)
		want := []string{
			"delete again", "add again " + string(again.UID) + " 1",
			"update changed " + string(changed.UID) + " 1",
			"add deleted " + string(deleted.UID) + " 1",
			"delete new", fmt.Sprintf("delete spoilt-%d", round),
		}
		matches := slices.EqualFunc(events, want, strings.HasPrefix)
		if !matches {
			t.Errorf("round %d: %q, want %q", round, events, want)
		}
		r.drop(t, ns, mark)
		until(t, "the informer sees that it is gone", func() bool {
			informer.mu.Lock()
			defer informer.mu.Unlock()
			return len(informer.events) == 1
		})
		informer.events = nil
	}

	if done := r.rewind(t, "clean"); done.Written != 0 || done.Removed != 0 {
		t.Errorf("nothing was different: %+v", done)
	}
	r.put(t, ns, "last")
	if events := informer.take(t, "last"); len(events) != 0 {
		t.Errorf("%q", events)
	}
	got, err := r.admin(t).CoreV1().ConfigMaps(ns).Get(within(t), "kept", metav1.GetOptions{})
	must(t, err)
	if got.ResourceVersion != kept.ResourceVersion {
		t.Errorf("an object that did not change was written: %s, %s", got.ResourceVersion, kept.ResourceVersion)
	}
	secret, err := r.admin(t).CoreV1().Secrets(ns).Get(within(t), "hidden", metav1.GetOptions{})
	must(t, err)
	if string(secret.Data["a"]) != "b" {
		t.Errorf("%q", secret.Data)
	}
}

func number(t testing.TB, resourceVersion string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	must(t, err)
	return n
}

// TestRewindDefinitions: a definition that was deleted comes back and serves its objects, and a new one goes with them.
func TestRewindDefinitions(t *testing.T) {
	t.Parallel()
	r := start(t)
	old, fresh := schema.GroupVersion{Group: "old.example.com", Version: "v1"}, schema.GroupVersion{Group: "new.example.com", Version: "v1"}
	resources := func(gv schema.GroupVersion) schema.GroupVersionResource { return gv.WithResource("crontabs") }
	defined := r.define(t, cronTab(old.Group))
	tabs := r.dynamic(t).Resource(resources(old)).Namespace("default")
	made, err := tabs.Create(within(t), tab(old, "default", "there"), metav1.CreateOptions{})
	must(t, err)
	world := r.world(t)
	r.snapshot(t, "clean")

	r.undefine(t, "crontabs."+old.Group)
	r.define(t, cronTab(fresh.Group))
	others := r.dynamic(t).Resource(resources(fresh)).Namespace("default")
	_, err = others.Create(within(t), tab(fresh, "default", "new"), metav1.CreateOptions{})
	must(t, err)
	w, err := others.Watch(within(t), metav1.ListOptions{})
	must(t, err)
	defer w.Stop()
	if e := <-w.ResultChan(); e.Type != watch.Added {
		t.Fatalf("%+v", e)
	}

	r.rewind(t, "clean")
	got, err := tabs.Get(within(t), "there", metav1.GetOptions{})
	must(t, err)
	if got.GetUID() != made.GetUID() {
		t.Errorf("%s, and it was %s", got.GetUID(), made.GetUID())
	}
	crd, err := r.definitions(t).Get(within(t), defined.Name, metav1.GetOptions{})
	must(t, err)
	if crd.UID != defined.UID || !isTrue(crd, apiextensionsv1.Established) {
		t.Errorf("%s %+v", crd.UID, crd.Status)
	}
	_, err = tabs.Create(within(t), tab(old, "default", "more"), metav1.CreateOptions{})
	must(t, err)
	must(t, tabs.Delete(within(t), "more", metav1.DeleteOptions{}))
	if e := <-w.ResultChan(); e.Type != watch.Deleted {
		t.Errorf("the watch of a resource that goes: %+v", e)
	}
	if _, err := others.List(within(t), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("its definition is gone: %v", err)
	}
	if _, err := r.admin(t).Discovery().ServerResourcesForGroupVersion(fresh.String()); !apierrors.IsNotFound(err) {
		t.Errorf("its group is discovered: %v", err)
	}
	if _, err := r.admin(t).Discovery().ServerResourcesForGroupVersion(old.String()); err != nil {
		t.Errorf("the group that is back is not discovered: %v", err)
	}
	r.same(t, world)
}

// TestRewindOwners: owners and dependents that the garbage collector has deleted come back and stay, also for it.
func TestRewindOwners(t *testing.T) {
	t.Parallel()
	r := start(t)
	owned := func(name string, owners ...*corev1.ConfigMap) {
		m := &corev1.ConfigMap{ObjectMeta: named(name)}
		for _, o := range owners {
			m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID})
		}
		_, err := r.admin(t).CoreV1().ConfigMaps("default").Create(within(t), m, metav1.CreateOptions{})
		must(t, err)
	}
	isGone := func(name string) func() bool {
		return func() bool {
			_, err := r.admin(t).CoreV1().ConfigMaps("default").Get(within(t), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}
	}
	first, second := r.put(t, "default", "first"), r.put(t, "default", "second")
	owned("one", first)
	owned("both", first, second)
	world := r.world(t)
	r.snapshot(t, "clean")
	r.drop(t, "default", "first")
	until(t, "its dependent is collected", isGone("one"))
	r.drop(t, "default", "second")
	until(t, "the other one is too", isGone("both"))

	r.rewind(t, "clean")
	r.same(t, world)
	// The collector judges the one that had both owners once more.
	r.drop(t, "default", "second")
	until(t, "it loses the owner that is gone again", func() bool {
		m, err := r.admin(t).CoreV1().ConfigMaps("default").Get(within(t), "both", metav1.GetOptions{})
		must(t, err)
		return len(m.OwnerReferences) == 1
	})
	r.rewind(t, "clean")
	r.same(t, world)
}

// TestRewindNamespaces: a namespace that is being deleted is there again with what it had, and is not emptied any more. One
// that is gone comes back, and a new one goes.
func TestRewindNamespaces(t *testing.T) {
	t.Parallel()
	r := start(t)
	namespaces := r.admin(t).CoreV1().Namespaces()
	ending, gone := r.namespace(t, "ending"), r.namespace(t, "gone")
	r.put(t, ending, "plain")
	r.put(t, gone, "plain")
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}
	_, err := r.admin(t).CoreV1().ConfigMaps(ending).Create(within(t), held, metav1.CreateOptions{})
	must(t, err)
	world := r.world(t)
	r.snapshot(t, "clean")
	for _, ns := range []string{ending, gone} {
		must(t, namespaces.Delete(within(t), ns, metav1.DeleteOptions{}))
	}
	until(t, "one is gone", func() bool {
		_, err := namespaces.Get(within(t), gone, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	until(t, "the other one has only what is held", func() bool {
		list, err := r.admin(t).CoreV1().ConfigMaps(ending).List(within(t), metav1.ListOptions{})
		must(t, err)
		return len(list.Items) == 1
	})
	r.put(t, r.namespace(t, "new"), "plain")

	r.rewind(t, "clean")
	r.same(t, world)
	r.rest(t, controller.Namespace)
	r.same(t, world)
	r.put(t, ending, "more")
}

// TestRewindAllocations: addresses, ports and quotas are those of the snapshot.
func TestRewindAllocations(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *options.Options) { o.InitialObjects, o.Controllers = true, options.New().Controllers })
	ns := r.namespace(t, "rewind")
	services := r.admin(t).CoreV1().Services(ns)
	service := func(name, ip string, port int32) (*corev1.Service, error) {
		return services.Create(within(t), &corev1.Service{ObjectMeta: named(name), Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, ClusterIP: ip, Selector: map[string]string{"a": "b"},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80), NodePort: port}},
		}}, metav1.CreateOptions{})
	}
	until(t, "there are addresses", func() bool {
		_, err := r.admin(t).NetworkingV1().ServiceCIDRs().Get(within(t), "kubernetes", metav1.GetOptions{})
		return err == nil
	})
	var first *corev1.Service
	until(t, "a service has an address", func() (made bool) {
		var err error
		first, err = service("first", "", 0)
		return err == nil
	})
	quota := &corev1.ResourceQuota{ObjectMeta: named("few"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": apiresource.MustParse("2")}}}
	_, err := r.admin(t).CoreV1().ResourceQuotas(ns).Create(within(t), quota, metav1.CreateOptions{})
	must(t, err)
	secret := func(name string) error {
		_, err := r.admin(t).CoreV1().Secrets(ns).Create(within(t), &corev1.Secret{ObjectMeta: named(name)}, metav1.CreateOptions{})
		return err
	}
	until(t, "the quota is counted", func() bool { return secret("one") == nil })
	until(t, "all is at rest", func() bool {
		q, err := r.admin(t).CoreV1().ResourceQuotas(ns).Get(within(t), "few", metav1.GetOptions{})
		must(t, err)
		used := q.Status.Used["count/secrets"]
		return used.Value() == 1
	})
	r.snapshot(t, "clean")

	must(t, services.Delete(within(t), "first", metav1.DeleteOptions{}))
	_, err = service("second", first.Spec.ClusterIP, first.Spec.Ports[0].NodePort)
	must(t, err)
	must(t, secret("two"))
	r.rewind(t, "clean")

	got, err := services.Get(within(t), "first", metav1.GetOptions{})
	must(t, err)
	if got.UID != first.UID || got.Spec.ClusterIP != first.Spec.ClusterIP {
		t.Errorf("%+v", got)
	}
	if _, err := service("third", first.Spec.ClusterIP, 0); !apierrors.IsInvalid(err) {
		t.Errorf("its address is given away: %v", err)
	}
	if _, err := service("fourth", "", first.Spec.Ports[0].NodePort); !apierrors.IsInvalid(err) {
		t.Errorf("its port is given away: %v", err)
	}
	// The controller may have counted what was taken back, and not yet that it is gone.
	until(t, "the quota has room for two", func() bool { return secret("two") == nil })
	if err := secret("three"); !apierrors.IsForbidden(err) {
		t.Errorf("the quota is for two: %v", err)
	}
}

// TestRewindBusy: a rewind ends in the state of the snapshot though other processes write to the same etcd, past the server.
// It may have to be repeated.
func TestRewindBusy(t *testing.T) {
	t.Parallel()
	r := start(t)
	ns := r.namespace(t, "busy")
	for n := range 200 {
		r.put(t, ns, fmt.Sprintf("m-%03d", n))
	}
	world := r.world(t)
	r.snapshot(t, "clean")
	etcd := r.etcd(t)
	client := r.httpClient(t)
	var writers sync.WaitGroup
	for n := range 4 {
		writers.Go(func() {
			for i := range 20 {
				_, _ = etcd.Put(within(t), fmt.Sprintf("/registry/configmaps/%s/m-%03d", ns, n), fmt.Sprint(i))
			}
		})
	}
	until(t, "a rewind ends", func() bool {
		res, _ := ask(t, client, "POST", r.URL+kxRoot+"snapshots/clean/rewind", strings.NewReader("{}"), "Content-Type: application/json")
		return res.StatusCode == 201
	})
	writers.Wait()
	r.rewind(t, "clean")
	r.same(t, world)
}

// worldAt is world at a revision, 0 for now.
func (r *running) worldAt(t testing.TB, revision int64) map[string]string {
	t.Helper()
	all, err := r.etcd(t).Get(within(t), "/registry/", clientv3.WithPrefix(), clientv3.WithRev(revision))
	must(t, err)
	world := map[string]string{}
	for _, kv := range all.Kvs {
		if !strings.HasPrefix(string(kv.Key), "/registry/masterleases/") {
			world[string(kv.Key)] = string(kv.Value)
		}
	}
	return world
}

// rest waits until controllers have nothing left to do.
func (r *running) rest(t testing.TB, names ...string) {
	t.Helper()
	until(t, "the controllers have nothing left to do", func() bool {
		var list v1alpha1.StructureList
		r.kx(t, "GET", "structure", nil, 200, &list)
		found, busy := 0, int64(0)
		for i := range list.Items {
			c := list.Items[i].Spec.Controller
			isNamed := func(name string) bool { return strings.Contains(list.Items[i].Name, name) }
			if c != nil && slices.ContainsFunc(names, isNamed) {
				found++
				busy += int64(c.Waiting + c.Working + c.Failing)
			}
		}
		if found < len(names) {
			t.Fatalf("%d of the controllers %v are there", found, names)
		}
		return busy == 0
	})
}

// writeOn has clients create, update and delete objects of a namespace in tight loops until the function that it returns
// is called, which returns when they have ended. None of their requests may fail but for what another one did, or for a
// rewind.
func (r *running) writeOn(t testing.TB, ns string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	for n := range 4 {
		maps := r.admin(t).CoreV1().ConfigMaps(ns)
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("busy-%d", (n+i)%7)
				m := &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"a": fmt.Sprintf("%d-%d", n, i)}}
				var err error
				switch i % 3 {
				case 0:
					_, err = maps.Create(ctx, m, metav1.CreateOptions{})
				case 1:
					_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
				default:
					err = maps.Delete(ctx, name, metav1.DeleteOptions{})
				}
				other := apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err)
				if err != nil && !other && ctx.Err() == nil {
					t.Errorf("writer %d, write %d: %v", n, i, err)
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); writers.Wait() })
	t.Cleanup(stop)
	return stop
}

// TestRewindWhileWritten: a rewind ends at once while clients write in tight loops and controllers are in the midst of
// their reaction to what happened before it. When it ends, etcd has exactly the state of the snapshot, and no decision of a
// controller from before changes that afterwards.
func TestRewindWhileWritten(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *options.Options) { o.Controllers = options.New().Controllers })
	busy, ending := r.namespace(t, "busy"), r.namespace(t, "ending")
	core := r.admin(t).CoreV1()
	quota := &corev1.ResourceQuota{ObjectMeta: named("many"),
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": apiresource.MustParse("1000000")}}}
	_, err := core.ResourceQuotas(busy).Create(within(t), quota, metav1.CreateOptions{})
	must(t, err)
	owner := r.put(t, "default", "owner")
	for n := range 30 {
		dependent := &corev1.ConfigMap{ObjectMeta: named(fmt.Sprintf("dependent-%d", n))}
		dependent.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
		_, err := core.ConfigMaps("default").Create(within(t), dependent, metav1.CreateOptions{})
		must(t, err)
		r.put(t, ending, fmt.Sprintf("content-%d", n))
	}
	for _, ns := range []string{busy, ending, "default"} {
		until(t, "a new namespace has what each has", func() bool {
			_, noAccount := core.ServiceAccounts(ns).Get(within(t), "default", metav1.GetOptions{})
			_, noCA := core.ConfigMaps(ns).Get(within(t), "kube-root-ca.crt", metav1.GetOptions{})
			return noAccount == nil && noCA == nil
		})
	}
	until(t, "the quota is counted", func() bool {
		q, err := core.ResourceQuotas(busy).Get(within(t), "many", metav1.GetOptions{})
		must(t, err)
		used := q.Status.Used["count/configmaps"]
		return used.Value() == 1
	})
	reacting := []string{controller.Garbage, controller.Namespace, controller.Quota}
	r.rest(t, append(reacting, controller.RootCA, controller.ServiceAccounts)...)
	r.snapshot(t, "clean")
	world := r.world(t)
	stop := r.writeOn(t, busy)

	for round := range 12 {
		must(t, core.ConfigMaps("default").Delete(within(t), "owner", metav1.DeleteOptions{}))
		must(t, core.Namespaces().Delete(within(t), ending, metav1.DeleteOptions{}))
		if round%3 > 0 { // the garbage collector, or both, have begun
			until(t, "a dependent is gone", func() bool {
				list, err := core.ConfigMaps("default").List(within(t), metav1.ListOptions{})
				must(t, err)
				return len(list.Items) < 30
			})
		}
		if round%3 > 1 {
			until(t, "a part of the namespace is gone", func() bool {
				list, err := core.ConfigMaps(ending).List(within(t), metav1.ListOptions{})
				must(t, err)
				return len(list.Items) < 30
			})
		}
		done := r.rewind(t, "clean")
		compare(t, r.worldAt(t, done.Revision), world)
	}

	stop()
	r.rest(t, reacting...)
	got := r.world(t)
	for _, one := range []map[string]string{got, world} {
		for key := range one {
			if strings.Contains(key, "/busy-") || strings.HasPrefix(key, "/registry/resourcequotas/"+busy+"/") {
				delete(one, key) // the clients wrote after the last rewind
			}
		}
	}
	compare(t, got, world)
}

// TestRewindHeld: a rewind does not wait for a request that is held just before its transaction. When that goes on, it is
// judged by what is there then.
func TestRewindHeld(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	r.configMap(t, "default", "held")
	r.snapshot(t, "clean")
	world := r.world(t)
	must(t, (<-r.update(t, within(t), "default", "held", "1")).err)
	r.breakAt(t, "txn", v1alpha1.BreakpointSpec{Filter: "step:etcd.txn resource:configmaps name:held", Count: 1})
	update := r.update(t, within(t), "default", "held", "mine")
	j := r.heldBy(t, "txn")
	r.rewind(t, "clean")
	r.same(t, world)
	done := r.tell(t, j, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionContinue})
	answer := <-update
	must(t, answer.err)
	if answer.object.Data["v"] != "mine" {
		t.Errorf("%v", answer.object.Data)
	}
	if tries := stepsOf(done, "store.try-update"); len(tries) != 2 || !strings.Contains(tries[1].Why, "conflict") {
		t.Errorf("tries: %+v", tries)
	}
}

// TestRewindLeases: an event that would have expired by now stays away, and another one comes back with its lease.
func TestRewindLeases(t *testing.T) {
	t.Parallel()
	r := start(t)
	etcd := r.etcd(t)
	leases := map[string]clientv3.LeaseID{}
	for _, name := range []string{"ended", "lives"} {
		lease, err := etcd.Grant(within(t), 3600)
		must(t, err)
		_, err = etcd.Put(within(t), "/registry/events/default/"+name, name, clientv3.WithLease(lease.ID))
		must(t, err)
		leases[name] = lease.ID
	}
	r.snapshot(t, "clean")
	_, err := etcd.Delete(within(t), "/registry/events/default/lives")
	must(t, err)
	_, err = etcd.Revoke(within(t), leases["ended"])
	must(t, err)
	if done := r.rewind(t, "clean"); done.Written != 1 || done.Removed != 0 {
		t.Errorf("%+v", done)
	}
	all, err := etcd.Get(within(t), "/registry/events/default/", clientv3.WithPrefix())
	must(t, err)
	if len(all.Kvs) != 1 || string(all.Kvs[0].Value) != "lives" || clientv3.LeaseID(all.Kvs[0].Lease) != leases["lives"] {
		t.Errorf("%v", all.Kvs)
	}
}

// TestRewindCompaction: a server does not compact what a snapshot needs. If others do, a rewind says so.
func TestRewindCompaction(t *testing.T) {
	t.Parallel()
	r := start(t, allow, func(o *options.Options) { o.Etcd.CompactionInterval = time.Millisecond })
	ns := r.namespace(t, "compact")
	m := r.put(t, ns, "m")
	world := r.world(t)
	s := r.snapshot(t, "clean")
	for n := range 50 {
		r.change(t, m, strconv.Itoa(n))
	}
	r.refused(t, "compactions", &v1alpha1.Compaction{}, 409, "the snapshot clean needs", strconv.FormatInt(s.Status.Revision, 10))
	r.rewind(t, "clean")
	r.same(t, world)
	r.refused(t, "snapshots", &v1alpha1.Snapshot{ObjectMeta: named("future"), Spec: v1alpha1.SnapshotSpec{Revision: 1 << 40}}, 400, "not reached")
	var past v1alpha1.Snapshot
	r.kx(t, "POST", "snapshots", &v1alpha1.Snapshot{ObjectMeta: named("past"), Spec: v1alpha1.SnapshotSpec{Revision: s.Status.Revision}}, 201, &past)
	if past.Status.Keys != s.Status.Keys {
		t.Errorf("%+v, %+v", past.Status, s.Status)
	}
	r.kx(t, "DELETE", "snapshots/past", nil, 200, nil)

	r.change(t, m, "last")
	r.compact(t)
	r.refused(t, "snapshots/clean/rewind", &v1alpha1.Rewind{}, 410, "clean", "someone else compacted it")
	r.kx(t, "DELETE", "snapshots/clean", nil, 200, nil)
	r.refused(t, "snapshots/clean/rewind", &v1alpha1.Rewind{}, 404)
	compacted := func() int64 {
		resp, err := r.etcd(t).Get(within(t), "compact_rev_key")
		must(t, err)
		if len(resp.Kvs) == 0 {
			return 0
		}
		return int64(number(t, string(resp.Kvs[0].Value)))
	}
	until(t, "the server compacts again", func() bool { return compacted() > s.Status.Revision })
}

// TestRewindRefused: only a server that keeps nothing takes snapshots, so many, for a time.
func TestRewindRefused(t *testing.T) {
	t.Parallel()
	keeping := start(t, in(t.TempDir()))
	keeping.refused(t, "snapshots", &v1alpha1.Snapshot{ObjectMeta: named("clean")}, 403, "kx serve --ephemeral")
	keeping.refused(t, "snapshots/clean/rewind", &v1alpha1.Rewind{}, 403, "kx serve --ephemeral")

	r := start(t)
	r.refused(t, "snapshots", &v1alpha1.Snapshot{Spec: v1alpha1.SnapshotSpec{Seconds: -1}}, 422, "metadata.name", "spec.seconds")
	r.refused(t, "snapshots/none/rewind", &v1alpha1.Rewind{}, 404, `"none" not found`)
	r.kx(t, "POST", "snapshots", &v1alpha1.Snapshot{ObjectMeta: named("short"), Spec: v1alpha1.SnapshotSpec{Seconds: 1}}, 201, nil)
	for n := range 63 {
		r.snapshot(t, fmt.Sprintf("s-%d", n))
	}
	until(t, "one has ended", func() bool {
		var list v1alpha1.SnapshotList
		r.kx(t, "GET", "snapshots", nil, 200, &list)
		return len(list.Items) == 63 && list.Items[0].Name == "s-0"
	})
	r.snapshot(t, "last")
	r.refused(t, "snapshots", &v1alpha1.Snapshot{ObjectMeta: named("more")}, 403, "64 snapshots")
	r.refused(t, "snapshots", &v1alpha1.Snapshot{ObjectMeta: named("last")}, 409, "already exists")
	r.refused(t, "snapshots/last/rewind?dryRun=All", &v1alpha1.Rewind{}, 400, "dryRun")
}

// BenchmarkRewind takes a snapshot beside objects of 1 kB, and rewinds some of them.
func BenchmarkRewind(b *testing.B) {
	for _, objects := range []int{1000, 10_000} {
		r := start(b, prefilled)
		ns := r.namespace(b, "bench")
		body := strings.Repeat("x", 1000)
		etcd := r.etcd(b)
		var made sync.WaitGroup
		slots := make(chan struct{}, 16)
		for n := range objects {
			slots <- struct{}{}
			made.Go(func() {
				defer func() { <-slots }()
				m := &corev1.ConfigMap{ObjectMeta: named(fmt.Sprintf("m-%05d", n)), Data: map[string]string{"a": "1", "body": body}}
				_, err := r.admin(b).CoreV1().ConfigMaps(ns).Create(b.Context(), m, metav1.CreateOptions{})
				must(b, err)
			})
		}
		made.Wait()
		b.Run(fmt.Sprintf("snapshot/of=%d", objects), func(b *testing.B) {
			for n := range b.N {
				name := fmt.Sprintf("s-%d", n)
				r.snapshot(b, name)
				b.StopTimer()
				r.kx(b, "DELETE", "snapshots/"+name, nil, 200, nil)
				b.StartTimer()
			}
		})
		r.snapshot(b, "clean")
		for _, different := range []int{0, 10, 1000, 10_000} {
			if different > objects {
				continue
			}
			b.Run(fmt.Sprintf("rewind/of=%d/different=%d", objects, different), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					for n := range different {
						_, err := etcd.Delete(b.Context(), fmt.Sprintf("/registry/configmaps/%s/m-%05d", ns, n))
						must(b, err)
					}
					b.StartTimer()
					if done := r.rewind(b, "clean"); done.Written != int64(different) {
						b.Fatalf("%+v", done)
					}
				}
			})
		}
	}
}

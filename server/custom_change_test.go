package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/kx-apiserver/kx/server/options"
)

// edit changes a definition, however often somebody else does so at the same time.
func (r *running) edit(t testing.TB, name string, change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var edited *apiextensionsv1.CustomResourceDefinition
	must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		crd, err := r.definitions(t).Get(within(t), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(crd)
		edited, err = r.definitions(t).Update(within(t), crd, metav1.UpdateOptions{})
		return err
	}))
	return edited
}

// writer creates, changes, reads and deletes objects until it is told to stop. It stops by itself at a mistake.
type writer struct {
	objects dynamic.ResourceInterface
	gv      schema.GroupVersion
	rounds  atomic.Int64
	failure error
	running sync.WaitGroup
	stop    context.CancelFunc
}

func (r *running) write(t testing.TB, gv schema.GroupVersion, name string) *writer {
	ctx, stop := context.WithCancel(t.Context())
	w := &writer{objects: r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default"), gv: gv, stop: stop}
	w.running.Go(func() {
		for ctx.Err() == nil && w.failure == nil {
			if err := w.round(ctx, name); err != nil && ctx.Err() == nil {
				w.failure = err
			}
			w.rounds.Add(1)
		}
	})
	t.Cleanup(func() { stop(); w.running.Wait() })
	return w
}

func (w *writer) round(ctx context.Context, name string) error {
	if _, err := w.objects.Create(ctx, tab(w.gv, "default", name), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if _, err := w.objects.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if _, err := w.objects.List(ctx, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if err := w.objects.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// more waits until some rounds have begun and ended since now.
func (w *writer) more(t testing.TB) {
	t.Helper()
	before := w.rounds.Load()
	until(t, "the writer goes on", func() bool { return w.rounds.Load() >= before+3 })
}

func (w *writer) end(t testing.TB) {
	t.Helper()
	w.stop()
	w.running.Wait()
	if w.failure != nil {
		t.Error(w.failure)
	}
}

// follower watches as informers do, and counts what it sees: from the last resourceVersion on whenever a watch ends, and
// from a new list on when that is too old for what serves the resource now.
type follower struct {
	seen    atomic.Int64
	watches atomic.Int64
	failure error
	running sync.WaitGroup
	stop    context.CancelFunc
}

func (r *running) follow(t testing.TB, gv schema.GroupVersion) *follower {
	ctx, stop := context.WithCancel(t.Context())
	f := &follower{stop: stop}
	objects := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default")
	f.running.Go(func() {
		revision := ""
		for ctx.Err() == nil && f.failure == nil {
			var err error
			if revision == "" {
				var list *unstructured.UnstructuredList
				if list, err = objects.List(ctx, metav1.ListOptions{}); err == nil {
					revision = list.GetResourceVersion()
				}
			}
			if err == nil {
				revision, err = f.watch(ctx, objects, revision)
			}
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				revision, err = "", nil
			}
			if ctx.Err() == nil {
				f.failure = err
			}
		}
	})
	t.Cleanup(func() { stop(); f.running.Wait() })
	return f
}

// watch watches until the watch ends.
func (f *follower) watch(ctx context.Context, objects dynamic.ResourceInterface, revision string) (string, error) {
	w, err := objects.Watch(ctx, metav1.ListOptions{ResourceVersion: revision})
	if err != nil {
		return "", err
	}
	defer w.Stop()
	f.watches.Add(1)
	for event := range w.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return "", apierrors.FromObject(event.Object)
		}
		revision = u.GetResourceVersion()
		f.seen.Add(1)
	}
	return revision, nil
}

func (f *follower) end(t testing.TB) {
	t.Helper()
	f.stop()
	f.running.Wait()
	if f.failure != nil {
		t.Error(f.failure)
	}
}

// withVersion adds a version like the first.
func withVersion(name string, served bool) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		v := *crd.Spec.Versions[0].DeepCopy()
		v.Name, v.Served, v.Storage = name, served, false
		crd.Spec.Versions = append(crd.Spec.Versions, v)
	}
}

// TestChangesUnderLoad: schema, versions and names change while clients write and watch. None of their requests fails, and
// watches end so that clients come back to what is served now.
func TestChangesUnderLoad(t *testing.T) {
	t.Parallel()
	r := start(t)
	const group = "load.example.com"
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	crd := r.define(t, cronTab(group))
	w, f := r.write(t, gv, "one"), r.follow(t, gv)
	until(t, "the watch has begun", func() bool { return f.watches.Load() > 0 })
	other := r.write(t, gv, "two")
	steps := []func(*apiextensionsv1.CustomResourceDefinition){
		func(crd *apiextensionsv1.CustomResourceDefinition) {
			spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			spec.Properties["suspend"] = apiextensionsv1.JSONSchemaProps{Type: "boolean"}
		},
		withVersion("v2", true),
		func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Storage, crd.Spec.Versions[1].Storage = false, true
		},
		func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Names.ShortNames, crd.Spec.Names.Categories = []string{"ct", "cts"}, nil
		},
		func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false },
		func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Storage, crd.Spec.Versions[1].Storage = true, false
		},
	}
	for _, step := range steps {
		watches := f.watches.Load()
		r.edit(t, crd.Name, step)
		until(t, "the watch has ended and begun again", func() bool { return f.watches.Load() > watches })
		seen := f.seen.Load()
		w.more(t)
		other.more(t)
		until(t, "the watch goes on", func() bool { return f.seen.Load() > seen })
	}
	w.end(t)
	other.end(t)
	f.end(t)
	t.Logf("%d and %d rounds, %d events in %d watches", w.rounds.Load(), other.rounds.Load(), f.seen.Load(), f.watches.Load())
	changed, err := r.definitions(t).Get(within(t), crd.Name, metav1.GetOptions{})
	must(t, err)
	if got := strings.Join(changed.Status.StoredVersions, " "); got != "v1 v2" {
		t.Errorf("stored versions: %s", got)
	}
}

// TestScopeChanges: a definition is deleted under a writer and a watcher, and comes back with another scope. What is refused
// meanwhile is refused in upstream's words.
func TestScopeChanges(t *testing.T) {
	t.Parallel()
	r := start(t)
	const group = "scope.example.com"
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	crd := r.define(t, cronTab(group))
	tabs := r.dynamic(t).Resource(gv.WithResource("crontabs"))
	held := tab(gv, "default", "held")
	held.SetFinalizers([]string{"example.com/held"})
	_, err := tabs.Namespace("default").Create(within(t), held, metav1.CreateOptions{})
	must(t, err)
	watcher, err := tabs.Namespace("default").Watch(within(t), metav1.ListOptions{})
	must(t, err)

	must(t, r.definitions(t).Delete(within(t), crd.Name, metav1.DeleteOptions{}))
	until(t, "creates are refused", func() bool {
		_, err = tabs.Namespace("default").Create(within(t), tab(gv, "default", "new"), metav1.CreateOptions{})
		return err != nil && !apierrors.IsAlreadyExists(err) // the first may come before the definition is seen to end
	})
	const refused = `crontabs.scope.example.com "new" is forbidden: create not allowed while custom resource definition is terminating`
	if err.Error() != refused {
		t.Errorf("create: %v", err)
	}
	applied := tab(gv, "default", "new")
	applied.Object["spec"] = map[string]any{"image": "x"}
	if _, err := tabs.Namespace("default").Apply(within(t), "new", applied, metav1.ApplyOptions{FieldManager: "ann"}); err == nil || err.Error() != refused {
		t.Errorf("apply: %v", err)
	}
	until(t, "the object is being deleted", func() bool {
		got, err := tabs.Namespace("default").Get(within(t), "held", metav1.GetOptions{})
		return err == nil && got.GetDeletionTimestamp() != nil
	})
	_, err = tabs.Namespace("default").Patch(within(t), "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	must(t, err)
	until(t, "the definition is gone", func() bool {
		_, err := r.definitions(t).Get(within(t), crd.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	for range watcher.ResultChan() { // it ends
	}

	crd = cronTab(group)
	crd.Spec.Scope = apiextensionsv1.ClusterScoped
	r.define(t, crd)
	if _, err := tabs.Create(within(t), tab(gv, "", "everywhere"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := tabs.Namespace("default").Get(within(t), "everywhere", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("with a namespace: %v", err)
	}
}

// TestManyDefinitions installs many at once: all are established, and all are published.
func TestManyDefinitions(t *testing.T) {
	t.Parallel()
	r := start(t)
	const n = 60
	var made sync.WaitGroup
	var failures sync.Map
	for i := range n {
		made.Go(func() {
			if _, err := r.definitions(t).Create(within(t), numbered(i), metav1.CreateOptions{}); err != nil {
				failures.Store(i, err)
			}
		})
	}
	made.Wait()
	failures.Range(func(i, err any) bool { t.Error(i, err); return true })
	until(t, "all are established", func() bool {
		list, err := r.definitions(t).List(within(t), metav1.ListOptions{})
		must(t, err)
		for i := range list.Items {
			if !isTrue(&list.Items[i], apiextensionsv1.Established) {
				return false
			}
		}
		return len(list.Items) == n
	})
	client := r.httpClient(t)
	_, body := ask(t, client, "GET", r.URL+"/apis", nil, "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	if got := strings.Count(string(body), `"resource":"tabs`); got != n {
		t.Errorf("discovery tells of %d of them", got)
	}
	_, body = ask(t, client, "GET", r.URL+"/openapi/v2", nil, "Accept: application/json")
	if got := strings.Count(string(body), `{"group":"g`); got < n {
		t.Errorf("OpenAPI v2 tells of %d", got)
	}
}

// TestRestartWithDefinitions: a server that starts serves what is in etcd before it answers anything.
func TestRestartWithDefinitions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gv := schema.GroupVersion{Group: "restart.example.com", Version: "v1"}
	r, stop, err := launch(in(dir))
	must(t, err)
	r.define(t, cronTab(gv.Group))
	_, err = r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default").Create(within(t), tab(gv, "default", "kept"), metav1.CreateOptions{})
	must(t, err)
	must(t, stop())

	r = start(t, in(dir))
	client := r.httpClient(t)
	res, body := ask(t, client, "GET", r.URL+"/apis/restart.example.com/v1", nil)
	if res.StatusCode != http.StatusOK || !strings.Contains(string(body), `"name":"crontabs/scale"`) {
		t.Errorf("discovery: %d %s", res.StatusCode, body)
	}
	res, body = ask(t, client, "GET", r.URL+"/openapi/v3/apis/restart.example.com/v1", nil)
	if res.StatusCode != http.StatusOK {
		t.Errorf("OpenAPI: %d %s", res.StatusCode, body)
	}
	if got, err := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default").Get(within(t), "kept", metav1.GetOptions{}); err != nil || got.GetName() != "kept" {
		t.Errorf("%v %v", got, err)
	}
}

// TestTwoServers: what is defined through one server is served by another as soon as the first has answered, and so is what
// is changed.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	etcd := (&rival{}).startEtcd(t)
	onIt := func(o *options.Options) { o.Etcd.Servers = []string{etcd} }
	one, two := start(t, onIt), start(t, onIt)
	for i := range 10 {
		gv := schema.GroupVersion{Group: fmt.Sprintf("two%d.example.com", i), Version: "v1"}
		crd := one.define(t, cronTab(gv.Group))
		tabs := two.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default")
		if _, err := tabs.Create(within(t), tab(gv, "default", "first"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		one.edit(t, crd.Name, withVersion("v2", true))
		gv.Version = "v2"
		if _, err := two.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default").Get(within(t), "first", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNamespaceOfCustomResources: they go with their namespace.
func TestNamespaceOfCustomResources(t *testing.T) {
	t.Parallel()
	r := start(t)
	gv := schema.GroupVersion{Group: "ns.example.com", Version: "v1"}
	r.define(t, cronTab(gv.Group))
	tabs := r.dynamic(t).Resource(gv.WithResource("crontabs"))
	ns := r.namespace(t, "custom")
	_, err := tabs.Namespace(ns).Create(within(t), tab(gv, ns, "one"), metav1.CreateOptions{})
	must(t, err)
	_, err = tabs.Namespace("nowhere").Create(within(t), tab(gv, "nowhere", "one"), metav1.CreateOptions{})
	if err == nil || err.Error() != `namespaces "nowhere" not found` {
		t.Errorf("create in no namespace: %v", err)
	}
	must(t, r.admin(t).CoreV1().Namespaces().Delete(within(t), ns, metav1.DeleteOptions{}))
	until(t, "the namespace is gone", func() bool {
		_, err := r.admin(t).CoreV1().Namespaces().Get(within(t), ns, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	list, err := tabs.List(within(t), metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 0 {
		t.Errorf("left: %v", list.Items)
	}
}

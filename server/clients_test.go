package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/watchlist"

	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/embedded"
)

// patience bounds what tests wait for; none waits for it to pass.
const patience = 5 * time.Minute

// until waits until the answer is yes.
func until(t testing.TB, what string, yes func() bool) {
	t.Helper()
	// Looking takes the processor that others need, so the pauses grow.
	pause := time.Millisecond
	for deadline := time.Now().Add(patience); !yes(); time.Sleep(pause) {
		pause = min(2*pause, 50*time.Millisecond)
		if time.Now().After(deadline) {
			t.Fatalf("in %v it did not come to pass that %s", patience, what)
		}
	}
}

// within is a context that does not outlast patience.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// namespace makes a namespace for the test, whose name begins as given.
func (r *running) namespace(t testing.TB, prefix string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	ns, err := r.admin(t).CoreV1().Namespaces().Create(within(t), ns, metav1.CreateOptions{})
	must(t, err)
	return ns.Name
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// etcd is a client of the server's etcd, by its socket.
func (r *running) etcd(t testing.TB) *clientv3.Client {
	t.Helper()
	// The kubeconfig is in the data directory, also if that is a temporary one.
	return etcdAt(t, strings.TrimSuffix(r.Kubeconfig, "kubeconfig"))
}

func etcdAt(t testing.TB, dataDir string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"unix://" + strings.TrimSuffix(dataDir, "/") + "/" + embedded.SocketName}, Logger: zap.NewNop(),
	})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() }) // its context ends, and it says so
	return c
}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: named(name),
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template("nginx:1"),
		},
	}
}

// TestClientsets goes through the verbs of a typed client in both media types.
func TestClientsets(t *testing.T) {
	r := shared(t)
	for name, mediaType := range map[string]string{"json": runtime.ContentTypeJSON, "protobuf": runtime.ContentTypeProtobuf} {
		t.Run(name, func(t *testing.T) {
			ctx, ns := within(t), r.namespace(t, "clientset-"+name)
			config := rest.CopyConfig(r.config)
			config.ContentType, config.AcceptContentTypes = mediaType, mediaType
			c, err := kubernetes.NewForConfig(config)
			must(t, err)
			secrets := c.CoreV1().Secrets(ns)
			w, err := secrets.Watch(ctx, metav1.ListOptions{})
			must(t, err)
			defer w.Stop()

			made, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: named("s"), Data: map[string][]byte{"k": {0, 1, 0xff}}}, metav1.CreateOptions{})
			must(t, err)
			if made.UID == "" || made.Type != corev1.SecretTypeOpaque || string(made.Data["k"]) != "\x00\x01\xff" {
				t.Errorf("created %v", made)
			}
			made.StringData = map[string]string{"l": "text"}
			updated, err := secrets.Update(ctx, made, metav1.UpdateOptions{})
			must(t, err)
			if string(updated.Data["l"]) != "text" || updated.StringData != nil {
				t.Errorf("updated %v", updated)
			}
			_, err = secrets.Update(ctx, made, metav1.UpdateOptions{})
			if !apierrors.IsConflict(err) {
				t.Errorf("an update of an old state: %v", err)
			}
			patched, err := secrets.Patch(ctx, "s", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
			must(t, err)
			got, err := secrets.Get(ctx, "s", metav1.GetOptions{})
			must(t, err)
			if got.ResourceVersion != patched.ResourceVersion || got.Labels["a"] != "b" {
				t.Errorf("got %v", got)
			}
			list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: "a=b"})
			must(t, err)
			if len(list.Items) != 1 || list.Items[0].Kind != "" || list.ResourceVersion == "" {
				t.Errorf("listed %v", list)
			}
			must(t, secrets.Delete(ctx, "s", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(got.UID))}))
			_, err = secrets.Get(ctx, "s", metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				t.Errorf("after its deletion: %v", err)
			}
			var seen []watch.EventType
			for len(seen) < 4 {
				e := <-w.ResultChan()
				if s, ok := e.Object.(*corev1.Secret); !ok || s.Name != "s" {
					t.Fatalf("the event %v", e)
				}
				seen = append(seen, e.Type)
			}
			if want := []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Deleted}; !slices.Equal(seen, want) {
				t.Errorf("watched %v", seen)
			}
			must(t, secrets.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		})
	}
}

func TestDynamicAndMetadataClients(t *testing.T) {
	r, ctx := shared(t), within(t)
	ns := r.namespace(t, "dynamic")
	gvr := appsv1.SchemeGroupVersion.WithResource("deployments")
	d, err := dynamic.NewForConfig(r.config)
	must(t, err)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment("web"))
	must(t, err)
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	made, err := d.Resource(gvr).Namespace(ns).Create(ctx, u, metav1.CreateOptions{})
	must(t, err)
	if strategy, _, _ := unstructured.NestedString(made.Object, "spec", "strategy", "type"); strategy != "RollingUpdate" {
		t.Errorf("the default strategy is %q", strategy)
	}
	list, err := d.Resource(gvr).List(ctx, metav1.ListOptions{FieldSelector: "metadata.namespace=" + ns})
	must(t, err)
	if len(list.Items) != 1 || list.Items[0].GetKind() != "Deployment" || list.Items[0].GetAPIVersion() != "apps/v1" {
		t.Errorf("listed %v", list.Items)
	}

	m, err := metadata.NewForConfig(r.config)
	must(t, err)
	w, err := m.Resource(gvr).Namespace(ns).Watch(ctx, metav1.ListOptions{ResourceVersion: made.GetResourceVersion()})
	must(t, err)
	defer w.Stop()
	partial, err := m.Resource(gvr).Namespace(ns).Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{})
	must(t, err)
	if partial.Annotations["a"] != "b" || partial.UID != made.GetUID() {
		t.Errorf("patched %v", partial)
	}
	event := <-w.ResultChan()
	if p, ok := event.Object.(*metav1.PartialObjectMetadata); !ok || p.ResourceVersion != partial.ResourceVersion {
		t.Errorf("watched %v", event)
	}
	partials, err := m.Resource(gvr).Namespace(ns).List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(partials.Items) != 1 || partials.Items[0].Name != "web" {
		t.Errorf("listed %v", partials)
	}
	must(t, m.Resource(gvr).Namespace(ns).Delete(ctx, "web", metav1.DeleteOptions{}))
}

// keep collects what an informer's store holds.
func keep(s cache.SharedIndexInformer) []string {
	keys := s.GetStore().ListKeys()
	slices.Sort(keys)
	return keys
}

// TestInformers has informers of all, of a label and of a field, and restarts one after it has missed something.
func TestInformers(t *testing.T) { eachWay(t, testInformers) }

func testInformers(t *testing.T, r *running, began func() bool) {
	ns := r.namespace(t, "informers")
	c := r.admin(t)
	ctx := within(t)
	pods := c.CoreV1().Pods(ns)
	pod := func(name string, labels map[string]string, node string) {
		_, err := pods.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}, metav1.CreateOptions{})
		must(t, err)
	}
	run := func(stop chan struct{}, tweak func(*metav1.ListOptions)) (cache.SharedIndexInformer, func()) {
		f := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace(ns), informers.WithTweakListOptions(tweak))
		i := f.Core().V1().Pods().Informer()
		f.Start(stop)
		if !cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
			t.Fatal("an informer did not begin")
		}
		return i, f.Shutdown
	}
	pod("before", map[string]string{"app": "a"}, "n1")
	stop := make(chan struct{})
	all, endAll := run(stop, func(*metav1.ListOptions) {})
	labelled, endLabelled := run(stop, func(o *metav1.ListOptions) { o.LabelSelector = "app=a" })
	onNode, endOnNode := run(stop, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", "n1").String()
	})
	pod("b", map[string]string{"app": "b"}, "n1")
	pod("c", map[string]string{"app": "a"}, "n2")
	hold := func(what string, i cache.SharedIndexInformer, names ...string) {
		t.Helper()
		var keys []string
		for _, n := range names {
			keys = append(keys, ns+"/"+n)
		}
		until(t, fmt.Sprintf("%s holds %v", what, names), func() bool { return slices.Equal(keep(i), keys) })
	}
	hold("the informer of all", all, "b", "before", "c")
	hold("the one of a label", labelled, "before", "c")
	hold("the one of a node", onNode, "b", "before")

	// An object whose labels change comes and goes.
	_, err := pods.Patch(ctx, "b", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"a"}}}`), metav1.PatchOptions{})
	must(t, err)
	_, err = pods.Patch(ctx, "before", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"z"}}}`), metav1.PatchOptions{})
	must(t, err)
	hold("the one of a label", labelled, "b", "c")
	now := int64(0)
	must(t, pods.Delete(ctx, "c", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	hold("the one of a label", labelled, "b")
	hold("the informer of all", all, "b", "before")
	close(stop)
	endAll()
	endLabelled()
	endOnNode()

	pod("missed", nil, "n1")
	must(t, pods.Delete(ctx, "b", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	stop = make(chan struct{})
	again, end := run(stop, func(*metav1.ListOptions) {})
	hold("the informer that began again", again, "before", "missed")
	if !began() {
		t.Error("the informers began otherwise than meant")
	}
	close(stop)
	end()
}

// TestWatchList begins a watch with what there is.
func TestWatchList(t *testing.T) {
	r, ctx := shared(t), within(t)
	ns := r.namespace(t, "watchlist")
	maps := r.admin(t).CoreV1().ConfigMaps(ns)
	for _, name := range []string{"a", "b"} {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named(name)}, metav1.CreateOptions{})
		must(t, err)
	}
	options, _, err := watchlist.PrepareWatchListOptionsFromListOptions(metav1.ListOptions{})
	must(t, err)
	w, err := maps.Watch(ctx, options)
	must(t, err)
	defer w.Stop()
	var names []string
	for e := range w.ResultChan() {
		if e.Type == watch.Bookmark {
			m, err := meta.Accessor(e.Object)
			must(t, err)
			if m.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" || m.GetResourceVersion() == "" {
				t.Errorf("the bookmark after the beginning is %v", m)
			}
			break
		}
		m, err := meta.Accessor(e.Object)
		must(t, err)
		names = append(names, m.GetName())
	}
	if slices.Sort(names); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("the watch began with %v", names)
	}
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("later")}, metav1.CreateOptions{})
	must(t, err)
	if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != "later" {
		t.Errorf("then came %v", e)
	}
}

// TestRetryWatcher goes on after its connection was cut, without missing or repeating anything.
func TestRetryWatcher(t *testing.T) {
	r, ctx := shared(t), within(t)
	ns := r.namespace(t, "retrywatch")
	maps := r.admin(t).CoreV1().ConfigMaps(ns)
	list, err := maps.List(ctx, metav1.ListOptions{})
	must(t, err)
	var opened atomic.Int32
	w, err := toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			inner, err := maps.Watch(ctx, o)
			if err == nil && opened.Add(1) == 1 {
				// The first ends after one event.
				return watch.Filter(inner, func(e watch.Event) (watch.Event, bool) {
					defer inner.Stop()
					return e, true
				}), nil
			}
			return inner, err
		},
	})
	must(t, err)
	defer w.Stop()
	for _, name := range []string{"a", "b", "c"} {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named(name)}, metav1.CreateOptions{})
		must(t, err)
	}
	for _, want := range []string{"a", "b", "c"} {
		if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != want {
			t.Fatalf("instead of %s came %v", want, e)
		}
	}
}

// TestConcurrentWriters lets many writers count in one object: none loses an update.
func TestConcurrentWriters(t *testing.T) {
	r, ctx := shared(t), within(t)
	ns := r.namespace(t, "writers")
	maps := r.admin(t).CoreV1().ConfigMaps(ns)
	_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("count"), Data: map[string]string{"n": ""}}, metav1.CreateOptions{})
	must(t, err)
	const writers, rounds = 8, 10
	patient := retry.DefaultRetry
	patient.Steps = 1000
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for range rounds {
				err := retry.RetryOnConflict(patient, func() error {
					cm, err := maps.Get(ctx, "count", metav1.GetOptions{})
					if err != nil {
						return err
					}
					cm.Data["n"] += "x"
					_, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
					return err
				})
				if err != nil {
					t.Error(err)
				}
				// A patch has no state of its own to lose, and is never refused.
				if _, err := maps.Patch(ctx, "count", types.MergePatchType, fmt.Appendf(nil, `{"data":{"w%d":"%d"}}`, i, i), metav1.PatchOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	cm, err := maps.Get(ctx, "count", metav1.GetOptions{})
	must(t, err)
	if len(cm.Data["n"]) != writers*rounds || len(cm.Data) != writers+1 {
		t.Errorf("%d updates of %d were kept, of %d fields", len(cm.Data["n"]), writers*rounds, len(cm.Data))
	}
}

// TestPaging reads pages while objects come and go: all pages are of one moment. After a compaction a cache still has the
// rest; without one it can be had by another token, of another moment.
func TestPaging(t *testing.T) {
	t.Run("cached", func(t *testing.T) { testPaging(t, shared(t), true) })
	t.Run("uncached", func(t *testing.T) {
		testPaging(t, start(t, func(o *options.Options) { o.WatchCache.Enabled = false }), false)
	})
}

func testPaging(t *testing.T, r *running, cached bool) {
	ctx := within(t)
	ns := r.namespace(t, "paging")
	maps := r.admin(t).CoreV1().ConfigMaps(ns)
	const total = 25
	for i := range total {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named(fmt.Sprintf("p-%02d", i))}, metav1.CreateOptions{})
		must(t, err)
	}
	pages := 0
	p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		pages++
		if pages == 2 {
			must(t, maps.Delete(ctx, "p-20", metav1.DeleteOptions{}))
			_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("p-21a")}, metav1.CreateOptions{})
			must(t, err)
		}
		return maps.List(ctx, o)
	})
	p.PageSize, p.PageBufferSize = 10, 0
	var names []string
	must(t, p.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		names = append(names, obj.(*corev1.ConfigMap).Name)
		return nil
	}))
	if len(names) != total || !slices.IsSorted(names) || !slices.Contains(names, "p-20") || slices.Contains(names, "p-21a") {
		t.Errorf("the pages together are %v", names)
	}

	first, err := maps.List(ctx, metav1.ListOptions{Limit: 10})
	must(t, err)
	if *first.RemainingItemCount != total-10 {
		t.Errorf("remaining after the first page: %d", *first.RemainingItemCount)
	}
	must(t, maps.Delete(ctx, "p-22", metav1.DeleteOptions{}))
	r.compact(t)
	second, err := maps.List(ctx, metav1.ListOptions{Limit: 20, Continue: first.Continue})
	if cached {
		must(t, err)
		if len(second.Items) != total-10 || second.ResourceVersion != first.ResourceVersion {
			t.Errorf("the next page after a compaction has %d objects at %s", len(second.Items), second.ResourceVersion)
		}
		return
	}
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) || status.Status().Continue == "" {
		t.Fatalf("the next page after a compaction: %v", err)
	}
	rest, err := maps.List(ctx, metav1.ListOptions{Continue: status.Status().Continue})
	must(t, err)
	if len(rest.Items) != total-10-1 || rest.Items[0].Name != "p-10" {
		t.Errorf("the inconsistent rest has %d objects from %s", len(rest.Items), rest.Items[0].Name)
	}
	// The pager gives up on pages and asks for all.
	pages = 0
	p = pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		if pages++; pages == 2 {
			_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("p-99")}, metav1.CreateOptions{})
			must(t, err)
			r.compact(t)
		}
		return maps.List(ctx, o)
	})
	p.PageSize = 10
	all, _, err := p.List(ctx, metav1.ListOptions{})
	must(t, err)
	if n := meta.LenList(all); n != total {
		t.Errorf("the pager found %d", n)
	}
	// A watch from before the compaction is refused.
	w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: first.ResourceVersion})
	if err == nil {
		e := <-w.ResultChan()
		err = apierrors.FromObject(e.Object)
		w.Stop()
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from before the compaction: %v", err)
	}
}

// compact forgets etcd's history up to now.
func (r *running) compact(t testing.TB) {
	t.Helper()
	c := r.etcd(t)
	ctx := within(t)
	now, err := c.Get(ctx, "/", clientv3.WithCountOnly())
	must(t, err)
	_, err = c.Compact(ctx, now.Header.Revision)
	must(t, err)
}

func TestDiscoveryAndScale(t *testing.T) {
	r, ctx := shared(t), within(t)
	ns := r.namespace(t, "scale")
	c := r.admin(t)
	groups, resources, err := c.Discovery().ServerGroupsAndResources()
	must(t, err)
	if len(groups) < 2 || len(resources) < 4 {
		t.Errorf("discovered %d groups, %d group versions", len(groups), len(resources))
	}
	v, err := c.Discovery().ServerVersion()
	must(t, err)
	if v.Major != "1" || v.Minor != "37" || !strings.Contains(v.GitVersion, "+kx") {
		t.Errorf("the version is %v", v)
	}
	cached := memory.NewMemCacheClient(c.Discovery())
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	for short, want := range map[string]schema.GroupVersionResource{
		"deploy": appsv1.SchemeGroupVersion.WithResource("deployments"),
		"rs":     appsv1.SchemeGroupVersion.WithResource("replicasets"),
		"po":     corev1.SchemeGroupVersion.WithResource("pods"),
		"cm":     corev1.SchemeGroupVersion.WithResource("configmaps"),
		"svc":    corev1.SchemeGroupVersion.WithResource("services"),
		"sa":     corev1.SchemeGroupVersion.WithResource("serviceaccounts"),
		"ns":     corev1.SchemeGroupVersion.WithResource("namespaces"),
	} {
		if got, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: short}); err != nil || got != want {
			t.Errorf("%s is %v: %v", short, got, err)
		}
	}
	if m, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "v1beta2"); err != nil || m.Scope.Name() != meta.RESTScopeNameNamespace {
		t.Errorf("deployments in v1beta2: %v, %v", m, err)
	}

	_, err = c.AppsV1().Deployments(ns).Create(ctx, deployment("web"), metav1.CreateOptions{})
	must(t, err)
	scales, err := scale.NewForConfig(r.config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(c.Discovery()))
	must(t, err)
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	s, err := scales.Scales(ns).Get(ctx, resource, "web", metav1.GetOptions{})
	must(t, err)
	if s.Spec.Replicas != 1 || s.Status.Selector != "app=web" {
		t.Errorf("the scale is %v", s)
	}
	s.Spec.Replicas = 3
	s, err = scales.Scales(ns).Update(ctx, resource, s, metav1.UpdateOptions{})
	must(t, err)
	d, err := c.AppsV1().Deployments(ns).Get(ctx, "web", metav1.GetOptions{})
	must(t, err)
	if *d.Spec.Replicas != 3 || d.ResourceVersion != s.ResourceVersion || d.Generation != 2 {
		t.Errorf("scaled to %v: %v", s, d)
	}
	s, err = scales.Scales(ns).Patch(ctx, appsv1.SchemeGroupVersion.WithResource("deployments"), "web", types.MergePatchType, []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{})
	if err != nil || s.Spec.Replicas != 5 {
		t.Errorf("patched %v: %v", s, err)
	}
}

// warnings are what a server warned of.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == 299 {
		w.texts = append(w.texts, text)
	}
}

// TestOldVersions writes deployments in each version and reads them in the others.
func TestOldVersions(t *testing.T) {
	r, ctx := shared(t), within(t)
	ns := r.namespace(t, "oldversions")
	warned := &warnings{}
	config := rest.CopyConfig(r.config)
	config.WarningHandler = warned
	c, err := kubernetes.NewForConfig(config)
	must(t, err)
	v1, v1beta1, v1beta2 := c.AppsV1().Deployments(ns), c.AppsV1beta1().Deployments(ns), c.AppsV1beta2().Deployments(ns)

	_, err = v1.Create(ctx, deployment("new"), metav1.CreateOptions{})
	must(t, err)
	if len(warned.texts) != 0 {
		t.Errorf("apps/v1 is warned of: %q", warned.texts)
	}
	b1, err := v1beta1.Get(ctx, "new", metav1.GetOptions{})
	must(t, err)
	if b1.APIVersion != "apps/v1beta1" && b1.APIVersion != "" || b1.Spec.Template.Spec.Containers[0].Image != "nginx:1" {
		t.Errorf("as v1beta1: %v", b1)
	}
	if len(warned.texts) != 1 || !strings.HasPrefix(warned.texts[0], "apps/v1beta1 Deployment is deprecated in v1.8+") {
		t.Errorf("warned: %q", warned.texts)
	}
	b1.Spec.Template.Spec.Containers[0].Image = "nginx:2"
	_, err = v1beta1.Update(ctx, b1, metav1.UpdateOptions{})
	must(t, err)
	b2, err := v1beta2.Get(ctx, "new", metav1.GetOptions{})
	must(t, err)
	if b2.Spec.Template.Spec.Containers[0].Image != "nginx:2" {
		t.Errorf("as v1beta2: %v", b2)
	}

	// v1beta1 takes the selector from the template.
	_, err = v1beta1.Create(ctx, &appsv1beta1.Deployment{ObjectMeta: named("old"), Spec: appsv1beta1.DeploymentSpec{Template: template("nginx:1")}}, metav1.CreateOptions{})
	must(t, err)
	d, err := v1.Get(ctx, "old", metav1.GetOptions{})
	must(t, err)
	if d.Spec.Selector.MatchLabels["app"] != "web" {
		t.Errorf("as v1: %v", d)
	}
	_, err = v1beta2.Create(ctx, &appsv1beta2.Deployment{ObjectMeta: named("middle"), Spec: appsv1beta2.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template("nginx:1"),
	}}, metav1.CreateOptions{})
	must(t, err)

	s, err := v1beta1.Get(ctx, "middle", metav1.GetOptions{})
	must(t, err)
	n := int32(4)
	s.Spec.Replicas = &n
	_, err = v1beta1.Update(ctx, s, metav1.UpdateOptions{})
	must(t, err)
	var b2scale appsv1beta2.Scale
	must(t, c.AppsV1beta2().RESTClient().Get().Namespace(ns).Resource("deployments").Name("middle").SubResource("scale").Do(ctx).Into(&b2scale))
	if b2scale.Spec.Replicas != 4 || b2scale.Status.TargetSelector != "app=web" {
		t.Errorf("the scale in v1beta2 is %v", b2scale)
	}

	// One watch in each version tells of the same objects.
	list, err := v1.List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 3 {
		t.Errorf("listed %d", len(list.Items))
	}
	w, err := v1beta1.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	must(t, err)
	defer w.Stop()
	must(t, v1.Delete(ctx, "new", metav1.DeleteOptions{}))
	if e := <-w.ResultChan(); e.Type != watch.Deleted || e.Object.(*appsv1beta1.Deployment).Name != "new" {
		t.Errorf("watched %v", e)
	}
	// In etcd there is one form of them.
	for _, name := range []string{"old", "middle"} {
		kv, err := r.etcd(t).Get(ctx, "/registry/deployments/"+ns+"/"+name)
		must(t, err)
		if len(kv.Kvs) != 1 || !strings.HasPrefix(string(kv.Kvs[0].Value), "k8s\x00\n\x15\n\aapps/v1\x12\nDeployment") {
			t.Errorf("%s is stored as %q", name, kv.Kvs)
		}
	}
}

// TestAllVersionsOff asks for a version that --runtime-config has not turned on.
func TestAllVersionsOff(t *testing.T) {
	r := start(t)
	_, err := r.admin(t).AppsV1beta1().Deployments("default").List(within(t), metav1.ListOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a version that is off: %v", err)
	}
	var list metav1.APIGroupList
	res, err := r.httpClient(t).Get(r.URL + "/apis")
	must(t, err)
	defer res.Body.Close()
	must(t, json.NewDecoder(res.Body).Decode(&list))
	for _, g := range list.Groups {
		if g.Name == "apps" && (len(g.Versions) != 1 || g.PreferredVersion.Version != "v1") {
			t.Errorf("apps has the versions %v", g.Versions)
		}
	}
	if res.StatusCode != http.StatusOK {
		t.Error(res.Status)
	}
}

package kxtest_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// settings is a cache of the config maps with the name settings, as controllers have one.
type settings struct {
	cache.Store
	changed chan struct{}
}

// follow fills a cache, and keeps it up to date until the end of the test.
func follow(t *testing.T, maps typedcorev1.ConfigMapInterface) *settings {
	t.Helper()
	s := &settings{changed: make(chan struct{}, 1)}
	change := func() {
		select {
		case s.changed <- struct{}{}:
		default: // the reader has one to look at already
		}
	}
	only := func(o metav1.ListOptions) metav1.ListOptions {
		o.FieldSelector = "metadata.name=settings"
		return o
	}
	var informer cache.Controller
	s.Store, informer = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListFunc:  func(o metav1.ListOptions) (runtime.Object, error) { return maps.List(context.Background(), only(o)) },
			WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) { return maps.Watch(context.Background(), only(o)) },
		},
		ObjectType: &corev1.ConfigMap{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { change() },
			UpdateFunc: func(any, any) { change() },
			DeleteFunc: func(any) { change() },
		},
	})
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.Run(stop)
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
	})
	if !cache.WaitForCacheSync(within(t).Done(), informer.HasSynced) {
		t.Fatal("the cache is not filled")
	}
	return s
}

// until waits until the cache has settings with a value of a.
func (s *settings) until(t *testing.T, value string) {
	t.Helper()
	for ctx := within(t); ; {
		for _, one := range s.List() {
			if one.(*corev1.ConfigMap).Data["a"] == value {
				return
			}
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			t.Fatalf("the cache has %v, and not %q", s.List(), value)
		}
	}
}

// ensureSettings is the controller of the recipe. Its cache may not have yet what it wrote itself. It does not count on
// the cache: the name decides whether there is one.
func ensureSettings(ctx context.Context, cached cache.Store, maps typedcorev1.ConfigMapInterface) error {
	if len(cached.List()) > 0 {
		return nil
	}
	_, err := maps.Create(ctx, configMap("settings"), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// TestReadYourWrites: a controller whose cache does not have its own write yet does not write a second time.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t)
	maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
	cached := follow(t, maps)
	late := s.Fault(t, kxtest.Delay(time.Minute).On("watch", "configmaps").Where("step:handler.watch-event name:settings"))
	for range 2 {
		must(t, ensureSettings(within(t), cached, maps))
	}
	late.MustHit(t, 1)
	if all := cached.List(); len(all) != 0 {
		t.Fatalf("the cache has %v: this tests nothing", all)
	}
	if n := s.Count(t, "verb:create resource:configmaps code:201"); n != 1 {
		t.Errorf("%d config maps", n)
	}
	late.Lift(t)
	cached.until(t, "b")
}

// TestSlowWatcher: a controller that hears of changes late, or whose watch ends, has the latest state in the end.
func TestSlowWatcher(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t)
	maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
	m, err := maps.Create(within(t), configMap("settings"), metav1.CreateOptions{})
	must(t, err)
	change := func(value string) {
		m.Data["a"] = value
		m, err = maps.Update(within(t), m, metav1.UpdateOptions{})
		must(t, err)
	}
	cached := follow(t, maps)
	late := s.Fault(t, kxtest.Delay(time.Minute).On("watch", "configmaps").Where("step:handler.watch-event"))
	for n := range 20 {
		change(strconv.Itoa(n))
	}
	late.MustHit(t, 1)
	late.Lift(t)
	cached.until(t, "19")

	gone := s.Fault(t, kxtest.Gone().On("watch", "configmaps").Times(1))
	change("last")
	gone.MustHit(t, 1)
	cached.until(t, "last")
}

// TestDeliveryOrder: the cache of one controller has an event before the cache of another one has any.
func TestDeliveryOrder(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t)
	maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
	first := follow(t, clientOf(t, s.User("first", "system:masters")).CoreV1().ConfigMaps("default"))
	second := follow(t, clientOf(t, s.User("second", "system:masters")).CoreV1().ConfigMaps("default"))

	late := s.Fault(t, kxtest.Lag("second", 10*time.Minute).On("watch", "configmaps"))
	_, err := maps.Create(within(t), configMap("settings"), metav1.CreateOptions{})
	must(t, err)
	first.until(t, "b")
	late.MustHit(t, 1)
	if all := second.List(); len(all) != 0 {
		t.Fatalf("the second cache has %v: this tests nothing", all)
	}
	late.Lift(t)
	second.until(t, "b")
}

// TestNamespaceEnds: a namespace ends when a controller has let go of what is in it. A test need not wait for that: its
// server stops with a namespace that is Terminating.
func TestNamespaceEnds(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t)
	core := clientOf(t, s.Config()).CoreV1()
	_, err := core.Namespaces().Create(within(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}, metav1.CreateOptions{})
	must(t, err)
	kept := configMap("kept")
	kept.Finalizers = []string{"example.com/cleanup"}
	kept, err = core.ConfigMaps("tenant").Create(within(t), kept, metav1.CreateOptions{})
	must(t, err)

	maps, err := core.ConfigMaps("tenant").Watch(within(t), metav1.ListOptions{
		FieldSelector: "metadata.name=kept", ResourceVersion: kept.ResourceVersion,
	})
	must(t, err)
	defer maps.Stop()
	ends, err := core.Namespaces().Watch(within(t), metav1.ListOptions{
		FieldSelector: "metadata.name=tenant", ResourceVersion: kept.ResourceVersion,
	})
	must(t, err)
	defer ends.Stop()
	must(t, core.Namespaces().Delete(within(t), "tenant", metav1.DeleteOptions{}))

	event := <-maps.ResultChan()
	going, ok := event.Object.(*corev1.ConfigMap)
	if !ok || going.DeletionTimestamp == nil {
		t.Fatalf("%+v", event)
	}
	namespace, err := core.Namespaces().Get(within(t), "tenant", metav1.GetOptions{})
	if err != nil || namespace.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("%+v, %v", namespace, err)
	}
	// Here the controller would do its work.
	_, err = core.ConfigMaps("tenant").Patch(within(t), "kept", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	must(t, err)
	for event := range ends.ResultChan() {
		if event.Type == watch.Deleted {
			return
		}
	}
	t.Error("the namespace stays")
}

// TestUpgrade: objects of the old version of a definition are there in the new one, with its defaults.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	client, err := dynamic.NewForConfig(s.Config())
	must(t, err)

	s.Install(t, kxtest.CRDs("testdata/crd-next"))
	all := client.Resource(widgets.GroupResource().WithVersion("v2")).Namespace("default")
	widget, err := all.Get(within(t), "first", metav1.GetOptions{})
	must(t, err)
	size, _, _ := unstructured.NestedInt64(widget.Object, "spec", "size")
	if color, _, _ := unstructured.NestedString(widget.Object, "spec", "color"); size != 1 || color != "red" {
		t.Errorf("%+v", widget.Object)
	}
	// Written once more, it is stored in the new version. A definition without the old one is refused until that is said.
	last := kxtest.CRDs("testdata/crd-last")
	if said := failing(t, func(t testing.TB) { s.Install(t, last) }); !strings.Contains(said, "status.storedVersions") {
		t.Errorf("the old version went too early: %q", said)
	}
	_, err = all.Update(within(t), widget, metav1.UpdateOptions{})
	must(t, err)
	definitions := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	_, err = definitions.Patch(within(t), "widgets.example.com", types.MergePatchType, []byte(`{"status":{"storedVersions":["v2"]}}`),
		metav1.PatchOptions{}, "status")
	must(t, err)
	s.Install(t, last)
	_, err = all.Get(within(t), "first", metav1.GetOptions{})
	must(t, err)
}

// TestResetBetween: each of several tests on one server begins in the same world, and a cache that is connected has it.
func TestResetBetween(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
	_, err := maps.Create(within(t), configMap("settings"), metav1.CreateOptions{})
	must(t, err)
	cached := follow(t, maps)
	clean := s.Snapshot(t)
	for _, name := range []string{"first", "second", "third"} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { s.Rewind(t, clean) })
			cached.until(t, "b")
			m, err := maps.Get(within(t), "settings", metav1.GetOptions{})
			must(t, err)
			m.Data["a"] = name
			_, err = maps.Update(within(t), m, metav1.UpdateOptions{})
			must(t, err)
			_, err = maps.Create(within(t), configMap("new"), metav1.CreateOptions{})
			must(t, err)
			cached.until(t, name)
		})
	}
	if _, err := maps.Get(within(t), "new", metav1.GetOptions{ResourceVersion: "0"}); !apierrors.IsNotFound(err) {
		t.Errorf("it is left: %v", err)
	}
}

// ensurer makes the config map of a widget.
type ensurer func(ctx context.Context, maps typedcorev1.ConfigMapInterface, widget string) error

// ensureMap is the right one: a second try finds what the first one stored.
func ensureMap(ctx context.Context, maps typedcorev1.ConfigMapInterface, widget string) error {
	_, err := maps.Create(ctx, mapOf(widget), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// manage runs a controller until the end of the test. It makes a config map for each widget, and then reports the
// widget as ready. It tries again after an error.
func manage(t *testing.T, config *rest.Config, ensure ensurer) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	maps := clientOf(t, config).CoreV1().ConfigMaps("default")
	all := client.Resource(widgets).Namespace("default")
	ctx, stop := context.WithCancel(context.Background())
	work := func(name string) error {
		widget, err := all.Get(ctx, name, metav1.GetOptions{})
		if err != nil || isReady(widget) {
			return err
		}
		if err := ensure(ctx, maps, name); err != nil {
			return err
		}
		_, err = all.UpdateStatus(ctx, ready(widget), metav1.UpdateOptions{})
		return err
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(widget any) { queue.Add(widget.(*unstructured.Unstructured).GetName()) }
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListFunc:  func(o metav1.ListOptions) (runtime.Object, error) { return all.List(ctx, o) },
			WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) { return all.Watch(ctx, o) },
		},
		ObjectType: &unstructured.Unstructured{},
		Handler:    cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, widget any) { add(widget) }},
	})
	var running sync.WaitGroup
	running.Add(2)
	go func() {
		defer running.Done()
		informer.Run(ctx.Done())
	}()
	go func() {
		defer running.Done()
		for name, shut := queue.Get(); !shut; name, shut = queue.Get() {
			if err := work(name); err != nil {
				queue.AddRateLimited(name)
			} else {
				queue.Forget(name)
			}
			queue.Done(name)
		}
	}()
	t.Cleanup(func() {
		stop()
		queue.ShutDown()
		running.Wait()
	})
}

func isReady(widget *unstructured.Unstructured) bool {
	is, _, _ := unstructured.NestedBool(widget.Object, "status", "ready")
	return is
}

// mustBeReady waits until the widget is ready. Then it must have its config map, and one alone.
func mustBeReady(t *testing.T, s *kxtest.Server) {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Config())
	must(t, err)
	must(t, wait.PollUntilContextCancel(within(t), 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		widget, err := client.Resource(widgets).Namespace("default").Get(ctx, "first", metav1.GetOptions{})
		return err == nil && isReady(widget), err
	}))
	all, err := clientOf(t, s.Config()).CoreV1().ConfigMaps("default").List(within(t), metav1.ListOptions{LabelSelector: "widget=first"})
	must(t, err)
	if len(all.Items) != 1 {
		t.Errorf("the widget has %d config maps", len(all.Items))
	}
}

// TestExplore: a controller does its work whatever goes wrong at one of its writes.
func TestExplore(t *testing.T) {
	t.Parallel()
	kxtest.Explore(t, func(t *testing.T, s *kxtest.Server) {
		manage(t, s.User("manager", "system:masters"), ensureMap)
		mustBeReady(t, s)
	}, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
}

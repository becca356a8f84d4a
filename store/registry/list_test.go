package registry

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/store"
)

func TestGet(t *testing.T) {
	e, ctx := newStore(t, newStrategy(), func(e *Store) {
		e.Decorator = func(obj runtime.Object) { obj.(*corev1.Pod).Status.Message = "decorated" }
	}), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	if got := mustGet(t, ctx, e, "a"); got.UID != created.UID || got.Status.Message != "decorated" {
		t.Errorf("got %+v", got)
	}
	if _, err := e.Get(ctx, "a", &metav1.GetOptions{ResourceVersion: created.ResourceVersion}); err != nil {
		t.Error(err)
	}
	_, err := e.Get(ctx, "b", &metav1.GetOptions{})
	wantStatus(t, err, 404, metav1.StatusReasonNotFound, `pods "b" not found`)
	_, err = e.Get(ctx, "a", &metav1.GetOptions{ResourceVersion: "1000000000"})
	if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("a revision to come: got %v", err)
	}
	_, err = e.Get(inNamespace(t, ""), "a", &metav1.GetOptions{})
	wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "Namespace parameter required.")
}

// seen notes what reaches the storage.
type seen struct {
	store.Interface
	key  string
	opts store.ListOptions
}

func (s *seen) GetList(ctx context.Context, key string, opts store.ListOptions, list runtime.Object) error {
	s.key, s.opts = key, opts
	return s.Interface.GetList(ctx, key, opts, list)
}

func (s *seen) Watch(ctx context.Context, key string, opts store.ListOptions) (watch.Interface, error) {
	s.key, s.opts = key, opts
	return s.Interface.Watch(ctx, key, opts)
}

func byField(s string) *metainternalversion.ListOptions {
	return &metainternalversion.ListOptions{FieldSelector: fields.ParseSelectorOrDie(s)}
}

func TestListReadsNoMoreThanItMust(t *testing.T) {
	e := newStore(t, newStrategy())
	for _, ns := range []string{"x", "y"} {
		mustCreate(t, inNamespace(t, ns), e, pod("a", onNode("n")))
		mustCreate(t, inNamespace(t, ns), e, pod("b"))
	}
	storage := &seen{Interface: e.Storage.Storage}
	e.Storage.Storage = storage
	tests := []struct {
		name      string
		namespace string
		options   *metainternalversion.ListOptions
		key       string
		recursive bool
		found     []string
	}{
		{"all", "", nil, "/pods", true, []string{"x/a", "x/b", "y/a", "y/b"}},
		{"a namespace", "x", nil, "/pods/x", true, []string{"x/a", "x/b"}},
		{"a namespace that begins alike", "xx", nil, "/pods/xx", true, nil},
		{"a name", "x", byField("metadata.name=a"), "/pods/x/a", false, []string{"x/a"}},
		{"a name that is not there", "x", byField("metadata.name=c"), "/pods/x/c", false, nil},
		{"a name in all namespaces", "", byField("metadata.name=a"), "/pods", true, []string{"x/a", "y/a"}},
		{"a namespace by field", "", byField("metadata.namespace=y"), "/pods/y", true, []string{"y/a", "y/b"}},
		{"a name and a namespace by field", "", byField("metadata.namespace=y,metadata.name=b"), "/pods/y/b", false, []string{"y/b"}},
		{"another namespace by field", "x", byField("metadata.namespace=y"), "/pods/x", true, nil},
		{"what is no namespace", "", byField("metadata.namespace=a/b"), "/pods", true, nil},
		{"what is no name", "x", byField("metadata.name=.."), "/pods/x", true, nil},
		{"another field", "", byField("spec.nodeName=n"), "/pods", true, []string{"x/a", "y/a"}},
		{"a name and another field", "x", byField("metadata.name=b,spec.nodeName=n"), "/pods/x/b", false, nil},
		{"a label", "x", &metainternalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"l": "none"})}, "/pods/x", true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := e.List(inNamespace(t, tt.namespace), tt.options)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, p := range out.(*corev1.PodList).Items {
				found = append(found, p.Namespace+"/"+p.Name)
			}
			if storage.key != tt.key || storage.opts.Recursive != tt.recursive || !slices.Equal(found, tt.found) {
				t.Errorf("key %s, recursive %t, found %v", storage.key, storage.opts.Recursive, found)
			}
			*storage = seen{Interface: storage.Interface}
			w, err := e.Watch(inNamespace(t, tt.namespace), tt.options)
			if err != nil {
				t.Fatal(err)
			}
			w.Stop()
			if storage.key != tt.key || storage.opts.Recursive != tt.recursive {
				t.Errorf("watch: key %s, recursive %t", storage.key, storage.opts.Recursive)
			}
		})
	}
}

func TestListPages(t *testing.T) {
	e, ctx := tenPods(t, func(e *Store) {
		e.Decorator = func(obj runtime.Object) {
			if list, ok := obj.(*corev1.PodList); ok {
				for i := range list.Items {
					list.Items[i].Status.Message = "decorated"
				}
			}
		}
	})
	options := &metainternalversion.ListOptions{Limit: 4}
	var found []string
	for pages := 1; ; pages++ {
		out, err := e.List(ctx, options)
		if err != nil {
			t.Fatal(err)
		}
		list := out.(*corev1.PodList)
		found = append(found, names(list)...)
		if list.ResourceVersion == "" || list.Items[0].Status.Message != "decorated" {
			t.Errorf("page %d: %+v", pages, list.ListMeta)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			if pages != 3 || len(found) != 10 {
				t.Errorf("%d pages, found %v", pages, found)
			}
			break
		}
	}
}

func TestListAtARevision(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	first := mustCreate(t, ctx, e, pod("a"))
	mustCreate(t, ctx, e, pod("b"))
	exact := &metainternalversion.ListOptions{ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	out, err := e.List(ctx, exact)
	if err != nil || !slices.Equal(names(out), []string{"a"}) {
		t.Errorf("got %v, %v", out, err)
	}
	exact.ResourceVersion, exact.ResourceVersionMatch = "1000000000", metav1.ResourceVersionMatchNotOlderThan
	if _, err := e.List(ctx, exact); !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("a revision to come: got %v", err)
	}
	exact.Continue = "nonsense"
	if _, err := e.List(ctx, exact); !apierrors.IsBadRequest(err) {
		t.Errorf("a token that is none: got %v", err)
	}
}

// next is the watch's next event. The test's own deadline ends a wait for one that does not come.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	event, ok := <-w.ResultChan()
	if !ok {
		t.Fatal("the watch has ended")
	}
	return event
}

func TestWatch(t *testing.T) {
	for _, decorated := range []bool{false, true} {
		e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
		if decorated {
			e.Decorator = func(obj runtime.Object) {
				if p, ok := obj.(*corev1.Pod); ok {
					p.Status.Message = "decorated"
				}
			}
		}
		first := mustCreate(t, ctx, e, pod("a", func(p *corev1.Pod) { p.Labels = map[string]string{"l": "v"} }))
		w, err := e.Watch(ctx, &metainternalversion.ListOptions{
			ResourceVersion: first.ResourceVersion, LabelSelector: labels.SelectorFromSet(labels.Set{"l": "v"}),
		})
		if err != nil {
			t.Fatal(err)
		}
		mustCreate(t, ctx, e, pod("unseen"))
		mustPut(t, ctx, e, pod("a", onNode("n"), func(p *corev1.Pod) { p.Labels = map[string]string{"l": "v"} }))
		if _, _, err := del(ctx, e, "a", nil); err != nil {
			t.Fatal(err)
		}
		for _, want := range []watch.EventType{watch.Modified, watch.Deleted} {
			event := next(t, w)
			got, ok := event.Object.(*corev1.Pod)
			if event.Type != want || !ok || got.Name != "a" || got.Spec.NodeName != "n" || (got.Status.Message != "") != decorated {
				t.Errorf("want %s, got %+v", want, event)
			}
		}
		w.Stop()
		w.Stop()
		for range w.ResultChan() { // ends when the channel is closed
		}
	}
}

func TestWatchBeginsWithWhatIsThere(t *testing.T) {
	e, ctx := newStore(t, newStrategy(), func(e *Store) { e.Decorator = func(runtime.Object) {} }), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a"))
	ctx, cancel := context.WithCancel(ctx)
	w, err := e.Watch(ctx, &metainternalversion.ListOptions{
		AllowWatchBookmarks: true, SendInitialEvents: p(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		t.Fatal(err)
	}
	if event := next(t, w); event.Type != watch.Added || event.Object.(*corev1.Pod).Name != "a" {
		t.Errorf("got %+v", event)
	}
	event := next(t, w)
	if event.Type != watch.Bookmark || event.Object.(metav1.Object).GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("got %+v", event)
	}
	cancel()
	for range w.ResultChan() { // ends when the channel is closed
	}
}

// A watcher that reads no more is let go when its request ends, also without Stop.
func TestDecoratedWatchEndsWithItsRequest(t *testing.T) {
	inner := watch.NewFake()
	ctx, cancel := context.WithCancel(t.Context())
	w := decorateWatch(ctx, inner, func(runtime.Object) {})
	inner.Add(pod("a"))
	cancel()
	for range w.ResultChan() { // ends when the channel is closed
	}
	if !inner.IsStopped() {
		t.Error("the inner watch goes on")
	}
}

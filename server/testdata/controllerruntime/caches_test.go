package controllerruntime

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// TestCaches has two managers on a server that is killed and started again. One holds the nodes, pods and greetings of a
// label, the other those of a field; the label and the field of an object change together, so both hold the same.
func TestCaches(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, p *process, config *rest.Config) {
		w := &watched{T: t, Client: direct(t, config), ctx: within(t)}
		for _, obj := range []client.Object{
			node("n1", "a"), node("n2", "b"), pod("p1", "n1"), pod("p2", "n2"), pod("p3", ""), greeting("g1", "", "red"), greeting("g2", "", "blue"),
		} {
			must(t, w.Create(w.ctx, obj))
		}
		w.manage(config, cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"zone": "a"})},
			cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"node": "n1"})}, cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"color": "red"})})
		w.manage(config, cache.ByObject{Field: fields.OneTermEqualSelector("spec.unschedulable", "true")},
			cache.ByObject{Field: fields.OneTermEqualSelector("spec.nodeName", "n1")}, cache.ByObject{Field: fields.OneTermEqualSelector("spec.color", "red")})
		w.hold("n1, p1, g1")

		// Objects come, go, and change sides.
		must(t, w.Create(w.ctx, node("n3", "a")))
		must(t, w.Create(w.ctx, pod("p4", "n1")))
		must(t, w.Create(w.ctx, greeting("g3", "", "red")))
		w.patch(node("n1", ""), `{"metadata":{"labels":{"zone":"b"}},"spec":{"unschedulable":null}}`)
		w.patch(greeting("g1", "", ""), `{"metadata":{"labels":{"color":"blue"}},"spec":{"color":"blue"}}`)
		w.patch(greeting("g2", "", ""), `{"metadata":{"labels":{"color":"red"}},"spec":{"color":"red"}}`)
		w.bind("p3", "n1")
		must(t, w.Delete(w.ctx, pod("p1", ""), client.GracePeriodSeconds(0)))
		w.hold("n3, p3 p4, g2 g3")

		// While the server is away the caches answer; afterwards they go on where they were.
		p.kill()
		w.hold("n3, p3 p4, g2 g3")
		p.start()
		must(t, w.Create(w.ctx, node("n4", "a")))
		must(t, w.Create(w.ctx, pod("p5", "n1")))
		must(t, w.Create(w.ctx, greeting("g4", "", "red")))
		must(t, w.Delete(w.ctx, node("n3", "")))
		must(t, w.Delete(w.ctx, pod("p3", ""), client.GracePeriodSeconds(0)))
		must(t, w.Delete(w.ctx, greeting("g3", "", "")))
		w.patch(greeting("g2", "", ""), `{"metadata":{"labels":{"color":"green"}},"spec":{"color":"green"}}`)
		w.hold("n4, p4 p5, g4")
		w.indexed()
	})
}

// watched is a server whose objects the caches of managers follow.
type watched struct {
	*testing.T
	client.Client
	ctx      context.Context
	managers []ctrl.Manager
	handlers []*handler
}

// manage starts a manager that ends with the test, with caches of these nodes, pods and greetings.
func (w *watched) manage(config *rest.Config, nodes, pods, greetings cache.ByObject) {
	w.Helper()
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme(), Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Node{}: nodes, &corev1.Pod{}: pods, &Greeting{}: greetings}},
	})
	must(w.T, err)
	must(w.T, m.GetFieldIndexer().IndexField(w.ctx, &corev1.Pod{}, "image", func(obj client.Object) []string {
		return []string{obj.(*corev1.Pod).Spec.Containers[0].Image}
	}))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Start(ctx); err != nil {
			w.Error(err)
		}
	})
	w.Cleanup(func() {
		cancel()
		running.Wait()
	})
	h := &handler{T: w.T, objects: map[types.UID]string{}}
	for _, obj := range []client.Object{&corev1.Node{}, &corev1.Pod{}, &Greeting{}} {
		informer, err := m.GetCache().GetInformer(w.ctx, obj)
		must(w.T, err)
		_, err = informer.AddEventHandler(h)
		must(w.T, err)
	}
	select {
	case <-m.Elected(): // its caches are filled
	case <-w.ctx.Done():
		w.Fatal("a manager does not begin")
	}
	w.managers, w.handlers = append(w.managers, m), append(w.handlers, h)
}

// hold waits until each manager's caches, and its handlers of events, have these nodes, pods and greetings.
func (w *watched) hold(want string) {
	w.Helper()
	for i, m := range w.managers {
		var has, told string
		defer func() {
			if w.Failed() {
				w.Logf("the cache of manager %d has %q, its handlers %q, want %q", i, has, told, want)
			}
		}()
		until(w.T, "the caches hold what they should", func() bool {
			has, told = w.lists(m.GetClient()), w.handlers[i].has()
			return has == want && told == strings.ReplaceAll(want, ",", "")
		})
	}
}

// lists are the names of all nodes, pods and greetings that a client sees.
func (w *watched) lists(c client.Client) string {
	w.Helper()
	var kinds []string
	for _, list := range []client.ObjectList{&corev1.NodeList{}, &corev1.PodList{}, &GreetingList{}} {
		must(w.T, c.List(w.ctx, list))
		var names []string
		must(w.T, meta.EachListItem(list, func(obj runtime.Object) error {
			names = append(names, obj.(client.Object).GetName())
			return nil
		}))
		slices.Sort(names)
		kinds = append(kinds, strings.Join(names, " "))
	}
	return strings.Join(kinds, ", ")
}

// indexed asks a manager's cache by an index of its own.
func (w *watched) indexed() {
	w.Helper()
	for _, m := range w.managers {
		pods := &corev1.PodList{}
		must(w.T, m.GetClient().List(w.ctx, pods, client.MatchingFields{"image": "i"}))
		if len(pods.Items) != 2 {
			w.Errorf("the index has %d pods", len(pods.Items))
		}
	}
}

func (w *watched) patch(obj client.Object, patch string) {
	w.Helper()
	must(w.T, w.Patch(w.ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// bind is what a scheduler does with a pod. The annotations and labels of a binding become the pod's.
func (w *watched) bind(name, node string) {
	w.Helper()
	w.patch(pod(name, ""), fmt.Sprintf(`{"metadata":{"labels":{"node":%q}}}`, node))
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	must(w.T, w.SubResource("binding").Create(w.ctx, pod(name, ""), binding))
}

// handler keeps what events tell of: none may tell of an object twice, or of the end of one that it does not know.
type handler struct {
	*testing.T
	mu      sync.Mutex
	objects map[types.UID]string
}

func (h *handler) OnAdd(obj any, _ bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := obj.(client.Object)
	if _, known := h.objects[o.GetUID()]; known {
		h.Errorf("%s came twice", o.GetName())
	}
	h.objects[o.GetUID()] = o.GetName()
}

func (h *handler) OnUpdate(old, _ any) { h.known(old) }

func (h *handler) OnDelete(obj any) {
	if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	h.known(obj)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.objects, obj.(client.Object).GetUID())
}

func (h *handler) known(obj any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := obj.(client.Object); h.objects[o.GetUID()] == "" {
		h.Errorf("an event of %s, which did not come", o.GetName())
	}
}

// has are the names of the objects by kind, which is their first letter.
func (h *handler) has() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := slices.Collect(maps.Values(h.objects))
	slices.SortFunc(names, func(a, b string) int {
		const order = "npg"
		return cmp.Or(strings.IndexByte(order, a[0])-strings.IndexByte(order, b[0]), strings.Compare(a, b))
	})
	return strings.Join(names, " ")
}

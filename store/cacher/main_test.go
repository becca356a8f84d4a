package cacher_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/etcd3"
	"github.com/kx-apiserver/kx/store/transform"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

var (
	pandas = schema.GroupResource{Group: "example.com", Resource: "pandas"}
	codec  = unstructured.UnstructuredJSONScheme
)

// everything lists and watches all.
var everything = store.ListOptions{
	Recursive: true,
	Predicate: store.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(), GetAttrs: attrs},
}

func attrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	u := obj.(*unstructured.Unstructured)
	color, _, _ := unstructured.NestedString(u.Object, "spec", "color")
	return u.GetLabels(), fields.Set{
		"metadata.name": u.GetName(), "metadata.namespace": u.GetNamespace(), "spec.color": color,
	}, nil
}

func newPanda() runtime.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion("example.com/v1")
	u.SetKind("Panda")
	return u
}

// panda is an object whose spec.color and label color are color.
func panda(ns, name, color string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Panda",
		"metadata": map[string]any{
			"namespace": ns, "name": name, "uid": ns + "-" + name, "labels": map[string]any{"color": color},
		},
		"spec": map[string]any{"color": color, "text": "<b>&\u2028"},
	}}
}

func key(ns, name string) string { return "/pandas/" + ns + "/" + name }

// rig is a storage of pandas, with a cacher in front of it and without.
type rig struct {
	raw    cacher.Storage
	cacher *cacher.Cacher
	cached *cacher.Cacher
	prefix string
}

// newRig opens a storage on client, whose keys are below a prefix of its own. change may change the cacher's configuration.
func newRig(t testing.TB, client *clientv3.Client, change func(*cacher.Config)) *rig {
	t.Helper()
	r := &rig{prefix: embedtest.Prefix()}
	r.raw = open(t, client, r.prefix)
	r.start(t, change)
	return r
}

// open opens a storage of pandas without a cacher: a second one on the same keys is another process.
func open(t testing.TB, client *clientv3.Client, prefix string) cacher.Storage {
	t.Helper()
	return openWith(t, client, prefix, nil)
}

// openWith is open with a transformer of stored values, nil for none.
func openWith(t testing.TB, client *clientv3.Client, prefix string, transformer transform.Transformer) cacher.Storage {
	t.Helper()
	compactor := etcd3.StartCompactor(client, 0, nil, nil)
	t.Cleanup(compactor.Stop)
	raw, err := etcd3.New(etcd3.Options{
		Client: etcd3.NewClient(client), Compactor: compactor, Codec: codec, NewFunc: newPanda,
		Prefix: prefix, ResourcePrefix: "/pandas/", GroupResource: pandas, Transformer: transformer,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	return etcd3.NewStoreWithUnsafeCorruptObjectDeletion(raw, pandas).(cacher.Storage)
}

func (r *rig) config() cacher.Config {
	return cacher.Config{
		Storage: r.raw, ResourcePrefix: "/pandas", GroupResource: pandas, NewFunc: newPanda, GetAttrsFunc: attrs,
		Trigger: store.IndexerFuncs{"spec.color": nil},
	}
}

func (r *rig) start(t testing.TB, change func(*cacher.Config)) {
	t.Helper()
	config := r.config()
	if change != nil {
		change(&config)
	}
	c, err := cacher.NewCacherFromConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	if err := c.WaitUntilReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.cacher, r.cached = c, c
}

// shared is a rig in the etcd that all tests share.
func shared(t testing.TB, change func(*cacher.Config)) *rig {
	t.Helper()
	client := embedtest.Shared(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	return newRig(t, client, change)
}

func (r *rig) create(t testing.TB, ns, name, color string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := r.cached.Create(t.Context(), key(ns, name), panda(ns, name, color), out, 0); err != nil {
		t.Fatal(err)
	}
	return out
}

func (r *rig) update(t testing.TB, ns, name, color string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	err := r.cached.GuaranteedUpdate(t.Context(), key(ns, name), out, func(input runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
		next := panda(ns, name, color)
		_ = unstructured.SetNestedField(next.Object, fmt.Sprint(time.Now().UnixNano()), "spec", "at")
		return next, nil, nil
	}, store.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (r *rig) delete(t testing.TB, ns, name string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := r.cached.Delete(t.Context(), key(ns, name), out, store.ValidateAllObjectFunc, store.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	return out
}

func list(t testing.TB, s store.Interface, opts store.ListOptions) *unstructured.UnstructuredList {
	t.Helper()
	out := &unstructured.UnstructuredList{}
	if err := s.GetList(t.Context(), "/pandas/", opts, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func names(list *unstructured.UnstructuredList) (names []string) {
	for _, item := range list.Items {
		names = append(names, item.GetNamespace()+"/"+item.GetName())
	}
	return names
}

// next is the next event of a watch.
func next(t testing.TB, w watch.Interface) watch.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch has ended")
		}
		return e
	case <-ctx.Done():
		t.Fatal("no event comes")
	}
	return watch.Event{}
}

// describe is an event in words: its type, and what it is about.
func describe(e watch.Event) string {
	if status, ok := e.Object.(*metav1.Status); ok {
		return fmt.Sprintf("%s %d", e.Type, status.Code)
	}
	if pod, ok := e.Object.(*corev1.Pod); ok {
		return fmt.Sprintf("%s %s", e.Type, pod.Name)
	}
	m := e.Object.(*unstructured.Unstructured)
	return fmt.Sprintf("%s %s/%s", e.Type, m.GetNamespace(), m.GetName())
}

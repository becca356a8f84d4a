package upstream

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	upstreametcd3 "k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/utils/clock"

	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/etcd3"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// resource is something that both keep.
type resource struct {
	group     schema.GroupResource
	prefix    string
	codec     runtime.Codec
	newObject func() runtime.Object
	newList   func() runtime.Object
	// object makes an object of which everything is stored that either could write differently.
	object func(name string, labels map[string]string) runtime.Object
	// begins is what a stored value begins with.
	begins string
}

func resources() []resource {
	core := runtime.NewScheme()
	if err := corev1.AddToScheme(core); err != nil {
		panic(err)
	}
	codecs := serializer.NewCodecFactory(core)
	proto := protobuf.NewSerializer(core, core)
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	return []resource{{
		group:     schema.GroupResource{Resource: "configmaps"},
		prefix:    "/configmaps/",
		codec:     codecs.CodecForVersions(proto, codecs.UniversalDeserializer(), corev1.SchemeGroupVersion, corev1.SchemeGroupVersion),
		newObject: func() runtime.Object { return &corev1.ConfigMap{} },
		newList:   func() runtime.Object { return &corev1.ConfigMapList{} },
		object: func(name string, labels map[string]string) runtime.Object {
			return &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "u-1", Labels: labels, SelfLink: "/gone"},
				Data:       map[string]string{"b": "<&>", "a": strings.Repeat("x", 100)},
			}
		},
		begins: "k8s\x00",
	}, {
		group:     schema.GroupResource{Group: "example.com", Resource: "widgets"},
		prefix:    "/example.com/widgets/",
		codec:     unstructured.UnstructuredJSONScheme,
		newObject: func() runtime.Object { return newWidget(widget) },
		newList: func() runtime.Object {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(widget.GroupVersion().WithKind("WidgetList"))
			return list
		},
		object: func(name string, labels map[string]string) runtime.Object {
			u := newWidget(widget)
			u.SetName(name)
			u.SetNamespace("default")
			u.SetLabels(labels)
			u.Object["spec"] = map[string]any{"z": "<&>", "a": int64(1), "list": []any{"x", 1.5, true, nil}}
			return u
		},
		begins: `{"apiVersion":"example.com/v1"`,
	}}
}

func newWidget(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// both opens one etcd with kx's storage and with upstream's.
func (r resource) both(t *testing.T, client *kubernetes.Client, prefix string) (kx, upstream storage.Interface) {
	t.Helper()
	ours, err := etcd3.New(etcd3.Options{
		Client: client, Codec: r.codec, NewFunc: r.newObject,
		Prefix: prefix, ResourcePrefix: r.prefix, GroupResource: r.group,
		Leases: etcd3.NewDefaultLeaseManagerConfig(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ours.Close)
	versioner := storage.APIObjectVersioner{}
	theirs, err := upstreametcd3.New(client, nil, r.codec, r.newObject, r.newList, prefix, r.prefix, r.group,
		identity.NewEncryptCheckTransformer(), upstreametcd3.NewDefaultLeaseManagerConfig(),
		upstreametcd3.NewDefaultDecoder(r.codec, versioner), versioner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(theirs.Close)
	return Adapt(ours), theirs
}

func (r resource) key(name string) string { return r.prefix + "default/" + name }

func sharedClient(t *testing.T) *kubernetes.Client {
	client := etcd3.NewClient(embedtest.Shared(t).Client())
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// stored is what is below prefix in etcd, without the prefix.
func stored(t *testing.T, client *kubernetes.Client, prefix string) map[string]string {
	t.Helper()
	resp, err := client.KV.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, kv := range resp.Kvs {
		values[strings.TrimPrefix(string(kv.Key), prefix)] = string(kv.Value)
	}
	return values
}

func label(value string) storage.UpdateFunc {
	return storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		m.SetLabels(map[string]string{"color": value})
		return obj, nil
	})
}

func TestKeysAndBytesAreTheSame(t *testing.T) {
	client := sharedClient(t)
	for _, r := range resources() {
		t.Run(r.group.Resource, func(t *testing.T) {
			var written []map[string]string
			for i := range 2 {
				prefix := embedtest.Prefix()
				kx, upstream := r.both(t, client, prefix)
				s := []storage.Interface{kx, upstream}[i]
				for _, name := range []string{"a", "b", "c.d-e"} {
					if err := s.Create(t.Context(), r.key(name), r.object(name, nil), r.newObject(), 0); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.GuaranteedUpdate(t.Context(), r.key("b"), r.newObject(), false, nil, label("red"), nil); err != nil {
					t.Fatal(err)
				}
				if err := s.Delete(t.Context(), r.key("a"), r.newObject(), nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				written = append(written, stored(t, client, prefix))
			}
			if diff := cmp.Diff(written[1], written[0]); diff != "" {
				t.Errorf("kx and upstream wrote different things (-upstream +kx):\n%s", diff)
			}
			if len(written[0]) != 2 {
				t.Errorf("%d values are stored, want 2", len(written[0]))
			}
			for key, value := range written[0] {
				if !strings.HasPrefix(value, r.begins) {
					t.Errorf("%s begins with %.40q, want %q", key, value, r.begins)
				}
			}
		})
	}
}

// TestEachReadsWhatTheOtherWrote lets each of them do each of the writes, and compares what both see of it.
func TestEachReadsWhatTheOtherWrote(t *testing.T) {
	client := sharedClient(t)
	for _, r := range resources() {
		t.Run(r.group.Resource, func(t *testing.T) {
			kx, upstream := r.both(t, client, embedtest.Prefix())
			for i, s := range []storage.Interface{kx, upstream} {
				other := []storage.Interface{upstream, kx}[i]
				name := fmt.Sprintf("by-%d", i)
				if err := s.Create(t.Context(), r.key(name), r.object(name, nil), nil, 0); err != nil {
					t.Fatal(err)
				}
				if err := other.Create(t.Context(), r.key(name), r.object(name, nil), nil, 0); !storage.IsExist(err) {
					t.Errorf("the other one created it again: %v", err)
				}
				suggestion := r.newObject()
				if err := s.Get(t.Context(), r.key(name), storage.GetOptions{}, suggestion); err != nil {
					t.Fatal(err)
				}
				if err := other.GuaranteedUpdate(t.Context(), r.key(name), r.newObject(), false, nil, label("red"), nil); err != nil {
					t.Fatal(err)
				}
				// The suggestion is stale since the other one wrote.
				if err := s.GuaranteedUpdate(t.Context(), r.key(name), r.newObject(), false, nil, label("blue"), suggestion); err != nil {
					t.Fatal(err)
				}
			}
			compareReads(t, r, kx, upstream)
			kxOut, upstreamOut := r.newObject(), r.newObject()
			for _, d := range []struct {
				s   storage.Interface
				key string
				out runtime.Object
			}{{kx, r.key("by-1"), kxOut}, {upstream, r.key("by-0"), upstreamOut}} {
				if err := d.s.Delete(t.Context(), d.key, d.out, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			compareReads(t, r, kx, upstream)
		})
	}
}

// compareReads compares what both answer to reads of all kinds.
func compareReads(t *testing.T, r resource, kx, upstream storage.Interface) {
	t.Helper()
	blue := storage.SelectionPredicate{
		Label: labels.SelectorFromSet(labels.Set{"color": "blue"}), Field: fields.Everything(), GetAttrs: storage.DefaultNamespaceScopedAttr,
	}
	one := storage.Everything
	one.Limit = 1
	for _, opts := range []storage.ListOptions{
		{Predicate: storage.Everything, Recursive: true},
		{Predicate: storage.Everything, Recursive: true, ResourceVersion: "0"},
		{Predicate: blue, Recursive: true},
		{Predicate: one, Recursive: true},
		{Predicate: storage.Everything, Recursive: true, ResourceVersion: "99999999", ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		{Predicate: storage.Everything, Recursive: true, ResourceVersion: "99999999", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		{Predicate: storage.Everything, Recursive: true, ResourceVersion: "x"},
		{Predicate: storage.Everything, Recursive: true, ResourceVersion: "1", ResourceVersionMatch: "Sometimes"},
		{Predicate: storage.SelectionPredicate{Limit: 1, Continue: "garbage"}, Recursive: true},
	} {
		kxList, upstreamList := r.newList(), r.newList()
		kxErr := kx.GetList(t.Context(), r.prefix, opts, kxList)
		upstreamErr := upstream.GetList(t.Context(), r.prefix, opts, upstreamList)
		if diff := cmp.Diff(fmt.Sprint(upstreamErr), fmt.Sprint(kxErr)); diff != "" {
			t.Errorf("list %+v (-upstream +kx):\n%s", opts, diff)
		}
		if diff := cmp.Diff(upstreamList, kxList); diff != "" {
			t.Errorf("list %+v (-upstream +kx):\n%s", opts, diff)
		}
	}
	for _, name := range []string{"by-0", "by-1", "absent"} {
		for _, opts := range []storage.GetOptions{{}, {IgnoreNotFound: true}, {ResourceVersion: "99999999"}, {ResourceVersion: "x"}} {
			kxObj, upstreamObj := r.newObject(), r.newObject()
			kxErr := kx.Get(t.Context(), r.key(name), opts, kxObj)
			upstreamErr := upstream.Get(t.Context(), r.key(name), opts, upstreamObj)
			if diff := cmp.Diff(fmt.Sprint(upstreamErr), fmt.Sprint(kxErr)); diff != "" {
				t.Errorf("get %s %+v (-upstream +kx):\n%s", name, opts, diff)
			}
			if diff := cmp.Diff(upstreamObj, kxObj); diff != "" {
				t.Errorf("get %s %+v (-upstream +kx):\n%s", name, opts, diff)
			}
		}
	}
}

// TestPagesGoOnWithTheOther reads a list page by page, from one and the other in turn.
func TestPagesGoOnWithTheOther(t *testing.T) {
	client := sharedClient(t)
	for _, r := range resources() {
		t.Run(r.group.Resource, func(t *testing.T) {
			kx, upstream := r.both(t, client, embedtest.Prefix())
			for i := range 7 {
				name := fmt.Sprintf("n%d", i)
				if err := kx.Create(t.Context(), r.key(name), r.object(name, nil), nil, 0); err != nil {
					t.Fatal(err)
				}
			}
			var names []string
			pred := storage.Everything
			pred.Limit = 2
			for i := 0; ; i++ {
				list := r.newList()
				s := []storage.Interface{kx, upstream}[i%2]
				if err := s.GetList(t.Context(), r.prefix, storage.ListOptions{Predicate: pred, Recursive: true}, list); err != nil {
					t.Fatal(err)
				}
				names = append(names, listNames(t, list)...)
				m, err := meta.ListAccessor(list)
				if err != nil {
					t.Fatal(err)
				}
				if pred.Continue = m.GetContinue(); pred.Continue == "" {
					break
				}
				if left := m.GetRemainingItemCount(); left == nil || int(*left) != 7-len(names) {
					t.Errorf("after %d objects %v are left", len(names), left)
				}
			}
			if diff := cmp.Diff([]string{"n0", "n1", "n2", "n3", "n4", "n5", "n6"}, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBothWatchesSeeTheSame compares all events of watches of all kinds.
func TestBothWatchesSeeTheSame(t *testing.T) {
	yes, no := true, false
	all := storage.Everything
	bookmarks := storage.Everything
	bookmarks.AllowWatchBookmarks = true
	red := storage.SelectionPredicate{
		Label: labels.SelectorFromSet(labels.Set{"color": "red"}), Field: fields.Everything(), GetAttrs: storage.DefaultNamespaceScopedAttr,
	}
	// initial is how many events come before any change. They are awaited, since a watch reads the present state when it
	// gets round to it.
	watches := map[string]struct {
		opts    storage.ListOptions
		initial int
	}{
		"unset":              {storage.ListOptions{Predicate: all, Recursive: true}, 2},
		"zero":               {storage.ListOptions{Predicate: all, Recursive: true, ResourceVersion: "0"}, 2},
		"selected":           {storage.ListOptions{Predicate: red, Recursive: true}, 1},
		"from a revision":    {storage.ListOptions{Predicate: all, Recursive: true, ResourceVersion: "1"}, 2},
		"initial events":     {storage.ListOptions{Predicate: bookmarks, Recursive: true, SendInitialEvents: &yes}, 3},
		"initial, selected":  {storage.ListOptions{Predicate: red, Recursive: true, SendInitialEvents: &yes}, 1},
		"no initial events":  {storage.ListOptions{Predicate: all, Recursive: true, SendInitialEvents: &no}, 0},
		"initial, from zero": {storage.ListOptions{Predicate: bookmarks, Recursive: true, ResourceVersion: "0", SendInitialEvents: &yes}, 3},
		"too new":            {storage.ListOptions{Predicate: all, Recursive: true, ResourceVersion: "99999999", SendInitialEvents: &yes}, 1},
	}
	client := sharedClient(t)
	for _, r := range resources() {
		for name, test := range watches {
			t.Run(r.group.Resource+"/"+name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				kx, upstream := r.both(t, client, embedtest.Prefix())
				create(ctx, t, r, kx, "before", nil)
				create(ctx, t, r, kx, "before-red", map[string]string{"color": "red"})
				var open []watch.Interface
				var seen [2][]watch.Event
				for i, s := range []storage.Interface{upstream, kx} {
					w, err := s.Watch(ctx, r.prefix, test.opts)
					if err != nil {
						t.Fatal(err)
					}
					defer w.Stop()
					open = append(open, w)
					seen[i] = events(ctx, t, w, test.initial, "")
				}
				create(ctx, t, r, upstream, "after", nil)
				for _, color := range []string{"red", "red-ish", "red"} {
					if err := kx.GuaranteedUpdate(ctx, r.key("before"), r.newObject(), false, nil, label(color), nil); err != nil {
						t.Fatal(err)
					}
				}
				if err := kx.Delete(ctx, r.key("before"), r.newObject(), nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				create(ctx, t, r, upstream, "last", map[string]string{"color": "red"})
				want := append(seen[0], events(ctx, t, open[0], -1, "last")...)
				got := append(seen[1], events(ctx, t, open[1], -1, "last")...)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-upstream +kx):\n%s", diff)
				}
				if len(want) == 0 {
					t.Error("no events were compared")
				}
			})
		}
	}
}

func create(ctx context.Context, t *testing.T, r resource, s storage.Interface, name string, labels map[string]string) {
	t.Helper()
	if err := s.Create(ctx, r.key(name), r.object(name, labels), nil, 0); err != nil {
		t.Fatal(err)
	}
}

// events reads n events, or (-1) until the one of the object called last or the end of the watch.
func events(ctx context.Context, t *testing.T, w watch.Interface, n int, last string) (events []watch.Event) {
	t.Helper()
	for len(events) != n {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return events
			}
			if status, ok := e.Object.(*metav1.Status); ok && status.Details != nil {
				// When to come back is a matter of chance.
				status.Details.RetryAfterSeconds = 0
			}
			events = append(events, e)
			if m, err := meta.Accessor(e.Object); err == nil && m.GetName() == last {
				return events
			}
		case <-ctx.Done():
			t.Fatalf("no event came after %v", events)
		}
	}
	return events
}

// TestCompactorsAgree lets kx and upstream share the clock that compactions run by.
func TestCompactorsAgree(t *testing.T) {
	client := etcd3.NewClient(embedtest.New(t).Client())
	defer func() { _ = client.Close() }()
	revision := func() int64 {
		resp, err := client.KV.Put(t.Context(), "anything", "x")
		if err != nil {
			t.Fatal(err)
		}
		return resp.Header.Revision
	}
	type compact func(ctx context.Context, client *clientv3.Client, version, rev int64) (int64, int64, int64, error)
	first, second := compact(etcd3.Compact), compact(upstreametcd3.Compact)
	version := int64(0)
	for range 4 {
		rev := revision()
		winner, _, compacted, err := first(t.Context(), client.Client, version, rev)
		if err != nil || winner != version+1 || compacted != rev {
			t.Fatalf("first: version %d, compacted %d, %v; want version %d, compacted %d", winner, compacted, err, version+1, rev)
		}
		// The other one finds that it was not the first, learns the version and what was compacted, and compacts nothing.
		late := revision()
		loser, _, seen, err := second(t.Context(), client.Client, version, late)
		if err != nil || loser != winner || seen != rev {
			t.Fatalf("second: version %d, saw %d, %v; want version %d, saw %d", loser, seen, err, winner, rev)
		}
		if _, err := client.KV.Get(t.Context(), "anything", clientv3.WithRev(late)); err != nil {
			t.Fatalf("revision %d: %v", late, err)
		}
		version = winner
		first, second = second, first
	}

	// Running, they see each other's.
	ours := etcd3.StartCompactor(client.Client, 5*time.Millisecond, nil, nil)
	defer ours.Stop()
	theirs := upstreametcd3.NewCompactor(client.Client, 5*time.Millisecond, clock.RealClock{}, nil)
	defer theirs.Stop()
	target := revision()
	for deadline := time.Now().Add(3 * time.Minute); ours.CompactRevision() < target || theirs.CompactRevision() < target; {
		if time.Now().After(deadline) {
			t.Fatalf("compacted: kx knows of %d, upstream of %d, want %d", ours.CompactRevision(), theirs.CompactRevision(), target)
		}
		revision()
	}
}

func listNames(t *testing.T, list runtime.Object) (names []string) {
	t.Helper()
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		m, err := meta.Accessor(obj)
		if err == nil {
			names = append(names, m.GetName())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

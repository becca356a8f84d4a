package etcd3_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/embedded"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/etcd3"
	"github.com/kx-apiserver/kx/store/transform"
)

func TestNewSaysWhatIsMissing(t *testing.T) {
	good := etcd3.Options{
		Client: etcd3.NewClient(&clientv3.Client{}), Codec: codec,
		NewFunc: func() runtime.Object { return &corev1.ConfigMap{} }, ResourcePrefix: "/configmaps/",
	}
	for name, test := range map[string]struct {
		change func(*etcd3.Options)
		want   string
	}{
		"no client":           {func(o *etcd3.Options) { o.Client = nil }, "etcd3: no client given"},
		"no codec":            {func(o *etcd3.Options) { o.Codec = nil }, "needs a codec"},
		"no new":              {func(o *etcd3.Options) { o.NewFunc = nil }, "needs a codec and a function"},
		"no resource prefix":  {func(o *etcd3.Options) { o.ResourcePrefix = "" }, "resourcePrefix cannot be empty"},
		"all resources":       {func(o *etcd3.Options) { o.ResourcePrefix = "/" }, "resourcePrefix cannot be /"},
		"no slash":            {func(o *etcd3.Options) { o.ResourcePrefix = "configmaps" }, "resourcePrefix needs to start from /"},
		"everything is there": {func(*etcd3.Options) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			test.change(&o)
			_, err := etcd3.New(o)
			if fmt.Sprint(err) == "<nil>" && test.want == "" {
				return
			}
			if err == nil || test.want == "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("New: %v, want %q", err, test.want)
			}
		})
	}
}

func TestPrefixOfKeys(t *testing.T) {
	client := embedtest.New(t).Client()
	defer func() { _ = client.Close() }()
	for prefix, want := range map[string]string{
		"":                  "/configmaps/ns/a",
		"registry-p":        "/registry-p/configmaps/ns/a",
		"/custom/prefix":    "/custom/prefix/configmaps/ns/a",
		"/custom//other///": "/custom/other/configmaps/ns/a",
	} {
		create(t, open(t, client, prefix, nil), "a", "x")
		resp, err := client.Get(t.Context(), want)
		if err != nil || len(resp.Kvs) != 1 {
			t.Errorf("prefix %q: %d values at %s, %v", prefix, len(resp.Kvs), want, err)
		}
	}
}

func TestInvalidKeysReachNothing(t *testing.T) {
	s, _, _ := shared(t, nil)
	for _, bad := range []string{"", "/", "/configmaps/../secrets/a", "/configmaps/ns/..", "/configmaps/./a", "/secrets/ns/a"} {
		_, watchErr := s.Watch(t.Context(), bad, store.ListOptions{})
		for method, err := range map[string]error{
			"Create":           s.Create(t.Context(), bad, nil, nil, 0),
			"Delete":           s.Delete(t.Context(), bad, nil, nil, store.DeleteOptions{}),
			"Watch":            watchErr,
			"Get":              s.Get(t.Context(), bad, store.GetOptions{}, nil),
			"GetList":          s.GetList(t.Context(), bad, store.ListOptions{}, nil),
			"GuaranteedUpdate": s.GuaranteedUpdate(t.Context(), bad, nil, nil, store.UpdateOptions{IgnoreNotFound: true}),
		} {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("key: %q", bad)) {
				t.Errorf("%s(%q): %v", method, bad, err)
			}
		}
	}
}

// TestTooLarge stores more than etcd takes, in both ways of speaking to it.
func TestTooLarge(t *testing.T) {
	server, err := embedded.Start(t.Context(), embedded.Config{
		Dir: t.TempDir(), Ephemeral: true, Listen: []string{"http://127.0.0.1:0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	remote, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addrs()[0].String()}})
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]*clientv3.Client{"in process": server.Client(), "grpc": remote} {
		t.Cleanup(func() { _ = client.Close() })
		t.Run(name, func(t *testing.T) {
			s := open(t, client, embedtest.Prefix(), nil)
			for _, size := range []int{embedded.MaxRequestBytes + 1, 4*embedded.MaxRequestBytes + 1} {
				data := strings.Repeat("x", size)
				err := s.Create(t.Context(), key("big"), configMap("big", data), nil, 0)
				if !apierrors.IsRequestEntityTooLargeError(err) {
					t.Errorf("Create of %d bytes: %.300v", size, err)
				}
			}
			create(t, s, "small", "x")
			err := s.GuaranteedUpdate(t.Context(), key("small"), &corev1.ConfigMap{}, setData(strings.Repeat("x", embedded.MaxRequestBytes)), store.UpdateOptions{})
			if !apierrors.IsRequestEntityTooLargeError(err) {
				t.Errorf("GuaranteedUpdate: %.300v", err)
			}
		})
	}
}

func TestNothingThatComesInIsChanged(t *testing.T) {
	s, _, _ := shared(t, nil)
	created := create(t, s, "a", "x")
	suggestion := created.DeepCopy()
	err := s.GuaranteedUpdate(t.Context(), key("a"), &corev1.ConfigMap{}, func(input runtime.Object, res store.ResponseMeta) (runtime.Object, *uint64, error) {
		return setData("y")(input.DeepCopyObject(), res)
	}, store.UpdateOptions{Suggestion: suggestion})
	if err != nil {
		t.Fatal(err)
	}
	if suggestion.ResourceVersion != created.ResourceVersion || suggestion.Data["data"] != "x" {
		t.Errorf("the suggestion became %v", suggestion)
	}
}

// TestListIntoAnything lists into the kinds of lists that there are, and into what is none.
func TestListIntoAnything(t *testing.T) {
	s, _, _ := shared(t, func(o *etcd3.Options) {
		o.Codec = unstructured.UnstructuredJSONScheme
		o.NewFunc = func() runtime.Object { return &unstructured.Unstructured{} }
	})
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "a", "namespace": "ns"}, "spec": map[string]any{"size": int64(3)},
	}}
	if err := s.Create(t.Context(), key("a"), u, nil, 0); err != nil {
		t.Fatal(err)
	}
	opts := store.ListOptions{Predicate: store.Everything, Recursive: true}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("example.com/v1")
	if err := s.GetList(t.Context(), "/configmaps/", opts, list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].GetName() != "a" || list.Items[0].GetResourceVersion() == "" {
		t.Errorf("listed %v", list)
	}
	for _, none := range []runtime.Object{&corev1.ConfigMap{}, &metav1.List{}} {
		if err := s.GetList(t.Context(), "/configmaps/", opts, none); err == nil {
			t.Errorf("a list into %T succeeded", none)
		}
	}
}

func TestEmptyListIsNotNil(t *testing.T) {
	s, _, _ := shared(t, nil)
	list := &corev1.ConfigMapList{}
	if err := s.GetList(t.Context(), "/configmaps/", store.ListOptions{Predicate: store.Everything, Recursive: true}, list); err != nil {
		t.Fatal(err)
	}
	if list.Items == nil || len(list.Items) != 0 || list.ResourceVersion == "" {
		t.Errorf("listed %+v", list)
	}
}

// TestUnreadableIsNamedAndGoes covers a transformer that can't read; the transcripts cover a codec.
func TestUnreadableIsNamedAndGoes(t *testing.T) {
	s, client, prefix := shared(t, func(o *etcd3.Options) {
		o.Transformer = etcd3.WithCorruptObjErrorHandlingTransformer(transform.NewIdentity())
	})
	wrapped := etcd3.NewStoreWithUnsafeCorruptObjectDeletion(s, configMaps)
	create(t, s, "a", "x")
	bad := prefix + key("b")
	if _, err := client.Put(t.Context(), bad, "k8s:enc:aesgcm:v1:key:garbage"); err != nil {
		t.Fatal(err)
	}
	err := wrapped.Get(t.Context(), key("b"), store.GetOptions{}, &corev1.ConfigMap{})
	if !store.IsCorruptObject(err) {
		t.Errorf("Get: %v", err)
	}
	list := &corev1.ConfigMapList{}
	err = wrapped.GetList(t.Context(), "/configmaps/", store.ListOptions{Predicate: store.Everything, Recursive: true}, list)
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonStoreReadError || status.Status().Details.Causes[0].Field != bad {
		t.Errorf("GetList: %v", err)
	}
	if len(list.Items) != 1 {
		t.Errorf("%d neighbours were listed, want 1", len(list.Items))
	}
	for name, err := range map[string]error{
		"GuaranteedUpdate": wrapped.GuaranteedUpdate(t.Context(), key("b"), &corev1.ConfigMap{}, setData("y"), store.UpdateOptions{}),
		"Delete":           wrapped.Delete(t.Context(), key("b"), &corev1.ConfigMap{}, store.ValidateAllObjectFunc, store.DeleteOptions{}),
	} {
		if !store.IsInternalError(err) || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A validation sees that there is no object.
	validate := func(_ context.Context, obj runtime.Object) error {
		if obj != nil {
			t.Errorf("validated %v", obj)
		}
		return nil
	}
	out := configMap("untouched", "x")
	err = wrapped.Delete(t.Context(), key("b"), out, validate, store.DeleteOptions{ExpectTransformOrDecodeError: true})
	if err != nil || out.Name != "untouched" {
		t.Errorf("Delete: %v, filled %s", err, out.Name)
	}
}

func TestStaleValueIsWrittenAgain(t *testing.T) {
	reader := &staleReader{Transformer: transform.NewIdentity()}
	s, _, _ := shared(t, func(o *etcd3.Options) { o.Transformer = reader })
	before := create(t, s, "a", "x")
	update := func() string {
		t.Helper()
		out := &corev1.ConfigMap{}
		if err := s.GuaranteedUpdate(t.Context(), key("a"), out, setData("x"), store.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		return out.ResourceVersion
	}
	if rv := update(); rv != before.ResourceVersion {
		t.Errorf("the same bytes were written: %s became %s", before.ResourceVersion, rv)
	}
	reader.stale = true
	if rv := update(); rv == before.ResourceVersion {
		t.Error("a stale value was not written again")
	}
}

type staleReader struct {
	transform.Transformer
	stale bool
}

func (r *staleReader) TransformFromStorage(ctx context.Context, data []byte, dataCtx transform.Context) ([]byte, bool, error) {
	out, _, err := r.Transformer.TransformFromStorage(ctx, data, dataCtx)
	return out, r.stale, err
}

// TestValueOfAnotherKeyIsRefused copies an encrypted value to another key in etcd, as somebody might who may read that one
// and not the first: the key is authenticated with the value, on every way in.
func TestValueOfAnotherKeyIsRefused(t *testing.T) {
	aesGCM, err := transform.NewAESGCM([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	s, client, prefix := shared(t, func(o *etcd3.Options) { o.Transformer = aesGCM })
	created := create(t, s, "secret", "x")
	stored, err := client.Get(t.Context(), prefix+key("secret"))
	if err != nil || len(stored.Kvs) != 1 || strings.Contains(string(stored.Kvs[0].Value), "secret") {
		t.Fatalf("stored as %q, %v", stored.Kvs, err)
	}
	since := everything
	since.ResourceVersion = created.ResourceVersion
	w, err := s.Watch(t.Context(), "/configmaps/", since)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := client.Put(t.Context(), prefix+key("open"), string(stored.Kvs[0].Value)); err != nil {
		t.Fatal(err)
	}
	get := s.Get(t.Context(), key("open"), store.GetOptions{}, &corev1.ConfigMap{})
	list := s.GetList(t.Context(), "/configmaps/", everything, &corev1.ConfigMapList{})
	update := s.GuaranteedUpdate(t.Context(), key("open"), &corev1.ConfigMap{}, setData("y"), store.UpdateOptions{})
	for name, err := range map[string]error{"Get": get, "GetList": list, "GuaranteedUpdate": update} {
		if !store.IsInternalError(err) || !strings.Contains(err.Error(), prefix+key("open")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if e := next(t, w); e.Type != watch.Error {
		t.Errorf("a watcher got %s of %v", e.Type, e.Object)
	}
	if err := s.Get(t.Context(), key("secret"), store.GetOptions{}, &corev1.ConfigMap{}); err != nil {
		t.Errorf("in its own place: %v", err)
	}
}

func TestListEndsWithItsContext(t *testing.T) {
	s, _, _ := shared(t, nil)
	create(t, s, "a", "x")
	ctx, cancel := context.WithCancel(t.Context())
	pred := store.Everything
	list := &corev1.ConfigMapList{}
	cancel()
	if err := s.GetList(ctx, "/configmaps/", store.ListOptions{Predicate: pred, Recursive: true}, list); err == nil {
		t.Error("a list with a cancelled context succeeded")
	}
}

func TestSizeEstimation(t *testing.T) {
	s, client, prefix := shared(t, nil)
	keys := func(ctx context.Context) (keys []string, err error) {
		resp, err := client.Get(ctx, prefix+"/configmaps/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return nil, err
		}
		for _, kv := range resp.Kvs {
			// As a cache knows them: without the prefix.
			keys = append(keys, strings.TrimPrefix(string(kv.Key), prefix))
		}
		return keys, nil
	}
	create(t, s, "a", strings.Repeat("x", 1000))
	if stats, err := s.Stats(t.Context()); err != nil || stats != (store.Stats{ObjectCount: 1}) {
		t.Errorf("without estimation: %+v, %v", stats, err)
	}
	if err := s.EnableResourceSizeEstimation(nil); err == nil {
		t.Error("an estimation without keys was enabled")
	}
	if err := s.EnableResourceSizeEstimation(keys); err != nil {
		t.Fatal(err)
	}
	if err := s.EnableResourceSizeEstimation(keys); err == nil {
		t.Error("a second estimation was enabled")
	}
	w, err := s.Watch(t.Context(), "/configmaps/", store.ListOptions{Predicate: store.Everything, Recursive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	<-w.ResultChan()
	create(t, s, "b", strings.Repeat("x", 3000))
	<-w.ResultChan()
	if err := s.GetList(t.Context(), "/configmaps/", store.ListOptions{Predicate: store.Everything, Recursive: true}, &corev1.ConfigMapList{}); err != nil {
		t.Fatal(err)
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.ObjectCount != 2 || stats.EstimatedAverageObjectSizeBytes < 2000 || stats.EstimatedAverageObjectSizeBytes > 2200 {
		t.Errorf("two objects of 1000 and 3000 bytes: %+v, %v", stats, err)
	}
	if err := s.Delete(t.Context(), key("b"), &corev1.ConfigMap{}, store.ValidateAllObjectFunc, store.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	<-w.ResultChan()
	stats, err = s.Stats(t.Context())
	if err != nil || stats.ObjectCount != 1 || stats.EstimatedAverageObjectSizeBytes > 1200 {
		t.Errorf("one object of 1000 bytes: %+v, %v", stats, err)
	}
}

// TestAnyObject keeps objects of a type that is of no API, with a codec of its own.
func TestAnyObject(t *testing.T) {
	s, _, _ := shared(t, func(o *etcd3.Options) {
		o.Codec = unstructured.UnstructuredJSONScheme
		o.ResourcePrefix = "/things"
		o.NewFunc = func() runtime.Object {
			return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "x/v1", "kind": "Thing"}}
		}
	})
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "x/v1", "kind": "Thing", "metadata": map[string]any{"name": "a", "selfLink": "/gone"},
	}}
	out := &unstructured.Unstructured{}
	if err := s.Create(t.Context(), "/things/a", u, out, 0); err != nil {
		t.Fatal(err)
	}
	m, err := meta.Accessor(out)
	if err != nil || m.GetResourceVersion() == "" || m.GetSelfLink() != "" {
		t.Errorf("stored %v, %v", out, err)
	}
	destination := &unstructured.Unstructured{}
	err = s.GuaranteedUpdate(t.Context(), "/things/a", destination, func(input runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
		u := input.(*unstructured.Unstructured)
		return u, nil, unstructured.SetNestedField(u.Object, "big", "spec", "size")
	}, store.UpdateOptions{})
	if size, _, _ := unstructured.NestedString(destination.Object, "spec", "size"); err != nil || size != "big" {
		t.Errorf("updated to %v, %v", destination, err)
	}
}

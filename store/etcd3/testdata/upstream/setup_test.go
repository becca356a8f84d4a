package upstream

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/api/apitesting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3/testserver"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/etcd3"
)

const (
	valuePrefix = "test!"

	// maxPage is the most keys that a storage reads at once on its own account, kx's as upstream's.
	maxPage = 10000
)

var (
	scheme = runtime.NewScheme()
	codecs = serializer.NewCodecFactory(scheme)
	pods   = schema.GroupResource{Resource: "pods"}
)

func init() {
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	utilruntime.Must(example.AddToScheme(scheme))
	utilruntime.Must(examplev1.AddToScheme(scheme))
}

// fixture is a kx store on an etcd of its own, as upstream's tests want to see it.
type fixture struct {
	storage.Interface
	t           *testing.T
	kx          store.Interface
	client      *kubernetes.Client
	codec       *failingCodec
	transformer *replaceable
	prefixed    *storagetesting.PrefixTransformer
	compactor   *etcd3.PeriodicCompactor
}

type setup struct {
	client          func(t *testing.T) *kubernetes.Client
	compactor       bool
	corruptHandling bool
}

// newFixture starts an etcd in this process, or the one that s asks for, and a store on it.
func newFixture(t *testing.T, s setup) *fixture {
	if s.client == nil {
		s.client = inProcess
	}
	prefixed := storagetesting.NewPrefixTransformer([]byte(valuePrefix), false)
	f := &fixture{
		t:           t,
		client:      s.client(t),
		codec:       &failingCodec{Codec: apitesting.TestCodec(codecs, examplev1.SchemeGroupVersion)},
		transformer: &replaceable{},
		prefixed:    prefixed,
	}
	f.transformer.set(prefixed)
	options := etcd3.Options{
		Client:         f.client,
		Codec:          f.codec,
		NewFunc:        func() runtime.Object { return &example.Pod{} },
		ResourcePrefix: "/pods/",
		GroupResource:  pods,
		Transformer:    AdaptTransformer(f.transformer),
		Leases:         etcd3.LeaseManagerConfig{ReuseDurationSeconds: 1},
	}
	if s.compactor {
		f.compactor = etcd3.StartCompactor(f.client.Client, 0, nil, nil)
		t.Cleanup(f.compactor.Stop)
		options.Compactor = f.compactor
	}
	kx, err := etcd3.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kx.Close)
	f.kx = kx
	if s.corruptHandling {
		f.kx = etcd3.NewStoreWithUnsafeCorruptObjectDeletion(kx, pods)
	}
	f.Interface = Adapt(f.kx)
	return f
}

// inProcess is an etcd without a socket, under upstream's recorders.
func inProcess(t *testing.T) *kubernetes.Client {
	client := etcd3.NewClient(embedtest.New(t).Client())
	t.Cleanup(func() { _ = client.Close() })
	lists := storagetesting.NewKubernetesRecorder(client.Kubernetes)
	client.KV = storagetesting.NewKVRecorder(client.KV, lists)
	client.Kubernetes = lists
	return client
}

// overGRPC is upstream's own etcd for tests, that notifies of progress every second.
func overGRPC(t *testing.T) *kubernetes.Client {
	config := testserver.NewTestConfig(t)
	config.WatchProgressNotifyInterval = time.Second
	config.TickMs, config.ElectionMs = 20, 100
	client := testserver.RunEtcd(t, config)
	// An etcd that ends before its clients waits for them.
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// UpdatePrefixTransformer implements storagetesting.InterfaceWithPrefixTransformer.
func (f *fixture) UpdatePrefixTransformer(modify storagetesting.PrefixTransformerModifier) func() {
	before := f.transformer.get()
	prefixed := *f.prefixed
	f.transformer.set(modify(&prefixed))
	return func() { f.transformer.set(before) }
}

// UpdateTransformer implements storagetesting.InterfaceWithTransformerOverride.
func (f *fixture) UpdateTransformer(modify storagetesting.TransformerModifier) func() {
	before := f.transformer.get()
	f.transformer.set(modify(before))
	return func() { f.transformer.set(before) }
}

// checkStored holds what is on disk against what may be there.
func (f *fixture) checkStored(ctx context.Context, t *testing.T, key string) {
	t.Helper()
	resp, err := f.client.KV.Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Kvs) != 1 {
		t.Fatalf("%d values are at %s", len(resp.Kvs), key)
	}
	obj, err := runtime.Decode(f.codec.Codec, resp.Kvs[0].Value[len(valuePrefix):])
	if err != nil {
		t.Fatal(err)
	}
	if pod := obj.(*example.Pod); pod.ResourceVersion != "" || pod.SelfLink != "" {
		t.Errorf("stored with resourceVersion %q and selfLink %q", pod.ResourceVersion, pod.SelfLink)
	}
}

// checkCalls counts what was read: objects through the transformer, and pages that grow until they hold them.
func (f *fixture) checkCalls(t *testing.T, pageSize, objects uint64) {
	t.Helper()
	if reads := f.prefixed.GetReadsAndReset(); reads != objects {
		t.Errorf("%d objects were read, want %d", reads, objects)
	}
	pages := uint64(1)
	if pageSize > 0 {
		for sum := uint64(1); sum < objects; pages++ {
			pageSize = min(2*pageSize, maxPage)
			sum += pageSize
		}
	}
	if reads := f.client.KV.(*storagetesting.KVRecorder).GetReadsAndReset(); reads != pages {
		t.Fatalf("%d pages were read, want %d", reads, pages)
	}
}

// compact compacts etcd, and waits until a running compactor has seen it.
func (f *fixture) compact(ctx context.Context, t *testing.T, resourceVersion string) {
	t.Helper()
	rv, err := storage.APIObjectVersioner{}.ParseResourceVersion(resourceVersion)
	if err != nil {
		t.Fatal(err)
	}
	version, _, compacted, err := etcd3.Compact(ctx, f.client.Client, 0, int64(rv))
	if err == nil && compacted != int64(rv) {
		// Another call has been here: now its version is known.
		_, _, _, err = etcd3.Compact(ctx, f.client.Client, version, int64(rv))
	}
	if err != nil {
		t.Fatal(err)
	}
	if f.compactor == nil {
		return
	}
	for f.CompactRevision() < int64(rv) {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
	}
}

func (f *fixture) increaseRV(ctx context.Context, t *testing.T) int64 {
	t.Helper()
	resp, err := f.client.KV.Put(ctx, "increaseRV", "ok")
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

// keys are the keys of the resource in etcd.
func (f *fixture) keys(ctx context.Context) ([]string, error) {
	resp, err := f.client.KV.Get(ctx, "/pods/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, kv := range resp.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys, nil
}

// replaceable is a transformer that can be another one from now on, and can be made to fail.
type replaceable struct {
	now  atomic.Pointer[value.Transformer]
	fail atomic.Bool
}

func (r *replaceable) set(t value.Transformer) { r.now.Store(&t) }
func (r *replaceable) get() value.Transformer  { return *r.now.Load() }

func (r *replaceable) TransformFromStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, bool, error) {
	if r.fail.Load() {
		return nil, false, errSynthetic
	}
	return r.get().TransformFromStorage(ctx, data, dataCtx)
}

func (r *replaceable) TransformToStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, error) {
	return r.get().TransformToStorage(ctx, data, dataCtx)
}

// failingCodec is a codec that can be made to fail.
type failingCodec struct {
	runtime.Codec
	fail atomic.Bool
}

func (c *failingCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if c.fail.Load() {
		return nil, nil, errSynthetic
	}
	return c.Codec.Decode(data, defaults, into)
}

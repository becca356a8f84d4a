package etcd3_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/etcd3"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

var configMaps = schema.GroupResource{Resource: "configmaps"}

// codec writes ConfigMaps as Kubernetes stores them: protobuf behind a magic number.
var codec = func() runtime.Codec {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	codecs := serializer.NewCodecFactory(scheme)
	return codecs.CodecForVersions(protobuf.NewSerializer(scheme, scheme), codecs.UniversalDeserializer(),
		corev1.SchemeGroupVersion, corev1.SchemeGroupVersion)
}()

// closer is a store and the end of it.
type closer interface {
	store.Interface
	Close()
}

// open opens a store of ConfigMaps on client, which is closed with the test. change may change its options.
func open(t testing.TB, client *clientv3.Client, prefix string, change func(*etcd3.Options)) closer {
	t.Helper()
	options := etcd3.Options{
		Client:         etcd3.NewClient(client),
		Codec:          codec,
		NewFunc:        func() runtime.Object { return &corev1.ConfigMap{} },
		Prefix:         prefix,
		ResourcePrefix: "/configmaps/",
		GroupResource:  configMaps,
		Leases:         etcd3.NewDefaultLeaseManagerConfig(),
	}
	if change != nil {
		change(&options)
	}
	s, err := etcd3.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// shared opens a store below a prefix of its own in the etcd that all tests share, and returns both.
func shared(t testing.TB, change func(*etcd3.Options)) (s closer, client *clientv3.Client, prefix string) {
	t.Helper()
	client = embedtest.Shared(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	prefix = embedtest.Prefix()
	return open(t, client, prefix, change), client, prefix
}

func configMap(name, data string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Data:       map[string]string{"data": data},
	}
}

func key(name string) string { return "/configmaps/ns/" + name }

// create stores an object and returns it as it was stored.
func create(t testing.TB, s store.Interface, name, data string) *corev1.ConfigMap {
	t.Helper()
	out := &corev1.ConfigMap{}
	if err := s.Create(t.Context(), key(name), configMap(name, data), out, 0); err != nil {
		t.Fatal(err)
	}
	return out
}

// setData is an update that writes data.
func setData(data string) store.UpdateFunc {
	return func(input runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
		cm := input.(*corev1.ConfigMap)
		cm.Data = map[string]string{"data": data}
		return cm, nil, nil
	}
}

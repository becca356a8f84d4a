// Package builtintest lets the tests of resource packages keep their objects in a real etcd, as a server would.
package builtintest

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// Etcd is a part of the etcd that the tests of a package share. Their TestMain must call embedtest.Main.
type Etcd struct {
	*backend.SimpleRestOptionsFactory

	Client *clientv3.Client
	// Prefix begins all keys: "/registry-3".
	Prefix string
}

// NewEtcd returns an empty part of the shared etcd.
func NewEtcd(t testing.TB) *Etcd {
	t.Helper()
	server := embedtest.Shared(t)
	prefix := embedtest.Prefix()
	config := backend.Config{Prefix: prefix, Transport: backend.TransportConfig{InProcess: server}}
	options := backend.NewEtcdOptions(&config)
	options.StorageConfig.CountMetricPollPeriod = 0
	factory, err := backend.NewSimpleRestOptionsFactory(*options, func(resource schema.GroupResource) (runtime.Codec, error) {
		if !scheme.Scheme.IsGroupRegistered(resource.Group) {
			return nil, nil // whoever serves a group that is not built in brings its own
		}
		return scheme.StorageCodec(resource, runtime.ContentTypeProtobuf)
	})
	if err != nil {
		t.Fatal(err)
	}
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	return &Etcd{SimpleRestOptionsFactory: factory, Client: client, Prefix: prefix}
}

// Storages makes the storages of a resource, "", and of its subresources. They end with the test.
func Storages(t testing.TB, resource builtin.Declaration, getter backend.RESTOptionsGetter) map[string]rest.Storage {
	t.Helper()
	storages, err := resource.NewStorages(getter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(storages[""].Destroy)
	return storages
}

// Context is that of a request in a namespace, or in none.
func Context(t testing.TB, namespace string) context.Context {
	return request.WithNamespace(t.Context(), namespace)
}

// Defaulted is obj with the defaults that a handler sets when it decodes a request.
func Defaulted[T runtime.Object](obj T) T {
	scheme.Scheme.Default(obj)
	return obj
}

// Own is obj as a T, decoded for the caller alone.
func Own[T runtime.Object](t testing.TB, obj runtime.Object) T {
	t.Helper()
	own, err := object.Own(t.Context(), obj)
	if err != nil {
		t.Fatal(err)
	}
	return own.(T)
}

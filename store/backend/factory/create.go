package factory

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3"
	"github.com/kx-apiserver/kx/store/transform"
)

var (
	backendByDefault = trace.Because("backend-by-default",
		"the storage backend is not set, which means etcd3",
		"没有指定存储后端，即 etcd3")
	backendNamed = trace.Because("backend-named",
		"the storage backend is {backend:word}",
		"存储后端是 {backend:word}")
)

// Create makes the storage of one resource. newFunc and newListFunc make empty objects and lists of it; resourcePrefix
// begins its keys below the prefix of the configuration, and starts with a slash.
//
// It returns when etcd has been reached, or with an error that says why it could not be.
func Create(c ConfigForResource, newFunc, newListFunc func() runtime.Object, resourcePrefix string) (_ store.Interface, _ DestroyFunc,
	err error) {
	note := trace.Note(c.Notes, steps.StorageFactory, c.GroupResource.String())
	defer note.End(&err)
	if err := checkType(c.Type); err != nil {
		return nil, nil, err
	}
	if c.Type == StorageTypeUnset {
		note.Why(backendByDefault)
	} else {
		note.WhyText(backendNamed, c.Type)
	}
	return newETCD3Storage(c, newFunc, newListFunc, resourcePrefix)
}

// CreateHealthCheck returns a function whose error says why etcd can't be used. It keeps a connection until ctx ends.
func CreateHealthCheck(ctx context.Context, c Config) (func() error, error) {
	if err := checkType(c.Type); err != nil {
		return nil, err
	}
	return newETCD3Check(ctx, c, orDefault(c.HealthcheckTimeout, defaultHealthcheckTimeout)), nil
}

// CreateReadyCheck is CreateHealthCheck with the time that readiness allows. The error of an etcd that refuses writes,
// and can be used otherwise, is ErrNoSpace.
func CreateReadyCheck(ctx context.Context, c Config) (func() error, error) {
	if err := checkType(c.Type); err != nil {
		return nil, err
	}
	return newETCD3Check(ctx, c, orDefault(c.ReadycheckTimeout, defaultReadinessTimeout), (*check).space), nil
}

// Compact removes etcd's history before a revision, 0 for the current one, and returns that revision.
func Compact(ctx context.Context, c Config, revision int64) (int64, error) {
	t, err := c.orOwn().acquire(c.Transport)
	if err != nil {
		return 0, err
	}
	defer t.release()
	return etcd3.CompactNow(ctx, t.client, revision)
}

func checkType(storageType string) error {
	switch storageType {
	case StorageTypeUnset, StorageTypeETCD3:
		return nil
	case storageTypeETCD2:
		return fmt.Errorf("%s is no longer a supported storage backend", storageType)
	default:
		return fmt.Errorf("unknown storage type: %s", storageType)
	}
}

var (
	etcdInProcess = trace.Because("etcd-in-process",
		"etcd runs in this process: no socket lies between",
		"etcd 运行在本进程内：中间没有 socket")
	etcdServers = trace.Because("etcd-servers",
		"etcd is a cluster, reached at {servers} addresses",
		"etcd 是集群，通过 {servers} 个地址访问")
)

func newETCD3Storage(c ConfigForResource, newFunc, newListFunc func() runtime.Object, resourcePrefix string) (_ store.Interface,
	_ DestroyFunc, err error) {
	note := trace.Note(c.Notes, steps.StorageEtcd3, c.Prefix)
	defer note.End(&err)
	if c.Transport.InProcess != nil {
		note.Why(etcdInProcess)
	} else {
		note.Why(etcdServers, int64(len(c.Transport.ServerList)))
	}
	t, err := c.orOwn().acquire(c.Transport)
	if err != nil {
		return nil, nil, fmt.Errorf("storage of %s: %w", c.GroupResource, err)
	}
	transformer := c.Transformer
	if transformer == nil {
		transformer = transform.NewIdentity()
	}
	client := t.newClient()
	s, err := etcd3.New(etcd3.Options{
		Client:         etcd3.NewClient(client),
		Compactor:      t.compactor(c.CompactionInterval),
		Codec:          c.Codec,
		NewFunc:        newFunc,
		Prefix:         c.Prefix,
		ResourcePrefix: resourcePrefix,
		GroupResource:  c.GroupResource,
		Gate:           &t.shared.Gate,
		Metrics:        t.shared.Metrics,
		Forms:          t.shared.forms,
		Leases:         c.LeaseManagerConfig,
		Versioner:      object.APIObjectVersioner{},
		// Unreadable objects have their own error, so that they can be named and deleted.
		Transformer: etcd3.WithCorruptObjErrorHandlingTransformer(transformer),
		Decoder: etcd3.WithCorruptObjErrorHandlingDecoder(
			etcd3.NewDefaultDecoder(c.Codec, object.APIObjectVersioner{})),
	})
	if err != nil {
		_ = client.Close()
		t.release()
		return nil, nil, fmt.Errorf("storage of %s: %w", c.GroupResource, err)
	}
	t.monitor(c.DBMetricPollInterval)
	var once sync.Once
	return etcd3.NewStoreWithUnsafeCorruptObjectDeletion(s, c.GroupResource), func() {
		once.Do(func() {
			s.Close()
			// A client without a connection of its own answers that it is closed.
			_ = client.Close()
			t.release()
		})
	}, nil
}

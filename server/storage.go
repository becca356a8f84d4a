package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/health"
	"github.com/kx-apiserver/kx/server/kxapi"
	"github.com/kx-apiserver/kx/server/reload"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/embedded"
	"github.com/kx-apiserver/kx/store/transform"
)

// etcd is the transport to an etcd, and the state that the storages on it share.
type etcd struct {
	*base
	home      *home
	own       *embedded.Server // nil for a cluster
	transport backend.TransportConfig
	shared    *factory.Pool
}

// start starts an etcd in this process, unless the options name another one.
func (e *etcd) start(ctx context.Context) error {
	e.shared = factory.NewPool(e.metrics.Registry, e.log)
	if err := e.reach(ctx); err != nil {
		return err
	}
	life, end := context.WithCancel(context.Background())
	e.life = life
	e.onClose(func() error { end(); return nil })
	return nil
}

func (e *etcd) reach(ctx context.Context) (err error) {
	o := &e.options.Etcd
	if len(o.Servers) > 0 {
		e.transport = backend.TransportConfig{
			ServerList: o.Servers, CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile,
		}
		return e.connect()
	}
	config := embedded.Config{
		Dir:       e.home.dir.File("etcd"),
		Ephemeral: e.options.Ephemeral,
		Listen:    o.EmbeddedListen,
		TLS:       embedded.TLSFiles{CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile},
		Logger:    e.log,
	}
	if !e.home.within {
		config.Socket = e.home.dir.File(embedded.SocketName)
	}
	e.own, err = embedded.Begin(ctx, config)
	if err != nil {
		return err
	}
	e.onClose(func() error { e.own.Close(); return nil })
	e.transport.InProcess = e.own
	return nil
}

// connect connects to the etcd cluster. After a second it logs that it waits, because a user would wonder.
func (e *etcd) connect() error {
	slow := time.AfterFunc(time.Second, func() { e.log.Info("waiting for etcd", "servers", e.transport.ServerList) })
	defer slow.Stop()
	disconnect, err := e.shared.Connect(e.transport)
	if err == nil {
		e.onClose(func() error { disconnect(); return nil })
	}
	return err
}

// await waits for the election of the etcd in this process, which goes on in the background until then.
func (e *etcd) await(ctx context.Context) error {
	if e.own == nil {
		return nil
	}
	if err := e.own.Ready(ctx); err != nil {
		return err
	}
	go func() {
		if err, ok := <-e.own.Errors(); ok {
			e.fail(fmt.Errorf("the etcd in this process failed: %w", err))
		}
	}()
	return nil
}

// storage is where objects are.
type storage struct {
	*base
	etcd   *etcd
	getter backend.RESTOptionsGetter
	// caches are the watch caches of the storages that getter makes.
	caches cacher.Caches
	// below gives access below the API.
	below *kxapi.Etcd
	// moments record which revision etcd had at which time, and compact compacts its history at once.
	moments *kxapi.Moments
	compact kxapi.CompactFunc
	// health and ready return why etcd can't be used.
	health, ready func() error
	// encryption keeps the encryption of objects as its file says; nil without a file.
	encryption *reload.Keeper
}

// deleteCollectionWorkers limits the concurrent deletions of one DeleteCollection. They run at once because etcd syncs
// concurrent writes by one fsync.
const deleteCollectionWorkers = 8

// start configures how objects are stored.
func (s *storage) start(context.Context) error {
	o := &s.options.Etcd
	config := factory.NewDefaultConfig(o.KeyPrefix(), nil)
	config.Type = o.StorageBackend
	config.Transport, config.Shared = s.etcd.transport, s.etcd.shared
	config.CompactionInterval = o.CompactionInterval
	getter, err := s.newGetter(config)
	if err != nil {
		return err
	}
	transformers := getter.Transformers()
	s.getter = getter
	s.onClose(transformers.Close)
	s.encrypt(transformers)
	if s.health, err = factory.CreateHealthCheck(s.life, *config); err != nil {
		return err
	}
	client, release, err := s.etcd.shared.Client(config.Transport)
	if err != nil {
		return err
	}
	context.AfterFunc(s.life, release)
	s.below = &kxapi.Etcd{
		Live:    admin.NewLive(client, factory.Describe(config.Transport)),
		Decoder: &admin.Decoder{Prefix: o.KeyPrefix(), Encryption: transformers},
	}
	s.moments = kxapi.NewMoments(s.below.Live.Revision)
	s.compact = func(ctx context.Context, revision int64) (int64, error) {
		return factory.Compact(ctx, *config, revision)
	}
	s.ready, err = factory.CreateReadyCheck(s.life, *config)
	return err
}

// newGetter returns what makes the storages of a configuration.
func (s *storage) newGetter(config *factory.Config) (*backend.SimpleRestOptionsFactory, error) {
	o, cache := &s.options.Etcd, &s.options.WatchCache
	etcd := backend.NewEtcdOptions(config)
	etcd.EncryptionProviderConfigFilepath, etcd.EncryptionProviderConfigAutomaticReload = o.EncryptionProviderConfig, o.EncryptionReload
	etcd.DeleteCollectionWorkers = deleteCollectionWorkers
	etcd.EnableWatchCache, etcd.DefaultWatchCacheSize, etcd.WatchCacheSizes = cache.Enabled, cache.DefaultSize, cache.Sizes
	if err := errors.Join(etcd.Validate()...); err != nil {
		return nil, err
	}
	getter, err := backend.NewSimpleRestOptionsFactory(*etcd, func(resource schema.GroupResource) (runtime.Codec, error) {
		if !scheme.Scheme.IsGroupRegistered(resource.Group) {
			return nil, nil // the server of a group that is not built in has its own codec
		}
		return scheme.StorageCodec(resource, o.StorageMediaType)
	})
	if err != nil {
		return nil, err
	}
	getter.EncodeVersioner = func(resource schema.GroupResource) runtime.GroupVersioner {
		return schema.GroupVersions(scheme.Scheme.PrioritizedVersionsForGroup(resource.Group))
	}
	getter.StorageWithCacher = backend.StorageWithCacher(&s.caches, cache.Prefill, s.journeys.Control(), s.log)
	return getter, nil
}

// encrypt makes the keeper of the encryption configuration. When the configuration changes, caches read the objects
// again that they could not decrypt.
func (s *storage) encrypt(transformers *transform.Resources) {
	if transformers == nil {
		return
	}
	go func() {
		for changed := transformers.Changed(); ; {
			select {
			case <-changed:
			case <-s.life.Done():
				return
			}
			changed = transformers.Changed()
			s.caches.Reread()
		}
	}()
	s.encryption = reload.New(reload.Config{
		Source: reload.OneFile(s.options.Etcd.EncryptionProviderConfig), What: "the keys of stored objects",
		Take: func(ctx context.Context, files []reload.File, _ string) error {
			return transformers.Reload(ctx, files[0].Data)
		},
		Metrics: "apiserver_encryption_config_controller", Flag: "--encryption-provider-config", Process: s.journeys.Process(),
		Registry: s.metrics.Registry, Log: s.log,
	}, transformers.Hash())
}

// readiness only warns when etcd's quota is used up: reads still work, and deletions free space.
func (s *storage) readiness() health.Check {
	var full atomic.Bool
	return health.Check{Name: "etcd-readiness", Run: func(context.Context) error {
		err := s.ready()
		now := errors.Is(err, factory.ErrNoSpace)
		switch was := full.Swap(now); {
		case now && !was:
			s.log.Error("writes are refused", "error", err)
		case was && !now:
			s.log.Info("etcd's alarm NOSPACE has ended")
		}
		if now {
			return health.Warning(err.Error())
		}
		return err
	}}
}

package backend

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/backend/factory"
	"github.com/kx-apiserver/kx/store/transform"
)

// EtcdOptions has the server's settings of storage.
type EtcdOptions struct {
	// StorageConfig is shared by all resources, which add their codec and transformer.
	StorageConfig Config
	// EncryptionProviderConfigFilepath names an EncryptionConfiguration; without one nothing is encrypted.
	EncryptionProviderConfigFilepath string
	// EncryptionProviderConfigAutomaticReload says that another configuration may come to count while storages are
	// used.
	EncryptionProviderConfigAutomaticReload bool

	DeleteCollectionWorkers int
	EnableGarbageCollection bool

	// EnableWatchCache puts a cacher in front of every resource's storage.
	EnableWatchCache bool
	// DefaultWatchCacheSize of 0 is the same as no EnableWatchCache.
	DefaultWatchCacheSize int
	// WatchCacheSizes are "resource#size" and "resource.group#size". A size of 0 leaves that resource without a cacher;
	// others say nothing but that it has one, since a cacher sizes itself. Events have none unless they have a size.
	WatchCacheSizes []string
}

// NewEtcdOptions returns the defaults with a storage configuration.
func NewEtcdOptions(config *Config) *EtcdOptions {
	options := &EtcdOptions{
		StorageConfig:           *config,
		DeleteCollectionWorkers: 1,
		EnableGarbageCollection: true,
		EnableWatchCache:        true,
		DefaultWatchCacheSize:   100,
	}
	options.StorageConfig.CountMetricPollPeriod = time.Minute
	return options
}

// Validate returns the errors of the settings, by their flags' names.
func (o *EtcdOptions) Validate() []error {
	var errs []error
	transport := o.StorageConfig.Transport
	if transport.InProcess == nil && len(transport.ServerList) == 0 {
		errs = append(errs, errors.New("--etcd-servers must be specified"))
	}
	if t := o.StorageConfig.Type; t != factory.StorageTypeUnset && t != factory.StorageTypeETCD3 {
		errs = append(errs, fmt.Errorf("--storage-backend invalid, allowed values: %s. If not specified, it will default to 'etcd3'",
			factory.StorageTypeETCD3))
	}
	if (transport.CertFile == "") != (transport.KeyFile == "") {
		errs = append(errs, errors.New("--etcd-certfile and --etcd-keyfile must be specified together"))
	}
	if o.EncryptionProviderConfigAutomaticReload && o.EncryptionProviderConfigFilepath == "" {
		errs = append(errs, errors.New("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config"))
	}
	if _, err := ParseWatchCacheSizes(o.WatchCacheSizes); err != nil {
		errs = append(errs, fmt.Errorf("--watch-cache-sizes: %w", err))
	}
	return errs
}

// ParseWatchCacheSizes reads "resource#size" and "resource.group#size".
func ParseWatchCacheSizes(cacheSizes []string) (map[schema.GroupResource]int, error) {
	sizes := make(map[schema.GroupResource]int, len(cacheSizes))
	for _, c := range cacheSizes {
		name, number, ok := strings.Cut(c, "#")
		if !ok || strings.Contains(number, "#") {
			return nil, fmt.Errorf("invalid value of watch cache size: %s", c)
		}
		size, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("invalid size of watch cache size: %s", c)
		}
		if size < 0 {
			return nil, fmt.Errorf("watch cache size cannot be negative: %s", c)
		}
		sizes[schema.ParseGroupResource(name)] = size
	}
	return sizes, nil
}

// SimpleRestOptionsFactory is the RESTOptionsGetter of a server whose resources share one etcd.
type SimpleRestOptionsFactory struct {
	Options EtcdOptions
	// Codec returns a resource's codec for its storage version. It is nil for a resource that brings its own.
	Codec func(schema.GroupResource) (runtime.Codec, error)
	// EncodeVersioner returns that storage version, nil if it is unknown.
	EncodeVersioner func(schema.GroupResource) runtime.GroupVersioner
	// StorageWithCacher is the decorator for resources with a watch cache.
	StorageWithCacher StorageDecorator

	transformers *transform.Resources
	cacheSizes   map[schema.GroupResource]int
}

// NewSimpleRestOptionsFactory reads the files that the options name, so that errors in them are reported at once.
func NewSimpleRestOptionsFactory(options EtcdOptions, codec func(schema.GroupResource) (runtime.Codec, error)) (*SimpleRestOptionsFactory,
	error) {
	f := &SimpleRestOptionsFactory{Options: options, Codec: codec, StorageWithCacher: StorageWithCacher(nil, false, nil, nil)}
	var err error
	if f.cacheSizes, err = ParseWatchCacheSizes(options.WatchCacheSizes); err != nil {
		return nil, err
	}
	if file := options.EncryptionProviderConfigFilepath; file != "" {
		if f.transformers, err = transform.LoadConfig(file); err != nil {
			return nil, err
		}
		if shared := options.StorageConfig.Shared; shared != nil {
			f.transformers.Measure(shared.Transforms)
		}
		if options.EncryptionProviderConfigAutomaticReload {
			f.transformers.Reloadable()
		}
	}
	return f, nil
}

// Transformers returns the transformers of all resources.
func (f *SimpleRestOptionsFactory) Transformers() *transform.Resources { return f.transformers }

// notesOfStorage is the number of steps in making a storage.
const notesOfStorage = 5

func (f *SimpleRestOptionsFactory) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (_ RESTOptions, err error) {
	notes := trace.NewNotes(trace.StepNote{}, notesOfStorage)
	note := trace.Note(notes, steps.StorageOptions, resource.String())
	defer note.End(&err)
	stored := storedAs(resource)
	config := f.Options.StorageConfig.ForResource(stored)
	config.Notes = notes
	if config.Codec, err = f.Codec(stored); err != nil {
		return RESTOptions{}, fmt.Errorf("unable to find storage destination for %v, due to %w", resource, err)
	}
	if f.EncodeVersioner != nil {
		config.EncodeVersioner = f.EncodeVersioner(stored)
	}
	config.Transformer = f.transformers.ForResource(stored)
	return RESTOptions{
		StorageConfig:           config,
		Decorator:               f.decorator(resource, note),
		EnableGarbageCollection: f.Options.EnableGarbageCollection,
		DeleteCollectionWorkers: f.Options.DeleteCollectionWorkers,
		ResourcePrefix:          ResourcePrefix(resource),
		CountMetricPollPeriod:   f.Options.StorageConfig.CountMetricPollPeriod,
	}, nil
}

var (
	cachedByDefault = trace.Because("cached-by-default",
		"--watch-cache is on: StorageWithCacher",
		"--watch-cache 已打开：StorageWithCacher")
	cachedBySize = trace.Because("cached-by-size",
		"--watch-cache-sizes gives it the size {size}, which is not 0: StorageWithCacher; the cache sizes itself",
		"--watch-cache-sizes 给它的大小是 {size}，不为 0：StorageWithCacher；缓存自行决定大小")
	uncachedForAll = trace.Because("uncached-for-all",
		"--watch-cache=false: UndecoratedStorage, as for every resource",
		"--watch-cache=false：所有资源都用 UndecoratedStorage")
	uncachedByZero = trace.Because("uncached-by-zero",
		"--default-watch-cache-size=0: UndecoratedStorage, as for every resource",
		"--default-watch-cache-size=0：所有资源都用 UndecoratedStorage")
	uncachedBySize = trace.Because("uncached-by-size",
		"--watch-cache-sizes gives it the size 0: UndecoratedStorage",
		"--watch-cache-sizes 给它的大小是 0：UndecoratedStorage")
	uncachedEvents = trace.Because("uncached-events",
		"events have no watch cache unless --watch-cache-sizes gives them one, since they are written far more often "+
			"than read: UndecoratedStorage",
		"事件写得多、读得少，除非 --watch-cache-sizes 指定，否则没有 watch 缓存：UndecoratedStorage")
)

// decorator is the one place that decides whether a resource has a cacher, and says why. Events have none: they are
// many, written far more often than read, and would be kept twice, for two groups.
func (f *SimpleRestOptionsFactory) decorator(resource schema.GroupResource, note trace.StepNote) StorageDecorator {
	size, sized := f.cacheSizes[resource]
	isEvent := storedAs(resource) == schema.GroupResource{Resource: "events"}
	switch {
	case !f.Options.EnableWatchCache:
		note.Why(uncachedForAll)
	case f.Options.DefaultWatchCacheSize == 0:
		note.Why(uncachedByZero)
	case sized && size == 0:
		note.Why(uncachedBySize)
	case isEvent && !sized:
		note.Why(uncachedEvents)
	case sized:
		note.Why(cachedBySize, int64(size))
		return f.StorageWithCacher
	default:
		note.Why(cachedByDefault)
		return f.StorageWithCacher
	}
	return UndecoratedStorage
}

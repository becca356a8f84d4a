package factory

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/etcd3"
	"github.com/kx-apiserver/kx/store/transform"
)

// The storage types that Config.Type can name.
const (
	StorageTypeUnset = ""
	storageTypeETCD2 = "etcd2"
	StorageTypeETCD3 = "etcd3"
)

// The defaults of a Config.
const (
	defaultCompactInterval      = 5 * time.Minute
	defaultDBMetricPollInterval = 30 * time.Second
	defaultHealthcheckTimeout   = 2 * time.Second
	defaultReadinessTimeout     = 2 * time.Second
)

// ClientSource hands out clients of an etcd in this process. Each call makes a client that the caller closes.
type ClientSource interface {
	Client() *clientv3.Client
}

// TransportConfig says how to reach an etcd. Equal values reach the same one.
type TransportConfig struct {
	// ServerList has the URLs of etcd's members.
	ServerList []string
	// KeyFile, CertFile and TrustedCAFile are PEM files. Without any of them, the URLs' scheme decides about TLS.
	KeyFile       string
	CertFile      string
	TrustedCAFile string
	// InProcess is an etcd in this process. It replaces all of the above.
	InProcess ClientSource
}

// Config says where and how objects of all resources are stored.
type Config struct {
	// Type is the storage backend; empty means etcd3.
	Type string
	// Prefix begins all keys, normally "/registry".
	Prefix string
	// Transport says how to reach etcd.
	Transport TransportConfig

	// Codec encodes objects into their storage version and decodes them.
	Codec runtime.Codec
	// EncodeVersioner is the storage version that Codec encodes to.
	EncodeVersioner runtime.GroupVersioner
	// Transformer changes the encoded bytes on their way to and from etcd; nil stores them as they are.
	Transformer transform.Transformer

	// CompactionInterval is the interval of compactions of etcd's history; 0 means never.
	CompactionInterval time.Duration
	// CountMetricPollPeriod is the interval at which the objects of a resource are counted; 0 is never.
	CountMetricPollPeriod time.Duration
	// DBMetricPollInterval is the interval at which etcd reports its size; 0 is never.
	DBMetricPollInterval time.Duration
	// HealthcheckTimeout and ReadycheckTimeout bound a check; 0 is their default.
	HealthcheckTimeout time.Duration
	ReadycheckTimeout  time.Duration

	// LeaseManagerConfig says how objects with a TTL share leases.
	LeaseManagerConfig etcd3.LeaseManagerConfig

	// Shared is used by all storages of a server. With nil, ForResource and the checks make their own.
	Shared *Pool
}

func (config *Config) orOwn() *Pool {
	if config.Shared == nil {
		return NewPool(nil, nil)
	}
	return config.Shared
}

// ConfigForResource says where and how the objects of one resource are stored.
type ConfigForResource struct {
	Config

	GroupResource schema.GroupResource
	// Notes (optional) get the steps by which the storage is made.
	Notes *trace.Notes
}

// ForResource returns a copy of config for one resource.
func (config *Config) ForResource(resource schema.GroupResource) *ConfigForResource {
	c := &ConfigForResource{Config: *config, GroupResource: resource}
	c.Shared = config.orOwn()
	return c
}

// NewDefaultConfig returns a Config with all defaults and no transport.
func NewDefaultConfig(prefix string, codec runtime.Codec) *Config {
	return &Config{
		Prefix:               prefix,
		Codec:                codec,
		CompactionInterval:   defaultCompactInterval,
		DBMetricPollInterval: defaultDBMetricPollInterval,
		HealthcheckTimeout:   defaultHealthcheckTimeout,
		ReadycheckTimeout:    defaultReadinessTimeout,
		LeaseManagerConfig:   etcd3.NewDefaultLeaseManagerConfig(),
		Shared:               NewPool(nil, nil),
	}
}

// DestroyFunc ends a storage and all that was started for it. Only its first call counts.
type DestroyFunc func()

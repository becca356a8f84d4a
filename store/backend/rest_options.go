package backend

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store/backend/factory"
)

// The configuration of a storage, under the names that its callers use.
type (
	Config            = factory.Config
	ConfigForResource = factory.ConfigForResource
	TransportConfig   = factory.TransportConfig
	DestroyFunc       = factory.DestroyFunc
)

// RESTOptions says how the objects of one resource are stored.
type RESTOptions struct {
	StorageConfig *ConfigForResource
	// Decorator makes the storage from StorageConfig.
	Decorator StorageDecorator

	EnableGarbageCollection bool
	// DeleteCollectionWorkers is the number of objects of a collection that are deleted at the same time.
	DeleteCollectionWorkers int
	// ResourcePrefix is the resource's part of the key, without slashes at its ends: "configmaps".
	ResourcePrefix string
	// CountMetricPollPeriod is the interval at which the objects are counted; 0 means never.
	CountMetricPollPeriod time.Duration
}

// GetRESTOptions returns opts for every resource.
func (opts RESTOptions) GetRESTOptions(schema.GroupResource, runtime.Object) (RESTOptions, error) {
	return opts, nil
}

// RESTOptionsGetter says how each resource is stored. example is an object of the resource, or nil.
type RESTOptionsGetter interface {
	GetRESTOptions(resource schema.GroupResource, example runtime.Object) (RESTOptions, error)
}

package garbage

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backend"
)

// target is a resource that is served.
type target struct {
	resource   schema.GroupVersionResource
	prefix     string
	namespaced bool
	storage    rest.Storage
}

// key returns the key of an object, below the common prefix.
func (t *target) key(namespace, name string) string {
	if t.namespaced {
		return t.prefix + "/" + namespace + "/" + name
	}
	return t.prefix + "/" + name
}

// targetsFor is the time for which the storages' answer is cached: a cascade has many objects of few resources.
const targetsFor = time.Second

// targets caches the served resources, by the prefixes of their keys and by the kinds of their objects. mu
// guards all fields.
type targets struct {
	mu       sync.Mutex
	since    time.Time
	byPrefix map[string]*target
	byKind   map[schema.GroupVersionKind]*target
}

// find returns the resource of a key, nil if it is not served.
func (t *targets) find(storages work.Storages, key string) *target {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renew(storages)
	path, _, _ := admin.SplitKey("", "/"+key)
	return t.byPrefix[path]
}

// ofKind returns the resource of a kind, nil if it is not served.
func (t *targets) ofKind(storages work.Storages, kind schema.GroupVersionKind) *target {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renew(storages)
	return t.byKind[kind]
}

func (t *targets) renew(storages work.Storages) {
	if time.Since(t.since) < targetsFor {
		return
	}
	t.since = time.Now()
	t.byPrefix, t.byKind = map[string]*target{}, map[schema.GroupVersionKind]*target{}
	for resource, storage := range storages() {
		if strings.Contains(resource.Resource, "/") {
			continue
		}
		scoper, ok := storage.(rest.Scoper)
		if _, isDeleter := storage.(rest.GracefulDeleter); !ok || !isDeleter {
			continue
		}
		found := &target{
			resource: resource, prefix: backend.ResourcePrefix(resource.GroupResource()), namespaced: scoper.NamespaceScoped(),
			storage: storage,
		}
		known := t.byPrefix[found.prefix]
		if known == nil || version.CompareKubeAwareVersionStrings(resource.Version, known.resource.Version) > 0 {
			t.byPrefix[found.prefix] = found
		}
		for _, kind := range endpoint.KindsOf(resource.GroupVersion(), storage, scheme.Scheme) {
			t.byKind[kind] = found
		}
	}
}

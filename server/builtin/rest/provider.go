package rest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/all"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/store/backend"
)

// RESTStorageProvider makes the storages of a group.
type RESTStorageProvider struct {
	Group builtin.Group
}

var _ endpoint.RESTStorageProvider = RESTStorageProvider{}

// Providers returns a provider for each group that has resources, in the order of discovery.
func Providers(n all.Needs) []endpoint.RESTStorageProvider {
	var providers []endpoint.RESTStorageProvider
	for _, group := range all.Groups(n) {
		if len(group.Resources) > 0 {
			providers = append(providers, RESTStorageProvider{group})
		}
	}
	return providers
}

// GroupName returns the name of the group, which is empty for the core group.
func (p RESTStorageProvider) GroupName() string { return p.Group.Name() }

// NewRESTStorage makes the storages of the resources that source enables.
func (p RESTStorageProvider) NewRESTStorage(source endpoint.APIResourceConfigSource,
	getter backend.RESTOptionsGetter) (endpoint.APIGroupInfo, error) {
	group := endpoint.NewDefaultAPIGroupInfo(p.GroupName(), scheme.Scheme)
	return group, storages(&group, p.Group.Resources, source, getter)
}

// storages makes the storages of those resources of a group that source enables. If one fails, it destroys those made
// before.
func storages(group *endpoint.APIGroupInfo, resources []builtin.Declaration, source endpoint.APIResourceConfigSource,
	getter backend.RESTOptionsGetter) error {
	var made []rest.Storage
	for _, r := range resources {
		served := map[schema.GroupVersion][]string{}
		for version, subresources := range r.Versions() {
			if source.ResourceEnabled(version.WithResource(r.Name())) {
				served[version] = subresources
			}
		}
		if len(served) == 0 {
			continue
		}
		storages, err := r.NewStorages(getter)
		if err != nil {
			for _, m := range made {
				m.Destroy()
			}
			return fmt.Errorf("make the storage of %s: %w", r.Name(), err)
		}
		made = append(made, storages[""])
		for version, subresources := range served {
			put(group.VersionedResourcesStorageMap, version.Version, r.Name(), storages, subresources)
		}
	}
	return nil
}

// put adds a resource and its subresources to a version.
func put(group map[string]map[string]rest.Storage, version, name string, storages map[string]rest.Storage, subresources []string) {
	if group[version] == nil {
		group[version] = map[string]rest.Storage{}
	}
	group[version][name] = storages[""]
	for _, sub := range subresources {
		group[version][name+"/"+sub] = storages[sub]
	}
}

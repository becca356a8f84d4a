package rest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/store/backend"
)

// Own makes the storages of a group that belongs to another program. The program declares its resources as built-in
// ones are declared. Their objects are in the server's etcd, as JSON.
type Own struct {
	Group builtin.Group
}

var _ endpoint.RESTStorageProvider = Own{}

// GroupName returns the name of the group.
func (o Own) GroupName() string { return o.Group.Name() }

// NewRESTStorage makes the storages of the resources that source enables.
func (o Own) NewRESTStorage(source endpoint.APIResourceConfigSource, getter backend.RESTOptionsGetter) (endpoint.APIGroupInfo, error) {
	s := runtime.NewScheme()
	if err := o.Group.AddToScheme(s); err != nil {
		return endpoint.APIGroupInfo{}, err
	}
	codecs := serializer.NewCodecFactory(s, serializer.WithStreamingCollectionEncodingToJSON())
	stored := map[schema.GroupResource]schema.GroupVersion{}
	for _, r := range o.Group.Resources {
		for version := range r.Versions() {
			stored[version.WithResource(r.Name()).GroupResource()] = r.StoredIn()
		}
	}
	info := endpoint.NewDefaultAPIGroupInfo(o.GroupName(), s)
	info.NegotiatedSerializer = endpoint.TextualSerializer(codecs)
	return info, storages(&info, o.Group.Resources, source, ownOptions{getter, s, codecs, stored})
}

// ownOptions replaces the codec of storage options by one of the group's own scheme.
type ownOptions struct {
	backend.RESTOptionsGetter
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	stored map[schema.GroupResource]schema.GroupVersion
}

func (o ownOptions) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (backend.RESTOptions, error) {
	options, err := o.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return options, err
	}
	version, ok := o.stored[resource]
	if !ok {
		return options, fmt.Errorf("%s is not a resource of the group", resource)
	}
	options.StorageConfig.EncodeVersioner = version
	options.StorageConfig.Codec, err = scheme.NewStorageCodec(o.scheme, o.codecs, version, runtime.ContentTypeJSON)
	return options, err
}

package endpoint

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store/backend"
)

// Group is a [RESTStorageProvider] of storages that are there already, and of Go types without generated code. It is for the
// resources of other programs (docs/own-storage.md).
type Group struct {
	GroupVersion schema.GroupVersion
	// Types are the Go types that the storages take and give, those of lists too: pointers to structs. Their names are the kinds.
	Types []runtime.Object
	// Storages has a storage for every "resource" and "resource/subresource". The server destroys them when it stops.
	Storages map[string]rest.Storage
}

// GroupName is that of the group version.
func (g Group) GroupName() string { return g.GroupVersion.Group }

// NewRESTStorage makes the group, with all its storages whatever source enables. They are not kept in etcd, unless they do so
// themselves.
func (g Group) NewRESTStorage(APIResourceConfigSource, backend.RESTOptionsGetter) (APIGroupInfo, error) {
	if g.GroupVersion.Group == "" || g.GroupVersion.Version == "" {
		return APIGroupInfo{}, fmt.Errorf("%q is not a group and a version", g.GroupVersion)
	}
	if len(g.Storages) == 0 {
		return APIGroupInfo{}, errors.New("the group has no storages")
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(g.GroupVersion, g.Types...)
	metav1.AddToGroupVersion(scheme, g.GroupVersion)
	for name, storage := range g.Storages {
		lister, ok := storage.(rest.Lister)
		if !ok {
			continue
		}
		if _, _, err := scheme.ObjectKinds(lister.NewList()); err != nil {
			return APIGroupInfo{}, fmt.Errorf("the list of %s: %w", name, err)
		}
	}
	info := NewDefaultAPIGroupInfo(g.GroupVersion.Group, scheme)
	info.NegotiatedSerializer = TextualSerializer(serializer.NewCodecFactory(scheme, serializer.WithStreamingCollectionEncodingToJSON()))
	info.VersionedResourcesStorageMap[g.GroupVersion.Version] = g.Storages
	return info, nil
}

// TextualSerializer offers only the media types that are text, for types that have no protobuf form.
func TextualSerializer(codecs serializer.CodecFactory) runtime.NegotiatedSerializer {
	binary := func(info runtime.SerializerInfo) bool { return !info.EncodesAsText }
	return textualSerializer{codecs, slices.DeleteFunc(slices.Clone(codecs.SupportedMediaTypes()), binary)}
}

// textualSerializer offers only some of the media types of a codec factory.
type textualSerializer struct {
	runtime.NegotiatedSerializer
	types []runtime.SerializerInfo
}

func (s textualSerializer) SupportedMediaTypes() []runtime.SerializerInfo { return s.types }

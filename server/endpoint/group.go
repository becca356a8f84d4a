package endpoint

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store/backend"
)

// Group is a [RESTStorageProvider] of existing storages, for Go types without generated code. Other programs use it for
// their resources (docs/own-storage.md).
type Group struct {
	GroupVersion schema.GroupVersion
	// Storages has a storage for every "resource" and "resource/subresource". New of each must return a pointer to a
	// struct. The struct's name is the kind; the list type of a Moon is MoonList. The server destroys the storages when
	// it stops.
	Storages map[string]rest.Storage
	// Types (optional) are further types that clients send or get, such as options of a connection.
	Types []runtime.Object
}

// GroupName returns the name of the group.
func (g Group) GroupName() string { return g.GroupVersion.Group }

// NewRESTStorage makes the group with all its storages. It ignores source and getter: a group of another program is
// always enabled, and its storages choose themselves where they keep objects.
func (g Group) NewRESTStorage(APIResourceConfigSource, backend.RESTOptionsGetter) (APIGroupInfo, error) {
	if g.GroupVersion.Group == "" || g.GroupVersion.Version == "" {
		return APIGroupInfo{}, fmt.Errorf("%q is not a group and a version", g.GroupVersion)
	}
	if len(g.Storages) == 0 {
		return APIGroupInfo{}, errors.New("the group has no storages")
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, g.GroupVersion)
	scheme.AddKnownTypes(g.GroupVersion, g.Types...)
	for name, storage := range g.Storages {
		if err := g.addKinds(scheme, storage); err != nil {
			return APIGroupInfo{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	info := NewDefaultAPIGroupInfo(g.GroupVersion.Group, scheme)
	info.NegotiatedSerializer = TextualSerializer(serializer.NewCodecFactory(scheme, serializer.WithStreamingCollectionEncodingToJSON()))
	info.VersionedResourcesStorageMap[g.GroupVersion.Version] = g.Storages
	return info, nil
}

// addKinds registers the types of a storage.
func (g Group) addKinds(scheme *runtime.Scheme, storage rest.Storage) error {
	obj := storage.New()
	t := reflect.TypeOf(obj)
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("its New makes a %v, not a pointer to a struct", t)
	}
	if provider, ok := storage.(rest.GroupVersionKindProvider); ok {
		scheme.AddKnownTypeWithName(provider.GroupVersionKind(g.GroupVersion), obj)
		return nil
	}
	kind := t.Elem().Name()
	scheme.AddKnownTypeWithName(g.GroupVersion.WithKind(kind), obj)
	if lister, ok := storage.(rest.Lister); ok {
		scheme.AddKnownTypeWithName(g.GroupVersion.WithKind(kind+"List"), lister.NewList())
	}
	return nil
}

// TextualSerializer offers only the textual media types, for types that have no protobuf form.
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

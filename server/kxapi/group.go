package kxapi

import (
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/store/cacher"
)

var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(s))
	utilruntime.Must(s.AddFieldLabelConversionFunc(v1alpha1.SchemeGroupVersion.WithKind("Journey"),
		func(label, value string) (string, string, error) {
			if _, ok := selectable[label]; !ok {
				return "", "", fmt.Errorf("field label not supported: %s", label)
			}
			return label, value, nil
		}))
	selectBy(s, "Cache", cacheFields(&v1alpha1.Cache{}))
	selectBy(s, "Key", keyFields(&v1alpha1.Key{}))
	selectBy(s, "Source", sourceFields(&v1alpha1.Source{}))
	selectBy(s, "Structure", structureFields(&v1alpha1.Structure{}))
	return s
}

// selectBy lets field selectors ask about the fields of a kind.
func selectBy(s *runtime.Scheme, kind string, known fields.Set) {
	utilruntime.Must(s.AddFieldLabelConversionFunc(v1alpha1.SchemeGroupVersion.WithKind(kind),
		func(label, value string) (string, string, error) {
			if !known.Has(label) {
				return "", "", fmt.Errorf("field label not supported: %s", label)
			}
			return label, value, nil
		}))
}

// Config is what the group shows of a server.
type Config struct {
	Journeys *trace.Recorder
	Caches   *cacher.Caches
	// Allow says how far the server's requests may be interfered with.
	Allow Allow
	// Etcd is what lies below the API.
	Etcd *Etcd
	// Moments are when etcd had which revision.
	Moments *Moments
	// Compact compacts etcd's history. See [etcd3.CompactNow].
	Compact CompactFunc
	// Servers are those of the chain that the server is, in the order in which they are asked.
	Servers func() []Server
	// Source is what the server was built of: core, server and store.
	Source fs.FS
}

// keys is what all keys in etcd begin with.
func (c *Config) keys() string {
	if c.Etcd == nil {
		return ""
	}
	return c.Etcd.Decoder.Prefix
}

// NewAPIGroupInfo is the group.
func NewAPIGroupInfo(c Config) endpoint.APIGroupInfo {
	// The types have no protobuf form.
	codecs := serializer.NewCodecFactory(scheme)
	var textual []runtime.SerializerInfo
	for _, info := range codecs.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeJSON || info.MediaType == runtime.ContentTypeYAML {
			textual = append(textual, info)
		}
	}
	journeys := NewJourneyREST(c.Journeys)
	breakpoints := NewBreakpointREST(c.Journeys.Control(), c.Allow.Breakpoints)
	return endpoint.APIGroupInfo{
		PrioritizedVersions: []schema.GroupVersion{v1alpha1.SchemeGroupVersion},
		VersionedResourcesStorageMap: map[string]map[string]rest.Storage{
			v1alpha1.SchemeGroupVersion.Version: {
				"journeys":      journeys,
				"journeys/step": &CommandREST{journeys: journeys, allow: c.Allow, tend: breakpoints.tend},
				"breakpoints":   breakpoints,
				"faults":        NewFaultREST(c.Journeys.Control(), c.Allow.Faults),
				"compactions":   &CompactionREST{compact: c.Compact, allowed: c.Allow.Faults},
				"caches":        NewCacheREST(c.Caches, c.Journeys),
				"caches/check":  &CacheCheckREST{c.Caches},
				"caches/object": &CachedObjectREST{c.Caches},
				"keys":          NewKeyREST(c.Etcd),
				"keys/history":  &KeyHistoryREST{c.Etcd, c.Journeys},
				"moments":       NewMomentREST(c.Moments),
				"sources":       NewSourceREST(c.Source),
				"structure":     NewStructureREST(c.Servers, c.Caches, c.Source, c.keys()),
			},
		},
		Scheme:               scheme,
		NegotiatedSerializer: textualSerializer{codecs, textual},
	}
}

// textualSerializer offers only some of the media types of a codec factory.
type textualSerializer struct {
	runtime.NegotiatedSerializer
	types []runtime.SerializerInfo
}

func (s textualSerializer) SupportedMediaTypes() []runtime.SerializerInfo { return s.types }

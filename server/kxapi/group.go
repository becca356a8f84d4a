package kxapi

import (
	"io/fs"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/cacher"
)

// Config holds the parts of the server that the group shows.
type Config struct {
	Journeys *trace.Recorder
	// Reasons lists the reasons that filters can ask for.
	Reasons trace.Catalogue
	Caches  *cacher.Caches
	Allow   options.Allow
	Etcd    *Etcd
	Moments *Moments
	// Compact compacts etcd's history. See [etcd3.CompactNow].
	Compact CompactFunc
	Rewinds Rewinds
	// Servers returns the servers of the chain in their order.
	Servers func() []Server
	// Controllers (optional) returns the server's controllers, nil before they are started.
	Controllers func() *controller.Controllers
	// Authorizer answers access reviews.
	Authorizer *authz.Authorizer
	// Fair is true with priority and fairness.
	Fair bool
	// Source has the files from which the server was built: core, server and store.
	Source fs.FS
}

// prefix begins all keys in etcd.
func (c *Config) prefix() string {
	if c.Etcd == nil {
		return ""
	}
	return c.Etcd.Decoder.Prefix
}

// NewAPIGroupInfo returns the group of a server.
func NewAPIGroupInfo(c Config) endpoint.APIGroupInfo {
	parser := parser{c.Journeys, c.Reasons.Names}
	journeys := newJourneys(parser, c.Servers, c.Source)
	recordings := newRecordings(parser, c.Allow)
	breakpoints, faults := newBreakpoints(parser, recordings), newFaults(parser, recordings)
	recordings.rules.ended = func() { // what they allowed is over
		if recordings.refuse("breakpoints", v1alpha1.AllowBreakpoints) != nil {
			breakpoints.clear()
		}
		if recordings.refuse("faults", v1alpha1.AllowFaults) != nil {
			faults.clear()
		}
	}
	caches := &caches{c.Caches, c.Journeys}
	keys := &keys{c.Etcd, c.Journeys}
	snapshots := newSnapshots(c.Etcd, c.Rewinds)
	storages := map[string]rest.Storage{
		"journeys":         journeys.resource().storage(),
		"journeys/step":    &CommandREST{journeys: journeys, allow: recordings, tend: breakpoints.tend},
		"breakpoints":      breakpoints,
		"recordings":       recordings,
		"faults":           faults,
		"compactions":      &CompactionREST{compact: c.Compact, allow: recordings, snapshots: snapshots},
		"accessreviews":    &AccessREST{authorizer: c.Authorizer},
		"snapshots":        snapshots.storage(),
		"caches":           caches.resource().storage(),
		"caches/check":     caches.checks().storage(),
		"caches/object":    caches.objects().storage(),
		"keys":             keys.resource().storage(),
		"keys/history":     keys.histories().storage(),
		"snapshots/rewind": &RewindREST{snapshots},
		"moments":          c.Moments.resource().storage(),
		"sources":          newSources(c.Source).resource().storage(),
		"structure":        newStructure(c.Servers, c.Controllers, c.Caches, c.Source, c.prefix(), c.Fair).resource().storage(),
	}
	scheme := newScheme(storages)
	return endpoint.APIGroupInfo{
		PrioritizedVersions:          []schema.GroupVersion{v1alpha1.SchemeGroupVersion},
		VersionedResourcesStorageMap: map[string]map[string]rest.Storage{v1alpha1.SchemeGroupVersion.Version: storages},
		Scheme:                       scheme,
		NegotiatedSerializer:         endpoint.TextualSerializer(serializer.NewCodecFactory(scheme)),
	}
}

func newScheme(storages map[string]rest.Storage) *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(s))
	for _, storage := range storages {
		if made, ok := storage.(declaration); ok {
			made.addFields(s)
		}
	}
	return s
}

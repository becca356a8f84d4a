package endpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
	"github.com/kx-apiserver/kx/server/metrics"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/store/backend"
)

const (
	// DefaultLegacyAPIPrefix begins the paths of the group without a name.
	DefaultLegacyAPIPrefix = "/api"
	// APIGroupPrefix begins the paths of all other groups.
	APIGroupPrefix = "/apis"
)

// APIGroupInfo describes an API group to install.
type APIGroupInfo struct {
	// PrioritizedVersions are the group's versions, the preferred one first.
	PrioritizedVersions []schema.GroupVersion
	// VersionedResourcesStorageMap holds, for each version, a storage for every "resource" and "resource/subresource".
	// A version without storages is not served.
	VersionedResourcesStorageMap map[string]map[string]rest.Storage

	Scheme               *runtime.Scheme
	NegotiatedSerializer runtime.NegotiatedSerializer
}

// NewDefaultAPIGroupInfo returns a group of scheme without storages. Its lists are encoded item by item.
func NewDefaultAPIGroupInfo(group string, scheme *runtime.Scheme) APIGroupInfo {
	return APIGroupInfo{
		PrioritizedVersions:          scheme.PrioritizedVersionsForGroup(group),
		VersionedResourcesStorageMap: map[string]map[string]rest.Storage{},
		Scheme:                       scheme,
		NegotiatedSerializer: serializer.NewCodecFactory(scheme,
			serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf()),
	}
}

// APIResourceConfigSource decides which resources are served.
type APIResourceConfigSource interface {
	ResourceEnabled(resource schema.GroupVersionResource) bool
	AnyResourceForGroupEnabled(group string) bool
}

// RESTStorageProvider makes the storages of an API group.
type RESTStorageProvider interface {
	GroupName() string
	// NewRESTStorage makes the storages that source enables. It is not called if source enables none.
	NewRESTStorage(source APIResourceConfigSource, getter backend.RESTOptionsGetter) (APIGroupInfo, error)
}

// GenericAPIServer serves API groups.
type GenericAPIServer struct {
	Router    *Router
	Discovery *discovery.Manager
	OpenAPI   *openapi.Service

	Authorizer authorizer.UnconditionalAuthorizer
	// Admit may be nil.
	Admit                      admission.Interface
	EquivalentResourceRegistry runtime.EquivalentResourceRegistry
	// Metrics (optional) count watches.
	Metrics *metrics.Metrics
	// Pieces (optional) keep compressed parts of lists.
	Pieces *responsewriters.Pieces

	MinRequestTimeout   time.Duration
	MaxRequestBodyBytes int64
	// MaxObjectFields limits the fields and list items of an object; 0 is no limit.
	MaxObjectFields int

	// mu guards storages, scopes and installed.
	mu       sync.Mutex
	storages map[schema.GroupVersionResource]rest.Storage
	scopes   map[schema.GroupVersionResource]*handler.RequestScope
	// installed holds the records in the order of installation.
	installed []Installation
	// notes are the steps that many resources share. Only the goroutine that installs writes them.
	notes trace.Notes
}

var groupsEnabled = trace.Because("groups-enabled",
	"{enabled} of {known} groups have resources that --runtime-config leaves on",
	"{known} 个组中有 {enabled} 个组的资源没有被 --runtime-config 关闭")

// InstallAPIs installs the providers' groups that source enables.
func (s *GenericAPIServer) InstallAPIs(source APIResourceConfigSource, getter backend.RESTOptionsGetter,
	providers ...RESTStorageProvider) (err error) {
	note := trace.Note(&s.notes, steps.InstallAPIs, "")
	defer note.End(&err)
	var groups []*APIGroupInfo
	enabled := int64(0)
	for _, provider := range providers {
		name := provider.GroupName()
		if !source.AnyResourceForGroupEnabled(name) {
			continue
		}
		enabled++
		note.Why(groupsEnabled, enabled, int64(len(providers)))
		group, err := s.storagesOf(provider, source, getter)
		if err != nil {
			return fmt.Errorf("problem initializing API group %q: %w", name, err)
		}
		if len(group.VersionedResourcesStorageMap) == 0 {
			continue
		}
		if name != "" {
			groups = append(groups, &group)
			continue
		}
		if err := s.InstallLegacyAPIGroup(DefaultLegacyAPIPrefix, &group); err != nil {
			return fmt.Errorf("error in registering legacy API: %w", err)
		}
	}
	return s.InstallAPIGroups(groups...)
}

var storagesOfGroup = trace.Because("storages-of-group",
	"storages made for {resources} resources and subresources, all versions counted",
	"为 {resources} 个资源和子资源创建了存储，各版本分别计数")

// storagesOf calls a provider to make its storages, and puts their notes below its own step.
func (s *GenericAPIServer) storagesOf(provider RESTStorageProvider, source APIResourceConfigSource,
	getter backend.RESTOptionsGetter) (group APIGroupInfo, err error) {
	note := trace.Note(&s.notes, steps.InstallProvider, provider.GroupName())
	defer note.End(&err)
	group, err = provider.NewRESTStorage(source, getter)
	count := 0
	for _, storages := range group.VersionedResourcesStorageMap {
		count += len(storages)
		for _, storage := range storages {
			if made := madeBy(storage); made != nil {
				made[0].SetCaller(note)
			}
		}
	}
	note.Why(storagesOfGroup, int64(count))
	return group, err
}

// InstallLegacyAPIGroup installs the group without a name. From then on the server owns the storages.
func (s *GenericAPIServer) InstallLegacyAPIGroup(apiPrefix string, group *APIGroupInfo) (err error) {
	note := trace.Note(&s.notes, steps.InstallLegacy, apiPrefix)
	defer note.End(&err)
	if apiPrefix != DefaultLegacyAPIPrefix {
		return fmt.Errorf("%q is not in the allowed legacy API prefixes: [%s]", apiPrefix, DefaultLegacyAPIPrefix)
	}
	return s.installAPIResources(group)
}

// InstallAPIGroup installs one group with a name.
func (s *GenericAPIServer) InstallAPIGroup(group *APIGroupInfo) error {
	return s.InstallAPIGroups(group)
}

// InstallAPIGroups installs groups with names. From then on the server owns the storages.
func (s *GenericAPIServer) InstallAPIGroups(groups ...*APIGroupInfo) (err error) {
	note := trace.Note(&s.notes, steps.InstallGroups, APIGroupPrefix)
	defer note.End(&err)
	for _, group := range groups {
		if len(group.PrioritizedVersions) == 0 {
			return fmt.Errorf("no version priority set for the group with %v", group.VersionedResourcesStorageMap)
		}
		for _, gv := range group.PrioritizedVersions {
			if gv.Group == "" || gv.Version == "" {
				return fmt.Errorf("cannot register %q below %s: it needs a group and a version", gv, APIGroupPrefix)
			}
		}
	}
	for _, group := range groups {
		if err := s.installAPIResources(group); err != nil {
			return fmt.Errorf("unable to install api resources: %w", err)
		}
	}
	return nil
}

// installAPIResources installs the versions of a group that have storages.
func (s *GenericAPIServer) installAPIResources(group *APIGroupInfo) (err error) {
	note := trace.Note(&s.notes, steps.InstallResources, group.PrioritizedVersions[0].Group)
	defer note.End(&err)
	for _, gv := range group.PrioritizedVersions {
		storages := group.VersionedResourcesStorageMap[gv.Version]
		if len(storages) == 0 {
			continue
		}
		if s.serves(gv) {
			return fmt.Errorf("%s is installed already", gv)
		}
		resources, installed, err := s.getAPIGroupVersion(group, gv).InstallREST(s.Router)
		if err != nil {
			return fmt.Errorf("unable to setup API %s: %w", gv, err)
		}
		s.adopt(gv, storages, installed)
		listed := make([]metav1.APIResource, 0, len(resources))
		for _, r := range resources {
			listed = append(listed, r.APIResource)
		}
		s.Discovery.SetGroupVersion(gv, listed)
		s.OpenAPI.InstallGroupVersion(gv, resources)
	}
	return nil
}

func (s *GenericAPIServer) getAPIGroupVersion(group *APIGroupInfo, gv schema.GroupVersion) *APIGroupVersion {
	return &APIGroupVersion{
		GroupVersion:               gv,
		Storage:                    group.VersionedResourcesStorageMap[gv.Version],
		Serializer:                 group.NegotiatedSerializer,
		ParameterCodec:             runtime.NewParameterCodec(group.Scheme),
		Typer:                      group.Scheme,
		Creater:                    group.Scheme,
		Convertor:                  group.Scheme,
		UnsafeConvertor:            runtime.UnsafeObjectConvertor(group.Scheme),
		Defaulter:                  group.Scheme,
		EquivalentResourceRegistry: s.EquivalentResourceRegistry,
		Notes:                      &s.notes,
		Authorizer:                 s.Authorizer,
		Admit:                      s.Admit,
		Metrics:                    s.Metrics,
		Pieces:                     s.Pieces,
		MinRequestTimeout:          s.MinRequestTimeout,
		MaxRequestBodyBytes:        s.MaxRequestBodyBytes,
		MaxObjectFields:            s.MaxObjectFields,
	}
}

// serves reports whether a group version is installed.
func (s *GenericAPIServer) serves(gv schema.GroupVersion) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for gvr := range s.storages {
		if gvr.GroupVersion() == gv {
			return true
		}
	}
	return false
}

func (s *GenericAPIServer) adopt(gv schema.GroupVersion, storages map[string]rest.Storage, installed []Installation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installed = append(s.installed, installed...)
	if s.storages == nil {
		s.storages, s.scopes = map[schema.GroupVersionResource]rest.Storage{}, map[schema.GroupVersionResource]*handler.RequestScope{}
	}
	for i := range installed {
		at := installed[i].Resource
		if sub := installed[i].Subresource; sub != "" {
			at.Resource += "/" + sub
		}
		s.scopes[at] = installed[i].scope
	}
	for name, storage := range storages {
		s.storages[gv.WithResource(name)] = storage
	}
}

// Storages returns the installed storages.
func (s *GenericAPIServer) Storages() map[schema.GroupVersionResource]rest.Storage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.storages)
}

// Storage returns an installed storage, nil if there is none.
func (s *GenericAPIServer) Storage(resource schema.GroupVersionResource) rest.Storage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storages[resource]
}

// Scope returns the request scope of an installed resource, or of "resource/subresource"; nil if it is not installed.
func (s *GenericAPIServer) Scope(resource schema.GroupVersionResource) *handler.RequestScope {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scopes[resource]
}

// Installations returns the records of all installations, in order.
func (s *GenericAPIServer) Installations() []Installation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.installed)
}

// ReadinessCheck names the storages that can't serve yet, and why.
func (s *GenericAPIServer) ReadinessCheck() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failures []error
	for gvr, storage := range s.storages {
		if checker, ok := storage.(rest.StorageWithReadiness); ok {
			if err := checker.ReadinessCheck(); err != nil {
				failures = append(failures, fmt.Errorf("storage of %s is not ready: %w", gvr.GroupResource(), err))
			}
		}
	}
	return errors.Join(failures...)
}

// Destroy releases the storages' resources.
func (s *GenericAPIServer) Destroy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, storage := range s.storages {
		storage.Destroy()
	}
	s.storages, s.scopes, s.installed = nil, nil, nil
}

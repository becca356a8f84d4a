package endpoint

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/deprecation"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/metrics"
	"github.com/kx-apiserver/kx/server/openapi"
)

// APIInstaller makes routes from the storages of a group version.
type APIInstaller struct {
	group *APIGroupVersion
	note  trace.StepNote
	paths map[resourceKey]*paths
	// installed records the installation of each storage.
	installed []Installation
}

// Install registers all storages, in the order of their names.
func (a *APIInstaller) Install() ([]openapi.Resource, error) {
	var resources []openapi.Resource
	var failures []error
	for _, path := range slices.Sorted(maps.Keys(a.group.Storage)) {
		resource, err := a.registerResourceHandlers(path, a.group.Storage[path])
		if err != nil {
			failures = append(failures, fmt.Errorf("error in registering resource: %s, %w", path, err))
			continue
		}
		resources = append(resources, *resource)
	}
	return resources, errors.Join(failures...)
}

var routesMade = trace.Because("routes-made",
	"{routes} routes; verbs without one: {missing}",
	"{routes} 条路由；没有路由的动词：{missing}")

// registerResourceHandlers adds the routes that a storage supports, and returns its description. path is "resource" or
// "resource/subresource".
func (a *APIInstaller) registerResourceHandlers(path string, storage rest.Storage) (_ *openapi.Resource, err error) {
	actions := actionsOf(storage)
	notes := trace.NewNotes(a.note, 1+len(actions))
	note := trace.Note(notes, steps.InstallHandlers, path)
	defer note.End(&err)
	resource, subresource, _ := strings.Cut(path, "/")
	if resource == "" || strings.Contains(subresource, "/") {
		return nil, fmt.Errorf("%q is not a resource or a resource/subresource", path)
	}
	namespaced, err := a.namespaced(resource)
	if err != nil {
		return nil, err
	}
	scope, err := a.scopeOf(resource, subresource, storage)
	if err != nil {
		return nil, err
	}
	deprecated, err := a.deprecation(scope.Kind)
	if err != nil {
		return nil, err
	}
	p := &paths{namespaced: namespaced}
	installed := Installation{Resource: scope.Resource, Subresource: subresource, Kind: scope.Kind, Storage: storage, notes: notes,
		scope: scope}
	verbs := map[string]bool{}
	for _, action := range actions {
		if lacking := action.missing(storage, notes); lacking != "" {
			installed.leaveOut(action, lacking)
			continue
		}
		h := action.handler(storage, scope, a.group)
		if action.verb != "" {
			verbs[action.verb] = true
		}
		installed.route(action, namespaced, h)
		h = withWarning(h, deprecated, a.group.Metrics)
		for _, at := range action.places(subresource) {
			p.add(at, action.method, h)
		}
	}
	note.Why(routesMade, int64(len(installed.Routes)), int64(len(installed.Absent)))
	a.paths[resourceKey{a.group.GroupVersion, resource, subresource}] = p
	a.group.EquivalentResourceRegistry.RegisterKindFor(scope.Resource, subresource, scope.Kind)
	described, err := a.describe(path, storage, scope, namespaced, slices.Sorted(maps.Keys(verbs)))
	if err != nil {
		return nil, err
	}
	installed.Described = described.APIResource
	installed.StoredAs, err = a.storedAs(storage)
	a.installed = append(a.installed, installed)
	return described, err
}

// namespaced reports whether the resource is namespaced. A subresource is if its resource is.
func (a *APIInstaller) namespaced(resource string) (bool, error) {
	storage, ok := a.group.Storage[resource]
	if !ok {
		return false, fmt.Errorf("missing parent storage: %q", resource)
	}
	scoper, ok := storage.(rest.Scoper)
	if !ok {
		return false, fmt.Errorf("%q must implement Scoper", resource)
	}
	return scoper.NamespaceScoped(), nil
}

// scopeOf makes the scope of the resource's handlers.
func (a *APIInstaller) scopeOf(resource, subresource string, storage rest.Storage) (*handler.RequestScope, error) {
	kind, err := GetResourceKind(a.group.GroupVersion, storage, a.group.Typer)
	if err != nil {
		return nil, err
	}
	hub, err := hubKind(storage, a.group.Typer)
	if err != nil {
		return nil, err
	}
	table, isTable := storage.(rest.TableConvertor)
	if _, isLister := storage.(rest.Lister); isLister && !isTable {
		return nil, fmt.Errorf("%q must implement TableConvertor", resource)
	}
	acceptor, _ := storage.(handler.GroupVersionAcceptor)
	scope := &handler.RequestScope{
		Namer:           handler.ContextBasedNaming{},
		Serializer:      a.group.Serializer,
		ParameterCodec:  a.group.ParameterCodec,
		Creater:         a.group.Creater,
		Convertor:       a.group.Convertor,
		Defaulter:       a.group.Defaulter,
		Typer:           a.group.Typer,
		UnsafeConvertor: a.group.UnsafeConvertor,

		Authorizer:               a.group.Authorizer,
		Admit:                    a.group.Admit,
		EquivalentResourceMapper: a.group.EquivalentResourceRegistry,
		TableConvertor:           table,

		Resource:         a.group.GroupVersion.WithResource(resource),
		Subresource:      subresource,
		Kind:             kind,
		HubGroupVersion:  hub.GroupVersion(),
		MetaGroupVersion: metav1.SchemeGroupVersion,

		AcceptsGroupVersionDelegate: acceptor,
		Metrics:                     a.group.Metrics,
		Pieces:                      a.group.Pieces,
		MaxRequestBodyBytes:         a.group.MaxRequestBodyBytes,
		MaxObjectFields:             a.group.MaxObjectFields,
	}
	scope.FieldTypes = typesOf(kind)
	scope.FieldManager, err = fieldManagerOf(scope, storage)
	return scope, err
}

// GetResourceKind returns the kind that clients see: the one that the storage names, or else the kind that its Go type
// has in the group.
func GetResourceKind(gv schema.GroupVersion, storage rest.Storage, typer runtime.ObjectTyper) (schema.GroupVersionKind, error) {
	if provider, ok := storage.(rest.GroupVersionKindProvider); ok {
		return provider.GroupVersionKind(gv), nil
	}
	kinds, _, err := typer.ObjectKinds(storage.New())
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	for _, kind := range kinds {
		if kind.Group == gv.Group {
			return gv.WithKind(kind.Kind), nil
		}
	}
	// A type that two groups share is registered in the other group. This group has a kind of the same name, and
	// converts.
	for _, kind := range kinds {
		if shared := gv.WithKind(kind.Kind); typer.Recognizes(shared) {
			return shared, nil
		}
	}
	return schema.GroupVersionKind{}, fmt.Errorf(
		"unable to locate fully qualified kind for %T: found %v when registering for %v", storage.New(), kinds, gv)
}

// KindsOf returns the kinds by which references can name objects of a storage.
func KindsOf(gv schema.GroupVersion, storage rest.Storage, typer runtime.ObjectTyper) []schema.GroupVersionKind {
	if custom, ok := storage.(interface {
		Kinds() []schema.GroupVersionKind
	}); ok {
		return custom.Kinds()
	}
	kind, err := GetResourceKind(gv, storage, typer)
	if err != nil {
		return nil // another program's group, which is not in etcd
	}
	return []schema.GroupVersionKind{kind}
}

// hubKind returns the kind of the Go type that a storage works with.
func hubKind(storage rest.Storage, typer runtime.ObjectTyper) (schema.GroupVersionKind, error) {
	kinds, _, err := typer.ObjectKinds(storage.New())
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return kinds[0], nil
}

// describe returns the description of a resource for discovery and OpenAPI.
func (a *APIInstaller) describe(path string, storage rest.Storage, scope *handler.RequestScope, namespaced bool,
	verbs []string) (*openapi.Resource, error) {
	resource := &openapi.Resource{APIResource: metav1.APIResource{
		Name: path, Namespaced: namespaced, Kind: scope.Kind.Kind, Verbs: verbs,
	}}
	if p, ok := storage.(rest.ShortNamesProvider); ok {
		resource.ShortNames = p.ShortNames()
	}
	if p, ok := storage.(rest.CategoriesProvider); ok {
		resource.Categories = p.Categories()
	}
	if scope.Subresource == "" {
		p, ok := storage.(rest.SingularNameProvider)
		if !ok {
			return nil, fmt.Errorf("resource %s must implement SingularNameProvider", path)
		}
		resource.SingularName = p.GetSingularName()
	}
	if _, ok := storage.(rest.GroupVersionKindProvider); ok {
		resource.Group, resource.Version = scope.Kind.Group, scope.Kind.Version
	}
	if p, ok := storage.(rest.MayReturnFullObjectDeleter); ok {
		resource.DeleteReturnsObject = p.DeleteReturnsDeletedObject()
	}
	if p, ok := storage.(rest.StorageMetadata); ok {
		_, resource.CreateReturnsStatus = p.ProducesObject(http.MethodPost).(*metav1.Status)
	}
	if !openapi.HasKind(scope.Kind) {
		resource.Type = reflect.TypeOf(storage.New()).Elem()
		if lister, ok := storage.(rest.Lister); ok {
			resource.ListType = reflect.TypeOf(lister.NewList()).Elem()
		}
	}
	describeOptions(resource, storage)
	hash, err := a.storageVersionHash(storage)
	resource.StorageVersionHash = hash
	return resource, err
}

// describeOptions describes the query parameters of a storage that passes requests on, or whose getter has options.
func describeOptions(resource *openapi.Resource, storage rest.Storage) {
	var options runtime.Object
	switch s := storage.(type) {
	case rest.Connecter[http.Handler]:
		resource.Connects = s.ConnectMethods()
		options, resource.Subpath, _ = s.NewConnectOptions()
	case rest.GetterWithOptions:
		options, _, _ = s.NewGetOptions()
		text, ok := storage.(interface{ StreamsText() bool })
		resource.StreamsText = ok && text.StreamsText()
	}
	if documented, ok := options.(interface{ SwaggerDoc() map[string]string }); ok {
		resource.Options.Of = documented
	}
}

// storageVersionHash identifies the version in which objects are stored. It is "" if the storage does not report one.
func (a *APIInstaller) storageVersionHash(storage rest.Storage) (string, error) {
	kind, err := a.storedAs(storage)
	if err != nil || kind.Empty() {
		return "", err
	}
	return discovery.StorageVersionHash(kind.Group, kind.Version, kind.Kind), nil
}

// storedAs returns the kind in which objects are stored. It is empty if the storage does not report one.
func (a *APIInstaller) storedAs(storage rest.Storage) (schema.GroupVersionKind, error) {
	provider, ok := storage.(rest.StorageVersionProvider)
	if !ok || provider.StorageVersion() == nil {
		return schema.GroupVersionKind{}, nil
	}
	kinds, _, err := a.group.Typer.ObjectKinds(storage.New())
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	kind, ok := provider.StorageVersion().KindForGroupVersionKinds(kinds)
	if !ok {
		return schema.GroupVersionKind{}, fmt.Errorf("cannot find the storage version kind for %T", storage.New())
	}
	return kind, nil
}

// deprecation returns the warning for clients that use kind.
func (a *APIInstaller) deprecation(kind schema.GroupVersionKind) (handler.Deprecation, error) {
	obj, err := a.group.Creater.New(kind)
	if err != nil {
		return handler.Deprecation{}, err
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	if !deprecation.IsDeprecated(obj, currentMajor, currentMinor) {
		return handler.Deprecation{}, nil
	}
	return handler.Deprecation{Warning: deprecation.WarningMessage(obj), RemovedRelease: deprecation.RemovedRelease(obj)}, nil
}

// currentMajor and currentMinor are the Kubernetes version against which the libraries' deprecations are checked.
const currentMajor, currentMinor = 1, 37

func withWarning(next http.HandlerFunc, deprecated handler.Deprecation, m *metrics.Metrics) http.HandlerFunc {
	if deprecated.Warning == "" {
		return next
	}
	return func(w http.ResponseWriter, req *http.Request) {
		deprecated.Tell(req.Context(), m)
		next(w, req)
	}
}

package crd

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/handler"
)

// scopes creates the request scopes of a definition's versions.
type scopes struct {
	config      Config
	crd         *lister.Definition
	resource    *customresource.Resource
	equivalents runtime.EquivalentResourceRegistry
	managers    *fieldManagers
}

func newScopes(c Config, crd *lister.Definition, resource *customresource.Resource) *scopes {
	s := &scopes{config: c, crd: crd, resource: resource, equivalents: runtime.NewEquivalentResourceRegistry()}
	s.managers = newFieldManagers(crd, resource)
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		gv := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
		resource, kind := gv.WithResource(crd.Status.AcceptedNames.Plural), gv.WithKind(crd.Status.AcceptedNames.Kind)
		s.equivalents.RegisterKindFor(resource, "", kind)
		subresources, err := apihelpers.GetSubresourcesForVersion(crd, v.Name)
		if err != nil || subresources == nil {
			continue
		}
		if subresources.Status != nil {
			s.equivalents.RegisterKindFor(resource, "status", kind)
		}
		if subresources.Scale != nil {
			s.equivalents.RegisterKindFor(resource, "scale", scaleKind)
		}
	}
	return s
}

// ofResource returns a scope without a field manager.
func (s *scopes) ofResource(v *customresource.Version) *handler.RequestScope {
	return &handler.RequestScope{
		Namer:               handler.ContextBasedNaming{},
		Serializer:          v.Serializer,
		StandardSerializers: standardSerializers(v.Serializer),

		Creater:         v.Creater,
		Convertor:       v.Convertor,
		Defaulter:       v.Defaulter,
		Typer:           v.Typer,
		UnsafeConvertor: v.UnsafeConvertor,

		Authorizer:               s.config.Authorizer,
		Admit:                    s.config.Admit,
		EquivalentResourceMapper: s.equivalents,
		TableConvertor:           v.Storage.CustomResource,

		Resource: v.Kind.GroupVersion().WithResource(s.crd.Status.AcceptedNames.Plural),
		Kind:     v.Kind,
		// Admission, validation and tables see the version of the request. Storage converts if necessary.
		HubGroupVersion:  v.Kind.GroupVersion(),
		MetaGroupVersion: metav1.SchemeGroupVersion,

		Metrics:             s.config.Metrics,
		Pieces:              s.config.Pieces,
		MaxRequestBodyBytes: s.config.MaxRequestBodyBytes,
		MaxObjectFields:     s.config.MaxObjectFields,
	}
}

// Scope returns the handlers' request scope for custom resources in a version. The version need not be served:
// controllers write in the stored one. Scope returns nil if there is no such definition.
func (s *Server) Scope(ctx context.Context, resource schema.GroupVersionResource) (*handler.RequestScope, error) {
	crd := s.lister.Get(resource.Resource + "." + resource.Group)
	if crd == nil {
		return nil, nil
	}
	info, err := s.getOrCreateServingInfoFor(trace.WithoutRecording(ctx), crd) // the write itself has this step
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer info.requests.leave()
	v := info.resource.Versions[resource.Version]
	if v == nil {
		return nil, nil
	}
	scope := info.scopes.ofResource(v)
	scope.FieldTypes = info.scopes.managers.converter
	return scope, nil
}

func (s *scopes) ofStatus(v *customresource.Version) *handler.RequestScope {
	scope := s.ofResource(v)
	scope.Subresource = "status"
	return scope
}

var (
	scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	// scaleScheme has the kinds Scale and Status.
	scaleScheme = newScaleScheme()
	scaleCodecs = serializer.NewCodecFactory(scaleScheme)
)

func newScaleScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(autoscalingv1.AddToScheme(s))
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}

// standardSerializers returns the serializers for custom resources themselves, which have no protobuf.
func standardSerializers(s runtime.NegotiatedSerializer) []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(s.SupportedMediaTypes()), func(info runtime.SerializerInfo) bool {
		return info.MediaType == runtime.ContentTypeProtobuf
	})
}

func (s *scopes) ofScale(v *customresource.Version) *handler.RequestScope {
	scope := s.ofResource(v)
	scope.Subresource, scope.Kind, scope.HubGroupVersion = "scale", scaleKind, scaleKind.GroupVersion()
	scope.Serializer, scope.StandardSerializers = scaleCodecs, nil
	scope.Creater, scope.Convertor, scope.Defaulter, scope.Typer = scaleScheme, scaleScheme, scaleScheme, scaleScheme
	scope.UnsafeConvertor = runtime.UnsafeObjectConvertor(scaleScheme)
	scope.TableConvertor = v.Storage.Scale
	return scope
}

var handlersOfVersion = trace.Because("handlers-of-version",
	"no type is looked at: every custom resource has the same {verbs} verbs; subresources of the definition: "+
		"{subresources:word}",
	"不做类型断言：每个自定义资源都有同样的 {verbs} 个动词；CRD 中的子资源：{subresources:word}")

// newVersion creates the handlers of a version.
func newVersion(c Config, info *crdInfo, s *scopes, v *customresource.Version) *version {
	note := trace.Note(info.notes, steps.InstallServed, v.Kind.Version)
	defer note.End(nil)
	out := &version{deprecation: handler.Deprecation{Warning: v.DeprecationWarning}}
	storage := v.Storage.CustomResource
	scope := s.ofResource(v)
	watcher := endingWatcher{storage, info.life}
	scope.FieldManager, scope.FieldTypes = s.managers.manager(scope, v), s.managers.converter
	out.resource = map[string]http.HandlerFunc{
		"get":              handler.GetResource(storage, scope),
		"list":             handler.ListResource(storage, watcher, scope, false, c.MinRequestTimeout),
		"watch":            handler.ListResource(storage, watcher, scope, true, c.MinRequestTimeout),
		"create":           handler.CreateResource(storage, scope),
		"update":           handler.UpdateResource(storage, scope),
		"patch":            handler.PatchResource(storage, scope, handler.PatchTypes(false)),
		"delete":           handler.DeleteResource(storage, true, scope),
		"deletecollection": handler.DeleteCollection(storage, true, scope),
	}
	ending := *scope
	ending.Admit = forbidCreateAdmission{c.Admit}
	out.terminating = map[string]http.HandlerFunc{
		"create": handler.CreateResource(storage, &ending),
		"patch":  handler.PatchResource(storage, &ending, handler.PatchTypes(false)),
	}
	var subresources []string
	if status := v.Storage.Status; status != nil {
		subresources = append(subresources, "status")
		out.status = s.subresource(s.ofStatus(v), v, status)
	}
	if scale := v.Storage.Scale; scale != nil {
		subresources = append(subresources, "scale")
		out.scale = s.subresource(s.ofScale(v), v, scale)
	}
	note.WhyText(handlersOfVersion, cmp.Or(strings.Join(subresources, ", "), "none"), int64(len(out.resource)))
	return out
}

type subresourceStorage interface {
	rest.Storage
	rest.Patcher
}

// subresource returns the handlers of a subresource.
func (s *scopes) subresource(scope *handler.RequestScope, v *customresource.Version,
	storage subresourceStorage) map[string]http.HandlerFunc {
	scope.FieldManager, scope.FieldTypes = s.managers.manager(scope, v), s.managers.converter
	return map[string]http.HandlerFunc{
		"get":    handler.GetResource(storage, scope),
		"update": handler.UpdateResource(storage, scope),
		"patch":  handler.PatchResource(storage, scope, handler.PatchTypes(false)),
	}
}

// endingWatcher starts watches of a storage, and ends them when life ends.
type endingWatcher struct {
	storage *customresource.REST
	life    context.Context
}

func (e endingWatcher) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	return e.start(ctx, options, e.storage.Watch)
}

func (e endingWatcher) WatchEncoded(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	return e.start(ctx, options, e.storage.WatchEncoded)
}

func (e endingWatcher) start(ctx context.Context, options *metainternalversion.ListOptions,
	start func(context.Context, *metainternalversion.ListOptions) (watch.Interface, error)) (watch.Interface, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.life, cancel)
	w, err := start(ctx, options)
	if err != nil {
		stop()
		cancel()
		if e.life.Err() != nil {
			return watch.NewEmptyWatch(), nil // it has ended before it began
		}
		return nil, err
	}
	return &endingWatch{w, func() { stop(); cancel() }}, nil
}

type endingWatch struct {
	watch.Interface
	release func()
}

func (e *endingWatch) Stop() {
	e.Interface.Stop()
	e.release()
}

package handler

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
	"github.com/kx-apiserver/kx/server/metrics"
)

// FieldManager tracks which manager owns which field of an object.
type FieldManager interface {
	// Update makes manager the owner of the fields that differ between live and obj.
	Update(live, obj runtime.Object, manager string) (runtime.Object, error)
	// Apply merges a configuration that manager applies into live. With force it takes fields from their owners.
	Apply(live, applied runtime.Object, manager string, force bool) (runtime.Object, error)
}

// RequestScope describes one resource in one version to the handlers. Requests share it and never modify it.
type RequestScope struct {
	Namer ScopeNamer

	// Serializer has the media types of the resource. Its DecoderToVersion must keep the version in which an object was
	// sent and set the defaults. UnsafeConvertor does the conversion.
	Serializer runtime.NegotiatedSerializer
	// StandardSerializers (optional) are the only serializers for the resource's own kind. A Table or
	// PartialObjectMetadata may still use the others.
	StandardSerializers []runtime.SerializerInfo

	// ParameterCodec decodes a resource's own options. It may be nil for a resource without any.
	ParameterCodec runtime.ParameterCodec

	Creater   runtime.ObjectCreater
	Convertor runtime.ObjectConvertor
	Defaulter runtime.ObjectDefaulter
	Typer     runtime.ObjectTyper
	// UnsafeConvertor may return its input, or an object that shares memory with it. It gets the items of a list one by
	// one, and the list without them.
	UnsafeConvertor runtime.ObjectConvertor

	// Authorizer decides about permissions that the authorization filter can't see, such as a create by PUT.
	Authorizer authorizer.UnconditionalAuthorizer
	// Admit may be nil.
	Admit admission.Interface
	// FieldManager tracks the owners of fields. If it is nil, fields have no owners, and there is no server-side apply.
	FieldManager FieldManager
	// FieldTypes know which lists and maps have an owner for each entry. They may be nil.
	FieldTypes managedfields.TypeConverter
	// EquivalentResourceMapper may be nil.
	EquivalentResourceMapper runtime.EquivalentResourceMapper

	// TableConvertor gets objects in the hub version. It is nil for a resource without tables.
	TableConvertor rest.TableConvertor

	Resource    schema.GroupVersionResource
	Subresource string
	// Kind is the kind that clients send and get.
	Kind schema.GroupVersionKind
	// HubGroupVersion is the version of the objects in calls of rest.
	HubGroupVersion schema.GroupVersion
	// MetaGroupVersion is the version of the meta group in which clients send options.
	MetaGroupVersion schema.GroupVersion

	// AcceptsGroupVersionDelegate, if not nil, decides which versions of a body are accepted. Otherwise it must be
	// Kind's version.
	AcceptsGroupVersionDelegate GroupVersionAcceptor

	// Metrics count watches; nil counts none.
	Metrics *metrics.Metrics
	// Pieces (optional) keep compressed parts of lists.
	Pieces *responsewriters.Pieces
	// MaxRequestBodyBytes limits bodies; 0 is no limit.
	MaxRequestBodyBytes int64
	// MaxObjectFields limits the fields and list items of a written object; 0 is no limit.
	MaxObjectFields int
}

// GroupVersionAcceptor decides which versions of a body are accepted.
type GroupVersionAcceptor interface {
	AcceptsGroupVersion(gv schema.GroupVersion) bool
}

var _ admission.ObjectInterfaces = &RequestScope{}

func (scope *RequestScope) GetObjectCreater() runtime.ObjectCreater     { return scope.Creater }
func (scope *RequestScope) GetObjectTyper() runtime.ObjectTyper         { return scope.Typer }
func (scope *RequestScope) GetObjectDefaulter() runtime.ObjectDefaulter { return scope.Defaulter }
func (scope *RequestScope) GetObjectConvertor() runtime.ObjectConvertor { return scope.Convertor }

// GetFieldTypes returns the types for admission policies, which merge the configurations that they apply.
func (scope *RequestScope) GetFieldTypes() managedfields.TypeConverter { return scope.FieldTypes }

func (scope *RequestScope) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return scope.EquivalentResourceMapper
}

// err responds with an error. It turns every error after the request's deadline into a 504.
func (scope *RequestScope) err(err error, w http.ResponseWriter, req *http.Request) {
	if timedOut(req.Context(), err) {
		err = apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	}
	responsewriters.ErrorNegotiated(err, scope.Serializer, scope.Kind.GroupVersion(), w, req)
}

// AcceptsGroupVersion reports whether a body may be in version gv.
func (scope *RequestScope) AcceptsGroupVersion(gv schema.GroupVersion) bool {
	if scope.AcceptsGroupVersionDelegate != nil {
		return scope.AcceptsGroupVersionDelegate.AcceptsGroupVersion(gv)
	}
	return gv == scope.Kind.GroupVersion()
}

// AllowsMediaTypeTransform reports whether the resource is available in a media type, as itself or as kind target.
func (scope *RequestScope) AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool {
	if target == nil {
		return scope.standardMediaType(mimeType, mimeSubType)
	}
	if !isMetaVersion(target.GroupVersion()) {
		return false
	}
	switch target.Kind {
	case "Table":
		return scope.TableConvertor != nil && mimeType == "application" && (mimeSubType == "json" || mimeSubType == "yaml")
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}

func (scope *RequestScope) standardMediaType(mimeType, mimeSubType string) bool {
	for _, info := range scope.StandardSerializers {
		if info.MediaTypeType == mimeType && info.MediaTypeSubType == mimeSubType {
			return true
		}
	}
	return len(scope.StandardSerializers) == 0
}

// AllowsServerVersion reports whether version is the resource's version of the meta group.
func (scope *RequestScope) AllowsServerVersion(version string) bool {
	return version == scope.MetaGroupVersion.Version
}

// AllowsStreamSchema allows only watches.
func (scope *RequestScope) AllowsStreamSchema(schema string) bool { return schema == "watch" }

// isMetaVersion reports whether gv has tables and partial objects.
func isMetaVersion(gv schema.GroupVersion) bool {
	return gv == metav1.SchemeGroupVersion || gv == metav1beta1.SchemeGroupVersion
}

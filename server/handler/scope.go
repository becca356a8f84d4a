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

// FieldManager knows which client owns which field of an object.
type FieldManager interface {
	// Update makes manager the owner of what it changes between live and obj.
	Update(live, obj runtime.Object, manager string) (runtime.Object, error)
	// Apply merges what manager applies into live. With force it takes fields from their owners.
	Apply(live, applied runtime.Object, manager string, force bool) (runtime.Object, error)
}

// RequestScope is what the handlers know of one resource in one version. It is shared by requests and never modified.
type RequestScope struct {
	Namer ScopeNamer

	// Serializer has the media types of the resource. Its DecoderToVersion is asked to keep the version in which an
	// object was sent, and to default it; conversion is UnsafeConvertor's.
	Serializer runtime.NegotiatedSerializer
	// StandardSerializers, if any, are the only ones for the resource's own kind; a Table or PartialObjectMetadata may
	// still be had from the others.
	StandardSerializers []runtime.SerializerInfo

	// ParameterCodec decodes a resource's own options. It may be nil for a resource without any.
	ParameterCodec runtime.ParameterCodec

	Creater   runtime.ObjectCreater
	Convertor runtime.ObjectConvertor
	Defaulter runtime.ObjectDefaulter
	Typer     runtime.ObjectTyper
	// UnsafeConvertor may return its input, or something that shares memory with it. Of a list it is given the items one by
	// one, and the list without them.
	UnsafeConvertor runtime.ObjectConvertor

	// Authorizer decides what the authorization filter could not see, such as a create by PUT.
	Authorizer authorizer.UnconditionalAuthorizer
	// Admit may be nil.
	Admit admission.Interface
	// FieldManager knows which client owns which field. Without one (nil) nobody owns fields, and there is no
	// server-side apply.
	FieldManager FieldManager
	// FieldTypes know which lists and maps have an owner for each entry. They may be nil.
	FieldTypes managedfields.TypeConverter
	// EquivalentResourceMapper may be nil.
	EquivalentResourceMapper runtime.EquivalentResourceMapper

	// TableConvertor gets objects in the hub version. It is nil for a resource that has no tables.
	TableConvertor rest.TableConvertor

	Resource    schema.GroupVersionResource
	Subresource string
	// Kind is what clients send and get.
	Kind schema.GroupVersionKind
	// HubGroupVersion is the version in which objects go to and come from rest.
	HubGroupVersion schema.GroupVersion
	// MetaGroupVersion is the version of the meta group in which clients send options.
	MetaGroupVersion schema.GroupVersion

	// AcceptsGroupVersionDelegate, if not nil, says in which versions a body may come. Otherwise it is Kind's.
	AcceptsGroupVersionDelegate GroupVersionAcceptor

	// Metrics count watches; nil counts none.
	Metrics *metrics.Metrics
	// MaxRequestBodyBytes limits bodies; 0 is no limit.
	MaxRequestBodyBytes int64
	// MaxObjectFields limits the fields and list items of an object that is written; 0 is no limit.
	MaxObjectFields int
}

// GroupVersionAcceptor says in which versions a body may come.
type GroupVersionAcceptor interface {
	AcceptsGroupVersion(gv schema.GroupVersion) bool
}

var _ admission.ObjectInterfaces = &RequestScope{}

func (scope *RequestScope) GetObjectCreater() runtime.ObjectCreater     { return scope.Creater }
func (scope *RequestScope) GetObjectTyper() runtime.ObjectTyper         { return scope.Typer }
func (scope *RequestScope) GetObjectDefaulter() runtime.ObjectDefaulter { return scope.Defaulter }
func (scope *RequestScope) GetObjectConvertor() runtime.ObjectConvertor { return scope.Convertor }

// GetFieldTypes is for policies, which merge what they apply.
func (scope *RequestScope) GetFieldTypes() managedfields.TypeConverter { return scope.FieldTypes }

func (scope *RequestScope) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return scope.EquivalentResourceMapper
}

// err answers with an error. Whatever fails because the request's time is up is a 504.
func (scope *RequestScope) err(err error, w http.ResponseWriter, req *http.Request) {
	if timedOut(req.Context(), err) {
		err = apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	}
	responsewriters.ErrorNegotiated(err, scope.Serializer, scope.Kind.GroupVersion(), w, req)
}

// AcceptsGroupVersion says whether a body may come in gv.
func (scope *RequestScope) AcceptsGroupVersion(gv schema.GroupVersion) bool {
	if scope.AcceptsGroupVersionDelegate != nil {
		return scope.AcceptsGroupVersionDelegate.AcceptsGroupVersion(gv)
	}
	return gv == scope.Kind.GroupVersion()
}

// AllowsMediaTypeTransform says whether the resource can be had in a media type, as itself or as kind target.
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

// AllowsServerVersion says whether version is that of the meta group here.
func (scope *RequestScope) AllowsServerVersion(version string) bool {
	return version == scope.MetaGroupVersion.Version
}

// AllowsStreamSchema says that watches are the only streams.
func (scope *RequestScope) AllowsStreamSchema(schema string) bool { return schema == "watch" }

// isMetaVersion says whether gv has tables and partial objects.
func isMetaVersion(gv schema.GroupVersion) bool {
	return gv == metav1.SchemeGroupVersion || gv == metav1beta1.SchemeGroupVersion
}

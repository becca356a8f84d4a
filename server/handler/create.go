package handler

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

var namespaceGVR = schema.GroupVersionResource{Group: "", Version: "v1", Resource: "namespaces"}

// CreateResource answers POST to a collection.
func CreateResource(r rest.Creater, scope *RequestScope) http.HandlerFunc {
	return createHandler(namedCreaterAdapter{r}, scope, false)
}

// CreateNamedResource answers POST to an object. Some subresources have it.
func CreateNamedResource(r rest.NamedCreater, scope *RequestScope) http.HandlerFunc {
	return createHandler(r, scope, true)
}

// createHandler creates the object in the body. With includeName the path must have a name.
//
//go:noinline
func createHandler(r rest.NamedCreater, scope *RequestScope, includeName bool) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var err error
		ctx, step := trace.Start(req.Context(), steps.HandlerCreate, req.URL.Path)
		defer step.End(&err)
		if err = serveCreate(ctx, r, scope, includeName, w, req); err != nil {
			scope.err(err, w, req)
		}
	}
}

func serveCreate(ctx context.Context, r rest.NamedCreater, scope *RequestScope, includeName bool, w http.ResponseWriter,
	req *http.Request) error {
	nameOf := scope.Namer.NameIfAny
	if includeName {
		nameOf = scope.Namer.Name
	}
	namespace, name, err := nameOf(req)
	if err != nil {
		return err
	}
	mediaType, _, err := negotiation.NegotiateOutputMediaType(req, scope.Serializer, scope)
	if err != nil {
		return err
	}
	input, err := negotiation.NegotiateInputSerializer(req, scope.Serializer)
	if err != nil {
		return err
	}
	body, err := scope.readBody(ctx, req, 0, nil, name)
	if err != nil {
		return err
	}
	options, err := createOptions(req, scope)
	if err != nil {
		return err
	}
	obj, gv, err := decodeBody(ctx, scope, body, input, fieldValidation(options.FieldValidation))
	if err != nil {
		return err
	}

	if name == "" {
		// A body without a name may have a generateName, which rest resolves.
		_, name, _ = scope.Namer.ObjectName(obj)
		nameJourney(ctx, name)
	}
	if namespace == "" && scope.Resource == namespaceGVR {
		namespace = name
	}
	ctx = request.WithNamespace(ctx, namespace)
	audit.LogRequestObject(ctx, obj, gv, scope.Resource, scope.Subresource, scope.Serializer)
	if m, err := meta.Accessor(obj); err == nil {
		if p, ok := r.(rest.SubresourceObjectMetaPreserver); !ok || !p.PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() {
			rest.WipeObjectMetaSystemFields(m)
		}
		expected := rest.ExpectedNamespaceForResource(namespace, scope.Resource)
		if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(expected, m); err != nil {
			return err
		}
	}
	dedupOwnerReferencesAndAddWarning(ctx, obj, false)
	live, err := newLiveObject(scope)
	if err != nil {
		return err
	}
	manager := managerOrUserAgent(options.FieldManager, req.UserAgent())
	if obj, err = updateManagedFields(ctx, scope, live, obj, manager); err != nil {
		return err
	}
	result, err := createObject(ctx, r, scope, name, obj, options)
	if err != nil {
		return err
	}
	if status, ok := result.(*metav1.Status); ok && status.Code == 0 {
		status.Code = http.StatusCreated
	}
	return transformResponseObject(ctx, scope, req, w, http.StatusCreated, mediaType, result)
}

// createObject runs mutating admission, and passes obj to rest.
func createObject(ctx context.Context, r rest.NamedCreater, scope *RequestScope, name string, obj runtime.Object,
	options *metav1.CreateOptions) (runtime.Object, error) {
	ctx, validate, err := scope.AdmitCreate(ctx, r, request.NamespaceValue(ctx), name, obj, options)
	if err != nil {
		return nil, err
	}
	dedupOwnerReferencesAndAddWarning(ctx, obj, true)
	result, err := restCreate(ctx, r, name, obj, validate, options)
	if tooLargeWithManagedFields(scope, err) && dropManagedFields(obj) {
		result, err = restCreate(ctx, r, name, obj, validate, options)
	}
	return result, err
}

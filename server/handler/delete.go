package handler

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// DeleteResource answers DELETE of an object. It reads options from the body and the query if allowsOptions is true.
//
//go:noinline
func DeleteResource(r rest.GracefulDeleter, allowsOptions bool, scope *RequestScope) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var err error
		ctx, step := trace.Start(req.Context(), steps.HandlerDelete, req.URL.Path)
		defer step.End(&err)
		if err = serveDelete(ctx, r, allowsOptions, scope, w, req); err != nil {
			scope.err(err, w, req)
		}
	}
}

func serveDelete(ctx context.Context, r rest.GracefulDeleter, allowsOptions bool, scope *RequestScope, w http.ResponseWriter,
	req *http.Request) error {
	ctx, namespace, name, mediaType, err := objectRequest(ctx, req, scope)
	if err != nil {
		return err
	}
	options, err := deleteOptions(ctx, req, scope, allowsOptions)
	if err != nil {
		return err
	}
	attributes := deleteAttributes(ctx, scope, namespace, name, options)
	if ignoresReadErrors(options) {
		if r, err = corruptObjectDeleter(ctx, r, scope, attributes); err != nil {
			return err
		}
	}
	ctx = scope.BeginWrite(ctx)
	result, deleted, err := restDelete(ctx, r, name, admissionToValidateObjectDeleteFunc(scope, attributes), options)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if !deleted && wantsDependentsDeleted(options) {
		code = http.StatusAccepted
	}
	if result == nil {
		result = deletedStatus(scope, name, code)
	}
	return transformResponseObject(ctx, scope, req, w, code, mediaType, result)
}

// wantsDependentsDeleted reports whether the client sent orphanDependents=false. Such clients expect a 202 if the
// object remains. All others have always got a 200, even when finalizers or a grace period keep the object.
func wantsDependentsDeleted(options *metav1.DeleteOptions) bool {
	//lint:ignore SA1019 it is the old field that decides, not propagationPolicy
	orphan := options.OrphanDependents
	return orphan != nil && !*orphan
}

// DeleteCollection answers DELETE of a collection. It reads options from the body and the query if checkBody is true.
//
//go:noinline
func DeleteCollection(r rest.CollectionDeleter, checkBody bool, scope *RequestScope) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var err error
		ctx, step := trace.Start(req.Context(), steps.HandlerDeleteCollection, req.URL.Path)
		defer step.End(&err)
		if err = serveDeleteCollection(ctx, r, checkBody, scope, w, req); err != nil {
			scope.err(err, w, req)
		}
	}
}

func serveDeleteCollection(ctx context.Context, r rest.CollectionDeleter, checkBody bool, scope *RequestScope,
	w http.ResponseWriter, req *http.Request) error {
	namespace, err := scope.Namer.Namespace(req)
	if err != nil {
		return err
	}
	ctx = request.WithNamespace(ctx, namespace)
	mediaType, _, err := negotiation.NegotiateOutputMediaType(req, scope.Serializer, scope)
	if err != nil {
		return err
	}
	selected, err := listOptions(req, scope)
	if err != nil {
		return err
	}
	options, err := deleteOptions(ctx, req, scope, checkBody)
	if err != nil {
		return err
	}
	if ignoresReadErrors(options) {
		return errIgnoresReadErrorsOfCollection
	}
	attributes := deleteAttributes(ctx, scope, namespace, "", options)
	ctx = scope.BeginWrite(ctx)
	result, err := restDeleteCollection(ctx, r, scope.Resource.Resource, admissionToValidateObjectDeleteFunc(scope, attributes),
		options, selected)
	if err != nil {
		return err
	}
	if result == nil {
		result = deletedStatus(scope, "", http.StatusOK)
	}
	return transformResponseObject(ctx, scope, req, w, http.StatusOK, mediaType, result)
}

// deletedStatus is the response if rest returns none of its own.
func deletedStatus(scope *RequestScope, name string, code int) *metav1.Status {
	return &metav1.Status{
		Status:  metav1.StatusSuccess,
		Code:    int32(code),
		Details: &metav1.StatusDetails{Name: name, Kind: scope.Kind.Kind},
	}
}

func deleteAttributes(ctx context.Context, scope *RequestScope, namespace, name string,
	options *metav1.DeleteOptions) admission.Attributes {
	user, _ := request.UserFrom(ctx)
	return admission.NewAttributesRecord(nil, nil, scope.Kind, namespace, name, scope.Resource, scope.Subresource,
		admission.Delete, options, len(options.DryRun) > 0, user)
}

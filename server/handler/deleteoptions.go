package handler

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// deleteOptions reads the options from the body or, if that is empty, from the query.
func deleteOptions(ctx context.Context, req *http.Request, scope *RequestScope, allowed bool) (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	var body []byte
	from := nowhere
	if allowed {
		var err error
		if body, err = limitedReadBody(req, scope.MaxRequestBodyBytes); err != nil {
			return nil, err
		}
		if from = inQuery; len(body) > 0 {
			from = inBody
		}
	}
	err := decodeOptionsFrom(from, req, "DeleteOptions", func() (err error) {
		switch from {
		case inBody:
			err = decodeDeleteOptions(ctx, req, scope, body, options)
		case inQuery:
			err = decodeParameters(req, scope.MetaGroupVersion, options)
		}
		if err != nil {
			return err
		}
		return invalidOptions("DeleteOptions", validation.ValidateDeleteOptions(options))
	})
	if err != nil {
		return nil, err
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
	return options, nil
}

// decodeDeleteOptions decodes a body. Old clients send DeleteOptions of the resource's group, which are all the same
// type.
func decodeDeleteOptions(ctx context.Context, req *http.Request, scope *RequestScope, body []byte, into *metav1.DeleteOptions) error {
	s, err := negotiation.NegotiateInputSerializer(req, metaCodecs)
	if err != nil {
		return err
	}
	expected := scope.MetaGroupVersion.WithKind("DeleteOptions")
	obj, gvk, err := metaCodecs.DecoderToVersion(s.Serializer, expected.GroupVersion()).Decode(body, &expected, into)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if obj != into {
		return apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	audit.LogRequestObject(ctx, obj, gvk.GroupVersion(), scope.Resource, scope.Subresource, metaCodecs)
	return nil
}

// unsafeDeleteVerb is the verb that a user needs to delete an object that can't be read.
const unsafeDeleteVerb = "unsafe-delete-ignore-read-errors"

var errIgnoresReadErrorsOfCollection = apierrors.NewInvalid(
	schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", field.ErrorList{field.Invalid(
		field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential"), true,
		"is not allowed with DELETECOLLECTION, try again after removing the option")})

// ignoresReadErrors reports whether to delete the object even if it can't be decrypted or decoded.
func ignoresReadErrors(options *metav1.DeleteOptions) bool {
	ignore := options.IgnoreStoreReadErrorWithClusterBreakingPotential
	return ignore != nil && *ignore
}

// corruptObjectDeleter returns the deleter of objects that can't be read, if the user is allowed to use it.
func corruptObjectDeleter(ctx context.Context, r rest.GracefulDeleter, scope *RequestScope,
	attributes admission.Attributes) (rest.GracefulDeleter, error) {
	audit.AddAuditAnnotation(ctx, "apiserver.k8s.io/unsafe-delete-ignore-read-error", "")
	provider, ok := r.(rest.CorruptObjectDeleterProvider)
	if !ok || provider.GetCorruptObjDeleter() == nil {
		return nil, apierrors.NewInternalError(errors.New("no unsafe deleter provided, can not honor " +
			"ignoreStoreReadErrorWithClusterBreakingPotential"))
	}
	if scope.Authorizer == nil {
		return nil, apierrors.NewInternalError(errors.New("no authorizer provided, unable to authorize unsafe delete"))
	}
	if scope.Subresource != "" {
		return nil, admission.NewForbidden(attributes,
			errors.New("ignoreStoreReadErrorWithClusterBreakingPotential delete option is not allowed on a subresource or "+
				"non-resource request"))
	}
	decision, reason, err := scope.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: attributes.GetUserInfo(), Verb: unsafeDeleteVerb, ResourceRequest: true,
		Namespace: attributes.GetNamespace(), Name: attributes.GetName(),
		APIGroup: scope.Resource.Group, APIVersion: scope.Resource.Version, Resource: scope.Resource.Resource,
	})
	if err != nil {
		return nil, admission.NewForbidden(attributes, fmt.Errorf("error while checking permission for %q, %w", unsafeDeleteVerb, err))
	}
	if decision != authorizer.DecisionAllow {
		return nil, admission.NewForbidden(attributes, fmt.Errorf("not permitted to do %q, reason: %s", unsafeDeleteVerb, reason))
	}
	return provider.GetCorruptObjDeleter(), nil
}

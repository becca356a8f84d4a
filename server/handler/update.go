package handler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// UpdateResource answers PUT of an object.
//
//go:noinline
func UpdateResource(r rest.Updater, scope *RequestScope) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var err error
		ctx, step := trace.Start(req.Context(), steps.HandlerUpdate, req.URL.Path)
		defer step.End(&err)
		if err = serveUpdate(ctx, step, r, scope, w, req); err != nil {
			scope.err(err, w, req)
		}
	}
}

var unconditionalUpdate = trace.Because("unconditional-update",
	"no resourceVersion: whatever is stored is overwritten, unless the resource requires one",
	"没有 resourceVersion：无论存储的是什么都会被覆盖，除非该资源要求提供")

func serveUpdate(
	ctx context.Context, step *trace.Step, r rest.Updater, scope *RequestScope, w http.ResponseWriter, req *http.Request,
) error {
	ctx, namespace, name, mediaType, err := objectRequest(ctx, req, scope)
	if err != nil {
		return err
	}
	stored, _ := r.(rest.Getter)
	body, err := scope.readBody(ctx, req, 0, stored, name)
	if err != nil {
		return err
	}
	options, err := updateOptions(req, scope)
	if err != nil {
		return err
	}
	input, err := negotiation.NegotiateInputSerializer(req, scope.Serializer)
	if err != nil {
		return err
	}
	obj, gv, err := decodeBody(ctx, scope, body, input, fieldValidation(options.FieldValidation))
	if err != nil {
		return err
	}
	audit.LogRequestObject(ctx, obj, gv, scope.Resource, scope.Subresource, scope.Serializer)
	if m, err := meta.Accessor(obj); err == nil {
		expected := rest.ExpectedNamespaceForResource(namespace, scope.Resource)
		if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(expected, m); err != nil {
			return err
		}
		if version := m.GetResourceVersion(); version == "" || version == "0" {
			step.Why(unconditionalUpdate)
		}
	}
	if err := checkName(obj, name, namespace, scope.Namer); err != nil {
		return err
	}
	dedupOwnerReferencesAndAddWarning(ctx, obj, false)

	ctx = withCondition(scope.BeginWrite(ctx), r)
	u := newUpdate(ctx, scope, namespace, name, req.URL.Path, options)
	u.manager = managerOrUserAgent(options.FieldManager, req.UserAgent())
	update := func() (runtime.Object, bool, error) {
		return restUpdate(ctx, r, name, rest.DefaultUpdatedObjectInfo(obj, u.manageFields, u.admit), u.validation(false), options)
	}
	result, created, err := update()
	if !u.refused && tooLargeWithManagedFields(scope, err) && dropManagedFields(obj) {
		u.withoutManagedFields = true
		result, created, err = update()
	}
	if err != nil {
		return err
	}
	code := http.StatusOK
	if created {
		code = http.StatusCreated
	}
	return transformResponseObject(ctx, scope, req, w, code, mediaType, result)
}

// update is the way of an object from a PUT or PATCH to storage, which updates or creates it.
type update struct {
	scope           *RequestScope
	namespace, name string
	creating        admission.Attributes // without objects
	updating        admission.Attributes
	// mayCreate holds the attributes of the create that the authorization filter did not check.
	mayCreate authorizer.AttributesRecord

	// manager becomes the owner of the changed fields.
	manager string
	// withoutManagedFields drops them from an object that is too large with them.
	withoutManagedFields bool
	// refused is true if making the next state failed. Then etcd did not refuse the object as too large.
	refused bool
}

func newUpdate(ctx context.Context, scope *RequestScope, namespace, name, path string, options *metav1.UpdateOptions) *update {
	user, _ := request.UserFrom(ctx)
	dryRun := len(options.DryRun) > 0
	attributes := func(operation admission.Operation, options runtime.Object) admission.Attributes {
		return admission.NewAttributesRecord(nil, nil, scope.Kind, namespace, name, scope.Resource, scope.Subresource,
			operation, options, dryRun, user)
	}
	return &update{
		scope: scope, namespace: namespace, name: name,
		creating: attributes(admission.Create, updateToCreateOptions(options)),
		updating: attributes(admission.Update, options),
		mayCreate: authorizer.AttributesRecord{
			User: user, Verb: "create", ResourceRequest: true, Path: path,
			APIGroup: scope.Resource.Group, APIVersion: scope.Resource.Version,
			Resource: scope.Resource.Resource, Subresource: scope.Subresource, Namespace: namespace, Name: name,
		},
	}
}

// manageFields records the owners each time that storage asks for the next state. It is a rest.TransformFunc.
func (u *update) manageFields(ctx context.Context, newObj, oldObj runtime.Object) (runtime.Object, error) {
	if u.withoutManagedFields {
		return newObj, nil
	}
	managed, err := updateManagedFields(ctx, u.scope, oldObj, newObj, u.manager)
	u.refused = err != nil
	return managed, err
}

// admit runs mutating admission each time that storage asks for the next state. It is a rest.TransformFunc.
func (u *update) admit(ctx context.Context, newObj, oldObj runtime.Object) (runtime.Object, error) {
	exists, err := hasUID(oldObj)
	if err != nil {
		return nil, fmt.Errorf("unexpected error when extracting UID from oldObj: %w", err)
	}
	attributes := withObjects(u.updating, u.name, newObj, oldObj)
	if !exists {
		attributes = withObjects(u.creating, u.name, newObj, nil)
	}
	if err := mutate(ctx, u.scope, attributes); err != nil {
		return nil, err
	}
	dedupOwnerReferencesAndAddWarning(ctx, newObj, true)
	return newObj, nil
}

// validation validates what one call of rest makes. With creates, a missing object is created, whatever its strategy.
func (u *update) validation(creates bool) rest.UpdateAdmission {
	return rest.UpdateAdmission{
		Create:           withAuthorization(admissionToValidateObjectFunc(u.scope, u.creating), u.scope.Authorizer, u.mayCreate),
		Update:           admissionToValidateObjectUpdateFunc(u.scope, u.updating),
		ForceAllowCreate: creates,
	}
}

// withAuthorization authorizes attributes before validate, once, and only if validate is called at all.
func withAuthorization(validate rest.ValidateObjectFunc, a authorizer.UnconditionalAuthorizer,
	attributes authorizer.Attributes) rest.ValidateObjectFunc {
	var (
		once     sync.Once
		decision authorizer.Decision
		reason   string
		failure  error
	)
	return func(ctx context.Context, obj runtime.Object) error {
		if a == nil {
			return apierrors.NewInternalError(errors.New("no authorizer provided, unable to authorize a create on update"))
		}
		once.Do(func() { decision, reason, failure = a.Authorize(ctx, attributes) })
		switch {
		case decision == authorizer.DecisionAllow: // even if a part of the authorizer failed
			return validate(ctx, obj)
		case failure != nil:
			return apierrors.NewInternalError(failure)
		}
		return responsewriters.ForbiddenStatusError(attributes, reason)
	}
}

// hasUID reports whether obj exists. For an object that does not exist, storage passes an empty one.
func hasUID(obj runtime.Object) (bool, error) {
	if obj == nil {
		return false, nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	return m.GetUID() != "", nil
}

// checkName refuses an object whose name or namespace differs from the path.
func checkName(obj runtime.Object, name, namespace string, namer ScopeNamer) error {
	objNamespace, objName, err := namer.ObjectName(obj)
	switch {
	case err != nil:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: %v", name, err))
	case objName != name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", objName, name))
	case namespace != "" && objNamespace != "" && objNamespace != namespace:
		return apierrors.NewBadRequest(fmt.Sprintf("the namespace of the object (%s) does not match the namespace on the request (%s)",
			objNamespace, namespace))
	}
	return nil
}

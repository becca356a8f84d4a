package handler

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// PatchResource changes an object by a patch of one of patchTypes.
//
//go:noinline
func PatchResource(r rest.Patcher, scope *RequestScope, patchTypes []string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var err error
		ctx, step := trace.Start(req.Context(), trace.HandlerPatch, req.URL.Path)
		defer step.End(&err)
		if err = servePatch(ctx, r, scope, patchTypes, w, req); err != nil {
			scope.err(err, w, req)
		}
	}
}

func servePatch(ctx context.Context, r rest.Patcher, scope *RequestScope, patchTypes []string, w http.ResponseWriter, req *http.Request) error {
	mechanism, err := patchMechanismFor(req, patchTypes)
	if err != nil {
		return err
	}
	namespace, name, err := scope.Namer.Name(req)
	if err != nil {
		return err
	}
	ctx = request.WithNamespace(ctx, namespace)
	mediaType, _, err := negotiation.NegotiateOutputMediaType(req, scope.Serializer, scope)
	if err != nil {
		return err
	}
	body, err := limitedReadBody(req, scope.MaxRequestBodyBytes)
	if err != nil {
		return err
	}
	options, err := patchOptions(req, scope, mechanism.patchType)
	if err != nil {
		return err
	}
	if !json.Valid(body) {
		return apierrors.NewBadRequest("invalid JSON patch")
	}
	if audit.AuditContextFrom(ctx).Enabled() {
		audit.LogRequestPatch(ctx, body)
	}

	p := newPatcher(ctx, scope, mechanism, namespace, name, body, options)
	result, _, err := restUpdate(ctx, r, name, p, rest.ValidateAllObjectFunc, // a patch creates nothing
		admissionToValidateObjectUpdateFunc(scope, p.attributes), false, p.updateOptions())
	if err != nil {
		return err
	}
	return transformResponseObject(ctx, scope, req, w, http.StatusOK, mediaType, result)
}

// patchMechanismFor finds out how req's patch works, by its Content-Type.
func patchMechanismFor(req *http.Request, patchTypes []string) (*patchMechanism, error) {
	contentType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	for _, patchType := range patchTypes {
		if patchType != contentType {
			continue
		}
		for i := range patchMechanisms {
			if string(patchMechanisms[i].patchType) == contentType {
				return &patchMechanisms[i], nil
			}
		}
	}
	return nil, negotiation.NewUnsupportedMediaTypeError(patchTypes)
}

func patchOptions(req *http.Request, scope *RequestScope, patchType types.PatchType) (*metav1.PatchOptions, error) {
	options := &metav1.PatchOptions{}
	if err := decodeParameters(req, scope.MetaGroupVersion, options); err != nil {
		return nil, err
	}
	if err := invalidOptions("PatchOptions", validation.ValidatePatchOptions(options, patchType)); err != nil {
		return nil, err
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PatchOptions"))
	return options, nil
}

// patcher is one patch on its way: the storage asks it for the next state of an object, once or more, each time from
// the state that the object has then. That is how a patch without a resourceVersion never conflicts.
type patcher struct {
	scope           *RequestScope
	mechanism       *patchMechanism
	namespace, name string
	patch           []byte
	options         *metav1.PatchOptions
	fieldValidation string
	attributes      admission.Attributes // without objects

	attempts int
}

var _ rest.UpdatedObjectInfo = &patcher{}

func newPatcher(ctx context.Context, scope *RequestScope, mechanism *patchMechanism, namespace, name string, body []byte, options *metav1.PatchOptions) *patcher {
	p := &patcher{
		scope: scope, mechanism: mechanism, namespace: namespace, name: name, patch: body, options: options,
		fieldValidation: fieldValidation(options.FieldValidation),
	}
	user, _ := request.UserFrom(ctx)
	p.attributes = admission.NewAttributesRecord(nil, nil, scope.Kind, namespace, name, scope.Resource, scope.Subresource,
		admission.Update, p.updateOptions(), len(options.DryRun) > 0, user)
	return p
}

func (p *patcher) updateOptions() *metav1.UpdateOptions {
	options := &metav1.UpdateOptions{
		DryRun: p.options.DryRun, FieldManager: p.options.FieldManager, FieldValidation: p.options.FieldValidation,
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
	return options
}

// Preconditions are none: what a patch demands of an object, it says in the patch.
func (p *patcher) Preconditions() *metav1.Preconditions { return nil }

// UpdatedObject applies the patch to current, and asks admission what it wants changed.
func (p *patcher) UpdatedObject(ctx context.Context, current runtime.Object) (runtime.Object, error) {
	exists, err := hasUID(current)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, apierrors.NewNotFound(p.scope.Resource.GroupResource(), p.name)
	}
	p.attempts++
	patched, err := p.applyPatchToCurrentObject(ctx, current)
	if err != nil {
		return nil, err
	}
	if m, err := meta.Accessor(patched); err == nil {
		namespace := rest.ExpectedNamespaceForResource(p.namespace, p.scope.Resource)
		if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(namespace, m); err != nil {
			return nil, err
		}
	}
	if err := checkName(patched, p.name, p.namespace, p.scope.Namer); err != nil {
		return nil, err
	}
	if err := mutate(ctx, p.scope, withObjects(p.attributes, p.name, patched, current)); err != nil {
		return nil, err
	}
	dedupOwnerReferencesAndAddWarning(ctx, patched, true)
	return patched, nil
}

// applyPatchToCurrentObject makes the next state of an object, both in the hub version; the patch is applied in the
// version of the request.
func (p *patcher) applyPatchToCurrentObject(ctx context.Context, current runtime.Object) (patched runtime.Object, err error) {
	ctx, step := trace.Start(ctx, trace.HandlerApplyPatch, string(p.mechanism.patchType))
	defer step.End(&err)
	// The patch may hold a secret: it is known by its type and size alone.
	step.Int("bytes", int64(len(p.patch)))
	if p.attempts > 1 {
		step.Whyf("attempt %d: the object is not what it was when the patch was applied last", p.attempts)
	}
	step.Before(current)
	versioned, err := fromHub(ctx, p.scope, current)
	if err != nil {
		return nil, err
	}
	versioned, gv, err := p.mechanism.apply(ctx, p, versioned)
	if err != nil {
		return nil, err
	}
	if patched, err = toHub(ctx, p.scope, versioned, gv); err != nil {
		return nil, err
	}
	step.After(patched)
	return patched, nil
}

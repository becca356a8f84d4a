package handler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/audit"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// PatchResource answers PATCH of an object. It accepts the media types in patchTypes.
//
//go:noinline
func PatchResource(r rest.Patcher, scope *RequestScope, patchTypes []string) http.HandlerFunc {
	patchTypes = offeredPatchTypes(patchTypes, scope)
	return func(w http.ResponseWriter, req *http.Request) {
		var err error
		ctx, step := trace.Start(req.Context(), steps.HandlerPatch, req.URL.Path)
		defer step.End(&err)
		if err = servePatch(ctx, r, scope, patchTypes, w, req); err != nil {
			scope.err(err, w, req)
		}
	}
}

// offeredPatchTypes removes server-side apply for a resource without field owners.
func offeredPatchTypes(patchTypes []string, scope *RequestScope) []string {
	return slices.DeleteFunc(slices.Clone(patchTypes), func(patchType string) bool {
		return scope.FieldManager == nil && patchType == string(types.ApplyYAMLPatchType)
	})
}

func servePatch(ctx context.Context, r rest.Patcher, scope *RequestScope, patchTypes []string, w http.ResponseWriter,
	req *http.Request) error {
	mechanism, err := patchMechanismFor(req, patchTypes)
	if err != nil {
		return err
	}
	ctx, namespace, name, mediaType, err := objectRequest(ctx, req, scope)
	if err != nil {
		return err
	}
	body, err := scope.readBody(ctx, req, mechanism.extraFields, r, name)
	if err != nil {
		return err
	}
	options, err := patchOptions(req, scope, mechanism.patchType)
	if err != nil {
		return err
	}
	asJSON, err := mechanism.toJSON(body)
	if err != nil {
		return err
	}
	if audit.AuditContextFrom(ctx).Enabled() {
		audit.LogRequestPatch(ctx, asJSON)
	}

	ctx = withCondition(scope.BeginWrite(ctx), r)
	p := newPatcher(mechanism, body, options, newUpdate(ctx, scope, namespace, name, req.URL.Path, patchToUpdateOptions(options)))
	p.manager = managerOrUserAgent(options.FieldManager, req.UserAgent())
	result, created, err := p.patchResource(ctx, r)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if created {
		code = http.StatusCreated
	}
	return transformResponseObject(ctx, scope, req, w, code, mediaType, result)
}

// patchMechanismFor returns the mechanism for the Content-Type of req.
func patchMechanismFor(req *http.Request, patchTypes []string) (*patchMechanism, error) {
	contentType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	for _, patchType := range patchTypes {
		if patchType != contentType {
			continue
		}
		for _, m := range patchMechanisms {
			if string(m.patchType) == contentType {
				return m, nil
			}
		}
	}
	return nil, negotiation.NewUnsupportedMediaTypeError(patchTypes)
}

func patchOptions(req *http.Request, scope *RequestScope, patchType types.PatchType) (*metav1.PatchOptions, error) {
	options := &metav1.PatchOptions{}
	err := decodeOptions(req, "PatchOptions", func() error {
		if err := decodeParameters(req, scope.MetaGroupVersion, options); err != nil {
			return err
		}
		return invalidOptions("PatchOptions", validation.ValidatePatchOptions(options, patchType))
	})
	if err != nil {
		return nil, err
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PatchOptions"))
	return options, nil
}

// patchToUpdateOptions converts the options of a patch, which rest gets as an update.
func patchToUpdateOptions(po *metav1.PatchOptions) *metav1.UpdateOptions {
	options := &metav1.UpdateOptions{DryRun: po.DryRun, FieldManager: po.FieldManager, FieldValidation: po.FieldValidation}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
	return options
}

// patcher applies one patch. Storage asks it for the next state of an object at least once, each time with the current
// state. Therefore a patch without a resourceVersion never conflicts.
type patcher struct {
	*update

	mechanism       *patchMechanism
	patch           []byte
	options         *metav1.PatchOptions
	fieldValidation string

	attempts int
}

var _ rest.UpdatedObjectInfo = &patcher{}

func newPatcher(mechanism *patchMechanism, body []byte, options *metav1.PatchOptions, u *update) *patcher {
	return &patcher{
		update: u, mechanism: mechanism, patch: body, options: options, fieldValidation: fieldValidation(options.FieldValidation),
	}
}

// patchResource passes the patch to rest. If the result is too large, it tries again without managedFields. An apply is
// not tried again, because managedFields are its purpose.
func (p *patcher) patchResource(ctx context.Context, r rest.Patcher) (result runtime.Object, created bool, err error) {
	update := func() (runtime.Object, bool, error) {
		return restUpdate(ctx, r, p.name, p, p.validation(p.mechanism.creates), patchToUpdateOptions(p.options))
	}
	result, created, err = update()
	if !p.refused && tooLargeWithManagedFields(p.scope, err) && !p.mechanism.creates {
		p.withoutManagedFields = true
		result, created, err = update()
	}
	return result, created, err
}

// Preconditions returns nil: a patch contains its own preconditions.
func (p *patcher) Preconditions() *metav1.Preconditions { return nil }

// UpdatedObject applies the patch to current and runs mutating admission.
func (p *patcher) UpdatedObject(ctx context.Context, current runtime.Object) (runtime.Object, error) {
	patched, err := p.applyPatch(ctx, current)
	if p.refused = err != nil; p.refused {
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
	if patched, err = p.admit(ctx, patched, current); err != nil {
		return nil, err
	}
	if p.withoutManagedFields {
		dropManagedFields(patched)
	}
	return patched, nil
}

// applyPatch returns the next state of current, or a new object if current does not exist.
func (p *patcher) applyPatch(ctx context.Context, current runtime.Object) (runtime.Object, error) {
	p.attempts++
	exists, err := hasUID(current)
	if err != nil {
		return nil, err
	}
	switch {
	case exists && p.mechanism.apply == nil:
		return p.applyConfiguration(ctx, current)
	case exists:
		patched, err := p.applyPatchToCurrentObject(ctx, current)
		if err != nil {
			return nil, err
		}
		return p.manageFields(ctx, patched, current)
	case !p.mechanism.creates:
		return nil, apierrors.NewNotFound(p.scope.Resource.GroupResource(), p.name)
	}
	return p.createNewObject(ctx)
}

// createNewObject creates the object from an applied configuration.
func (p *patcher) createNewObject(ctx context.Context) (runtime.Object, error) {
	empty, err := newLiveObject(p.scope)
	if err != nil {
		return nil, err
	}
	obj, err := p.applyConfiguration(ctx, empty)
	if err != nil {
		return nil, err
	}
	if m, err := meta.Accessor(obj); err == nil && m.GetUID() != "" {
		mismatch := fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", m.GetUID())
		return nil, apierrors.NewConflict(p.scope.Resource.GroupResource(), p.name, mismatch)
	}
	return obj, nil
}

var patchedAgain = trace.Because("patched-again",
	"attempt {attempt}: the object has changed since the patch was last applied",
	"第 {attempt} 次尝试：上次应用 patch 之后，对象又变了")

// applyPatchToCurrentObject returns the next state of an object, both in the hub version. It applies the patch in the
// version of the request.
func (p *patcher) applyPatchToCurrentObject(ctx context.Context, current runtime.Object) (patched runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.HandlerApplyPatch, string(p.mechanism.patchType))
	defer step.End(&err)
	// The patch may hold a secret, so the step shows only its type and size.
	step.Int("bytes", int64(len(p.patch)))
	if p.attempts > 1 {
		step.Why(patchedAgain, int64(p.attempts))
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

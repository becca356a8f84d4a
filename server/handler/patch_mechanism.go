package handler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/server/handler/patchwork"
)

const (
	// maxJSONPatchOperations limits the operations of a JSON patch.
	maxJSONPatchOperations = 10000
	// maxJSONPatchCopyBytes limits what the copy operations of a JSON patch add to an object: without a limit, a small
	// patch that copies an object into itself grows it exponentially.
	maxJSONPatchCopyBytes = 3 << 20
)

func init() { jsonpatch.AccumulatedCopySizeLimit = maxJSONPatchCopyBytes }

// patchMechanism is one way to patch an object.
type patchMechanism struct {
	patchType types.PatchType
	// needsGoType is true if the patch depends on the tags of a Go type.
	needsGoType bool
	// creates is true if the patch may create the object.
	creates bool
	// extraFields is the number of fields that the patch may have beyond those of the object.
	extraFields int
	// toJSON returns the patch for the audit log. It refuses a body that can't be such a patch.
	toJSON func(body []byte) ([]byte, error)
	// apply returns the next state of current and its version, which a patch may change. current is in the version of
	// the request and is not modified. apply is nil for server-side apply: see applyConfiguration.
	apply func(ctx context.Context, p *patcher, current runtime.Object) (runtime.Object, schema.GroupVersion, error)
}

// patchMechanisms lists the mechanisms in the order in which clients see them.
var patchMechanisms = []*patchMechanism{
	{patchType: types.JSONPatchType, extraFields: operationFields * maxJSONPatchOperations, toJSON: onlyJSON,
		apply: jsonMechanism(applyJSONPatch)},
	{patchType: types.MergePatchType, toJSON: onlyJSON, apply: applyMergePatchToContent},
	{patchType: types.StrategicMergePatchType, needsGoType: true, toJSON: onlyJSON, apply: applyStrategicMergePatch},
	{patchType: types.ApplyYAMLPatchType, creates: true, toJSON: configurationAsJSON},
}

func onlyJSON(body []byte) ([]byte, error) {
	if !json.Valid(body) {
		return nil, apierrors.NewBadRequest("invalid JSON patch")
	}
	return body, nil
}

// PatchTypes returns the media types of patches that a resource accepts.
func PatchTypes(hasGoType bool) []string {
	var patchTypes []string
	for _, m := range patchMechanisms {
		if hasGoType || !m.needsGoType {
			patchTypes = append(patchTypes, string(m.patchType))
		}
	}
	return patchTypes
}

// checksFields reports whether unknown and duplicate fields matter to the client.
func (p *patcher) checksFields() bool { return p.fieldValidation != metav1.FieldValidationIgnore }

// jsonMechanism applies a patch to an object's JSON. apply also returns the strict errors of the patch itself.
func jsonMechanism(apply func(p *patcher, document []byte) (patched []byte, strictErrs []error,
	err error)) func(context.Context, *patcher, runtime.Object) (runtime.Object, schema.GroupVersion, error) {
	return func(ctx context.Context, p *patcher, current runtime.Object) (runtime.Object, schema.GroupVersion, error) {
		none := schema.GroupVersion{}
		info, document, err := p.document(current)
		if err != nil {
			return nil, none, err
		}
		patched, strictErrs, err := apply(p, document)
		if err != nil {
			return nil, none, err
		}
		serializer := info.Serializer
		if p.checksFields() {
			serializer = info.StrictSerializer
		}
		obj, gvk, err := p.scope.decode(ctx, serializer, patched, &p.scope.Kind)
		if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
			strictErrs, err = append(strictErrs, strict.Errors()...), nil
		}
		_, untyped := obj.(runtime.Unstructured)
		if err == nil && !untyped && gvk.Kind != p.scope.Kind.Kind {
			err = fmt.Errorf("converting (%T) to (%s): unknown conversion", obj, p.scope.Kind.Kind)
		}
		if err != nil {
			return nil, none, invalidPatch(string(patched), err)
		}
		if err := p.reportFields(ctx, string(patched), strictErrs); err != nil {
			return nil, none, err
		}
		if untyped { // no conversion: validation refuses a patch to another version
			return obj, p.scope.Kind.GroupVersion(), nil
		}
		return obj, gvk.GroupVersion(), nil
	}
}

// document encodes an object as JSON in the version of the request, and returns the serializer that decodes it again.
func (p *patcher) document(current runtime.Object) (info runtime.SerializerInfo, document []byte, err error) {
	info, ok := runtime.SerializerInfoForMediaType(p.scope.Serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return info, nil, fmt.Errorf("no serializer defined for %v", runtime.ContentTypeJSON)
	}
	document, err = runtime.Encode(p.scope.Serializer.EncoderForVersion(info.Serializer, p.scope.Kind.GroupVersion()), current)
	return info, document, err
}

// reportFields warns of unknown and duplicate fields, or refuses them. value is the patched object.
func (p *patcher) reportFields(ctx context.Context, value string, strictErrs []error) error {
	if len(strictErrs) == 0 {
		return nil
	}
	if p.fieldValidation == metav1.FieldValidationWarn {
		addStrictDecodingWarnings(ctx, strictErrs)
		return nil
	}
	return invalidPatch(value, runtime.NewStrictDecodingError(strictErrs))
}

// jsonPatchOp has all fields of an operation, so that strict decoding finds any others.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

func applyJSONPatch(p *patcher, document []byte) ([]byte, []error, error) {
	var strictErrs []error
	if p.checksFields() {
		var operations []jsonPatchOp
		var err error
		if strictErrs, err = kjson.UnmarshalStrict(p.patch, &operations); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		for i, e := range strictErrs {
			strictErrs[i] = fmt.Errorf("json patch %w", e)
		}
	}
	patch, err := jsonpatch.DecodePatch(p.patch)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(patch) > maxJSONPatchOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxJSONPatchOperations, len(patch)))
	}
	if err := patchwork.Check(patch, p.patch, document); err != nil {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	patched, err := applyOperations(patch, document)
	if err != nil {
		return nil, nil, unprocessable(err)
	}
	return patched, strictErrs, nil
}

// applyOperations turns panics of the library into errors: it dereferences values that an operation lacks.
func applyOperations(patch jsonpatch.Patch, document []byte) (_ []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("an operation lacks something: %v", r)
		}
	}()
	return patch.Apply(document)
}

func applyStrategicMergePatch(ctx context.Context, p *patcher, current runtime.Object) (runtime.Object, schema.GroupVersion, error) {
	gv := p.scope.Kind.GroupVersion()
	document, err := runtime.DefaultUnstructuredConverter.ToUnstructured(current)
	if err != nil {
		return nil, gv, err
	}
	patch := map[string]any{}
	var strictErrs []error
	if p.checksFields() {
		strictErrs, err = kjson.UnmarshalStrict(p.patch, &patch)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(p.patch, &patch)
	}
	if err != nil {
		return nil, gv, apierrors.NewBadRequest(err.Error())
	}
	obj, err := p.scope.Creater.New(p.scope.Kind)
	if err != nil {
		return nil, gv, err
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(obj)
	if err != nil {
		return nil, gv, err
	}
	if err := p.scope.checkMerge(document, patch, schema); err != nil {
		return nil, gv, err
	}
	patched, err := strategicpatch.StrategicMergeMapPatch(document, patch, obj)
	if err != nil {
		return nil, gv, interpretStrategicMergePatchError(err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(patched, obj, p.checksFields())
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		strictErrs, err = append(strictErrs, strict.Errors()...), nil
	}
	value := fmt.Sprintf("%+v", patch)
	if err != nil {
		return nil, gv, invalidPatch(value, err)
	}
	if err := p.reportFields(ctx, value, strictErrs); err != nil {
		return nil, gv, err
	}
	setDefaults(ctx, p.scope, obj)
	return obj, gv, nil
}

// interpretStrategicMergePatchError distinguishes a malformed patch from one that can't be applied. The object itself
// was valid, so every other error of the library is about the patch, too.
func interpretStrategicMergePatchError(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrNoListOfLists), errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return unprocessable(err)
	}
	return patchError(apierrors.NewBadRequest(err.Error()), "it is not a strategic merge patch")
}

// patchError returns a Status for the client. Traces and logs get only why.
func patchError(status *apierrors.StatusError, why string) error {
	return mask.ForClient(status, "the patch can't be applied: "+why)
}

// unprocessable returns the 422 for a well-formed patch that can't be applied. The client does not get the reason;
// traces and logs do.
func unprocessable(err error) error {
	return patchError(
		apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false),
		err.Error())
}

// invalidPatch returns the 422 for a patch whose result is no valid object. It quotes value, the result, which may hold
// a secret.
func invalidPatch(value string, err error) error {
	if answersItself(err) {
		return err
	}
	return patchError(
		apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), value, err.Error()),
		}),
		err.Error())
}

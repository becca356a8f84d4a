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
)

const (
	// maxJSONPatchOperations is how many operations a JSON patch may have.
	maxJSONPatchOperations = 10000
	// maxJSONPatchCopyBytes is how much the copy operations of a JSON patch may add to an object: without a limit, a
	// small patch that copies an object into itself grows it exponentially.
	maxJSONPatchCopyBytes = 3 << 20
)

func init() { jsonpatch.AccumulatedCopySizeLimit = maxJSONPatchCopyBytes }

// patchMechanism is a kind of patch.
type patchMechanism struct {
	patchType types.PatchType
	// needsGoType says that the patch can't be applied without the tags of a Go type.
	needsGoType bool
	// creates says that an object is made where none is.
	creates bool
	// extraFields is how many fields the patch may have beyond those of the object.
	extraFields int
	// toJSON refuses what can't be a patch of this kind, and returns what the audit log says of it.
	toJSON func(body []byte) ([]byte, error)
	// apply makes the next state of current, which is in the version of the request and stays as it is. It returns the
	// version of the result, which a patch may change. It is nil for server-side apply: see applyConfiguration.
	apply func(ctx context.Context, p *patcher, current runtime.Object) (runtime.Object, schema.GroupVersion, error)
}

// patchMechanisms are the kinds of patches there are, in the order in which clients are told of them.
var patchMechanisms = []*patchMechanism{
	{patchType: types.JSONPatchType, extraFields: operationFields * maxJSONPatchOperations, toJSON: onlyJSON, apply: jsonMechanism(applyJSONPatch)},
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

// PatchTypes are the media types of patches that a resource accepts.
func PatchTypes(hasGoType bool) []string {
	var patchTypes []string
	for _, m := range patchMechanisms {
		if hasGoType || !m.needsGoType {
			patchTypes = append(patchTypes, string(m.patchType))
		}
	}
	return patchTypes
}

// checksFields says whether the client wants to know of unknown and duplicate fields.
func (p *patcher) checksFields() bool { return p.fieldValidation != metav1.FieldValidationIgnore }

// jsonMechanism applies a patch to an object's JSON. apply also returns what is wrong with the fields of the patch itself.
func jsonMechanism(apply func(p *patcher, document []byte) (patched []byte, strictErrs []error, err error)) func(context.Context, *patcher, runtime.Object) (runtime.Object, schema.GroupVersion, error) {
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
		if untyped { // a patch that says something else is refused by the resource's validation: it is not converted
			return obj, p.scope.Kind.GroupVersion(), nil
		}
		return obj, gvk.GroupVersion(), nil
	}
}

// document is an object as JSON, in the version of the request, and how that is read.
func (p *patcher) document(current runtime.Object) (info runtime.SerializerInfo, document []byte, err error) {
	info, ok := runtime.SerializerInfoForMediaType(p.scope.Serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return info, nil, fmt.Errorf("no serializer defined for %v", runtime.ContentTypeJSON)
	}
	document, err = runtime.Encode(p.scope.Serializer.EncoderForVersion(info.Serializer, p.scope.Kind.GroupVersion()), current)
	return info, document, err
}

// reportFields warns of unknown and duplicate fields, or refuses them. value is what the patch made.
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

// jsonPatchOp has the fields of an operation, for the check that there are no others.
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
	patched, err := applyOperations(patch, document)
	if err != nil {
		return nil, nil, unprocessable(err)
	}
	return patched, strictErrs, nil
}

// applyOperations makes an error of the library's panics: it dereferences values that an operation does not have.
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

// interpretStrategicMergePatchError tells what is wrong with the form of a patch from what is wrong with its effect.
// Whatever else the library complains of is in the patch too, for the object was valid.
func interpretStrategicMergePatchError(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrNoListOfLists), errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return unprocessable(err)
	}
	return patchError(apierrors.NewBadRequest(err.Error()), "it is not a strategic merge patch")
}

// patchError is a Status for the client, and for traces and logs that the patch can't be applied, and why.
func patchError(status *apierrors.StatusError, why string) error {
	return mask.ForClient(status, "the patch can't be applied: "+why)
}

// unprocessable is the 422 for a patch that is well-formed and can't be applied. Clients are not told why.
func unprocessable(err error) error {
	return patchError(
		apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false),
		err.Error())
}

// invalidPatch is the 422 for a patch that makes no valid object. The client is shown what it made: value, which may
// hold a secret.
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

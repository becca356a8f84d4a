package handler

import (
	"context"
	"errors"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// applyMergePatch applies a merge patch to an object's JSON.
var applyMergePatch = jsonMechanism(mergeJSON)

func mergeJSON(p *patcher, document []byte) ([]byte, []error, error) {
	var strictErrs []error
	if p.checksFields() {
		var err error
		if strictErrs, err = p.readMergePatch(&map[string]any{}); err != nil {
			return nil, nil, err
		}
	}
	patched, err := jsonpatch.MergePatch(document, p.patch)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return patched, strictErrs, err
}

func (p *patcher) readMergePatch(into *map[string]any) (strictErrs []error, err error) {
	if strictErrs, err = kjson.UnmarshalStrict(p.patch, into); err != nil {
		return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	return strictErrs, nil
}

// contentDecoder decodes what has been read already: an object without a Go type, of the kind that it should be.
type contentDecoder interface {
	DecodeContent(ctx context.Context, u *unstructured.Unstructured) error
}

// applyMergePatchToContent does what applyMergePatch does, without making JSON of an object that is nearly JSON already
// and reading that again: most of what a patch costs otherwise. What is unusual is left to applyMergePatch.
func applyMergePatchToContent(ctx context.Context, p *patcher, current runtime.Object) (runtime.Object, schema.GroupVersion, error) {
	u, untyped := current.(*unstructured.Unstructured)
	if !untyped || !p.checksFields() {
		return applyMergePatch(ctx, p, current)
	}
	info, _ := runtime.SerializerInfoForMediaType(p.scope.Serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	decoder, ok := p.scope.Serializer.DecoderToVersion(info.StrictSerializer, asSent{}).(contentDecoder)
	var patch map[string]any
	strictErrs, err := p.readMergePatch(&patch)
	if !ok || err != nil || patch == nil || patchesKind(patch) {
		return applyMergePatch(ctx, p, current)
	}
	merged := u.DeepCopy()
	mergeContent(merged.Object, patch)
	err = decoder.DecodeContent(ctx, merged)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		strictErrs, err = append(strictErrs, strict.Errors()...), nil
	}
	if err != nil || len(strictErrs) > 0 {
		if err := p.reportMerge(ctx, current, strictErrs, err); err != nil {
			return nil, schema.GroupVersion{}, err
		}
	}
	return merged, p.scope.Kind.GroupVersion(), nil
}

// patchesKind says whether a patch makes something else of an object, or nothing.
func patchesKind(patch map[string]any) bool {
	_, kind := patch["kind"]
	_, version := patch["apiVersion"]
	return kind || version
}

// reportMerge shows the client what its patch made of current, as JSON, and what is wrong with it.
func (p *patcher) reportMerge(ctx context.Context, current runtime.Object, strictErrs []error, err error) error {
	_, document, documentErr := p.document(current)
	if documentErr != nil {
		return documentErr
	}
	value, _, mergeErr := mergeJSON(p, document)
	if mergeErr != nil {
		return mergeErr
	}
	if err != nil {
		return invalidPatch(string(value), err)
	}
	return p.reportFields(ctx, string(value), strictErrs)
}

// mergeContent merges a patch into an object, of which it becomes part.
func mergeContent(object, patch map[string]any) {
	for name, value := range patch {
		if value == nil {
			delete(object, name)
			continue
		}
		inner, isObject := object[name].(map[string]any)
		innerPatch, isPatch := value.(map[string]any)
		switch {
		case isObject && isPatch:
			mergeContent(inner, innerPatch)
			continue
		case !isObject:
			dropNulls(value)
		}
		object[name] = value
	}
}

// dropNulls drops the fields of a patch that remove what is not there. Nulls in lists stay.
func dropNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			if field == nil {
				delete(value, name)
			} else {
				dropNulls(field)
			}
		}
	case []any:
		for _, item := range value {
			dropNulls(item)
		}
	}
}

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

	"github.com/kx-apiserver/kx/server/handler/patchwork"
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
	if err := patchwork.CheckMerge(p.patch, document); err != nil {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(err.Error())
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

// contentDecoder decodes an object that is parsed already: one without a Go type, of the expected kind.
type contentDecoder interface {
	DecodeContent(ctx context.Context, u *unstructured.Unstructured) error
}

// applyMergePatchToContent has the result of applyMergePatch. It avoids encoding an untyped object as JSON and parsing
// it again, which is most of the cost of a patch. Unusual patches go to applyMergePatch.
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

// patchesKind reports whether a patch changes or removes the object's apiVersion or kind.
func patchesKind(patch map[string]any) bool {
	_, kind := patch["kind"]
	_, version := patch["apiVersion"]
	return kind || version
}

// reportMerge returns an error, or warns, about the fields of a patch. An error quotes the patched object as JSON.
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

// mergeContent merges a patch into an object. The object then shares memory with the patch.
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

// dropNulls removes the null fields of a new value, since there is nothing that they could delete. Nulls in lists stay.
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

package schema

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/internal/schematest"
)

// everyStage does what Prune and Default do by the library alone, and leaves nothing out.
func everyStage(obj map[string]any, s *structuralschema.Structural) (unknown []string, err error) {
	kind, apiVersion := obj["kind"], obj["apiVersion"]
	meta, _, unknown, err := objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	unknown = append(unknown, structuralpruning.PruneWithOptions(obj, s, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(obj, s)
	fieldErr, paths := objectmeta.CoerceWithOptions(nil, obj, s, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if fieldErr != nil {
		return nil, fieldErr
	}
	obj["kind"], obj["apiVersion"] = kind, apiVersion
	if err := objectmeta.SetObjectMeta(obj, meta); err != nil {
		return nil, err
	}
	structuraldefaulting.Default(obj, s)
	return append(unknown, paths...), nil
}

// spoiled adds unknown fields and nulls to some of the objects within a value.
func spoiled(r *rand.Rand, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if spoiled(r, v); r.IntN(20) == 0 {
				value[name] = nil
			}
		}
		if r.IntN(5) == 0 {
			value["unknown"] = []any{"a", map[string]any{"b": nil}}
		}
	case []any:
		for _, v := range value {
			spoiled(r, v)
		}
	}
}

// TestStagesAsLibrary compares what is left out for schemas and metadata that don't need it with leaving nothing out.
func TestStagesAsLibrary(t *testing.T) {
	texts := []string{webSchema, routeSchema, `{type: object, x-kubernetes-preserve-unknown-fields: true}`}
	for _, text := range schematest.Schemas {
		texts = append(texts, text)
	}
	r := rand.New(rand.NewPCG(10, 11))
	for _, text := range texts {
		s := compile(t, strings.ReplaceAll(text, "\t", " "))
		for range 200 {
			obj := schematest.Object(r, s.structural)
			kind, apiVersion := obj["kind"], obj["apiVersion"]
			spoiled(r, obj)
			obj["kind"], obj["apiVersion"] = kind, apiVersion
			sent := runtime.DeepCopyJSON(obj)
			whole := runtime.DeepCopyJSON(obj)
			wantUnknown, wantErr := everyStage(whole, s.structural)
			unknown, err := s.Prune(context.Background(), obj, PruneOptions{UnknownFieldPaths: true})
			s.Default(context.Background(), obj)
			slices.Sort(unknown)
			slices.Sort(wantUnknown)
			if (err == nil) != (wantErr == nil) || err == nil && (!reflect.DeepEqual(obj, whole) || !slices.Equal(unknown, wantUnknown)) {
				t.Fatalf("%s\nof %s\nmakes %s, unknown %v, %v\nthe library %s, unknown %v, %v", text, asJSON(t, sent), asJSON(t, obj), unknown, err, asJSON(t, whole), wantUnknown, wantErr)
			}
		}
	}
}

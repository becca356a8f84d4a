package schema

import (
	"context"

	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kx-apiserver/kx/core/trace"
)

// Default gives the fields that the object does not have their defaults.
func (s *Schema) Default(ctx context.Context, obj map[string]any) {
	_, step := trace.Start(ctx, trace.CRDDefault, s.kind.Kind)
	defer step.End(nil)
	if step.Recording() {
		step.Before(&unstructured.Unstructured{Object: obj})
		step.Why(s.defaultsWhy(obj))
	}
	if s.uses.defaults {
		structuraldefaulting.Default(obj, s.structural)
	}
	if step.Recording() {
		step.After(&unstructured.Unstructured{Object: obj})
	}
}

// defaultsWhy says which defaults will be set.
func (s *Schema) defaultsWhy(obj map[string]any) string {
	if !s.uses.defaults {
		return "no default set: the schema has none"
	}
	if paths := missingDefaults(obj, s.structural); len(paths) > 0 {
		return listed(paths, "default", "set")
	}
	return "no default set: what has one is there"
}

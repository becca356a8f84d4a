package schema

import (
	"context"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
)

// PruneOptions says where the object comes from.
type PruneOptions struct {
	// UnknownFieldPaths asks for the paths of the dropped fields, which strict decoding reports.
	UnknownFieldPaths bool
	// Stored says that the object was read from etcd: metadata that was never validated loses its malformed fields
	// instead of failing, and a missing generation becomes 1.
	Stored bool
}

// Prune does to an object what decoding into a Go type would do. It drops unknown fields, and nulls that are not allowed and
// that no default replaces. It coerces metadata to ObjectMeta, also in embedded resources. An object of another kind has only
// its metadata coerced.
func (s *Schema) Prune(ctx context.Context, obj map[string]any, opts PruneOptions) (unknownFieldPaths []string, err error) {
	_, step := trace.Start(ctx, trace.CRDPrune, s.kind.Kind)
	defer step.End(&err)
	if step.Objects() {
		step.Before(&unstructured.Unstructured{Object: obj})
	}
	p := pruning{schema: s, opts: opts, report: step.Recording()}
	if err := p.run(obj); err != nil {
		return nil, err
	}
	if step.Recording() {
		p.say(step)
		step.After(&unstructured.Unstructured{Object: obj})
	}
	if !opts.UnknownFieldPaths {
		return nil, nil
	}
	return p.unknown, nil
}

// pruning is one run of Prune.
type pruning struct {
	schema *Schema
	opts   PruneOptions
	// report says that the caller wants the paths of dropped fields.
	report  bool
	unknown []string
	nulls   []string
}

func (p *pruning) run(obj map[string]any) error {
	kind, hasKind, err := unstructured.NestedString(obj, "kind")
	if err != nil {
		return err
	}
	apiVersion, hasAPIVersion, err := unstructured.NestedString(obj, "apiVersion")
	if err != nil {
		return err
	}
	metadata, hasMeta := obj["metadata"]
	var meta *metav1.ObjectMeta
	if hasMeta && !ordinary(metadata) {
		var unknown []string
		meta, _, unknown, err = objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{
			DropMalformedFields:     p.opts.Stored,
			ReturnUnknownFieldPaths: p.opts.UnknownFieldPaths || p.report,
		})
		if err != nil {
			return err
		}
		p.unknown = append(p.unknown, unknown...)
	}
	gv, err := apischema.ParseGroupVersion(apiVersion)
	if err != nil {
		return err
	}
	if gv.Group == p.schema.kind.Group && kind == p.schema.kind.Kind {
		if err := p.body(obj); err != nil {
			return err
		}
		if p.opts.Stored && hasMeta {
			addGeneration(metadata, meta)
		}
	}
	// apiVersion, kind and metadata are kept, whatever the schema says.
	if hasKind {
		obj["kind"] = kind
	}
	if hasAPIVersion {
		obj["apiVersion"] = apiVersion
	}
	if meta != nil {
		return objectmeta.SetObjectMeta(obj, meta)
	}
	if hasMeta {
		obj["metadata"] = metadata
	}
	return nil
}

// addGeneration is for objects that are older than generations. meta is nil if metadata does not change otherwise.
func addGeneration(metadata any, meta *metav1.ObjectMeta) {
	if meta != nil {
		if meta.Generation == 0 {
			meta.Generation = 1
		}
	} else if m := metadata.(map[string]any); m["generation"] == nil {
		m["generation"] = int64(1)
	}
}

// body prunes by the schema.
func (p *pruning) body(obj map[string]any) error {
	track := p.opts.UnknownFieldPaths || p.report
	structural := p.schema.structural
	if !p.schema.preserveUnknown {
		paths := structuralpruning.PruneWithOptions(obj, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: track})
		p.unknown = append(p.unknown, paths...)
		if hasNull(obj) {
			p.dropNulls(obj)
		}
	}
	if !p.schema.uses.embedded {
		return nil
	}
	err, paths := objectmeta.CoerceWithOptions(nil, obj, structural, false, objectmeta.CoerceOptions{
		DropInvalidFields:       p.opts.Stored,
		ReturnUnknownFieldPaths: track,
	})
	if err != nil {
		return err
	}
	p.unknown = append(p.unknown, paths...)
	return nil
}

// dropNulls drops nulls that are not allowed and that no default will replace.
func (p *pruning) dropNulls(obj map[string]any) {
	var before []string
	if p.report {
		before = nullPaths(obj)
	}
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(obj, p.schema.structural)
	if p.report {
		p.nulls = without(before, nullPaths(obj))
	}
}

// say tells step what was dropped.
func (p *pruning) say(step *trace.Step) {
	unknown, nulls := int64(len(p.unknown)), int64(len(p.nulls))
	switch {
	case unknown+nulls == 0 && p.schema.preserveUnknown:
		step.Why(trace.AllFieldsPreserved)
	case unknown+nulls == 0:
		step.Why(trace.AllFieldsKnown)
	case nulls == 0:
		step.WhyText(trace.UnknownFieldsDropped, listed(p.unknown), unknown)
	case unknown == 0:
		step.WhyText(trace.NullsDropped, listed(p.nulls), nulls)
	default:
		step.WhyText(trace.UnknownAndNullsDropped, listed(p.unknown)+"; "+listed(p.nulls), unknown, nulls)
	}
}

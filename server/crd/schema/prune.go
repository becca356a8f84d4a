package schema

import (
	"context"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// PruneOptions depends on the source of the object.
type PruneOptions struct {
	// UnknownFieldPaths requests the paths of the dropped fields, which strict decoding reports.
	UnknownFieldPaths bool
	// Stored means that the object comes from etcd: malformed fields of its metadata, which was never
	// validated, are dropped instead of an error, and a missing generation becomes 1.
	Stored bool
}

// Prune has the effect on an object that decoding into a Go type would have. It drops unknown fields, and nulls
// that are not allowed and that no default replaces. It coerces metadata to ObjectMeta, also in embedded
// resources. For an object of another kind, it coerces only the metadata.
func (s *Schema) Prune(ctx context.Context, obj map[string]any, opts PruneOptions) (unknownFieldPaths []string, err error) {
	_, step := trace.Start(ctx, steps.CRDPrune, s.kind.Kind)
	defer step.End(&err)
	if step.Objects() {
		step.Before(&unstructured.Unstructured{Object: obj})
	}
	p := pruning{schema: s, opts: opts, report: step.Recording()}
	switch {
	case opts.UnknownFieldPaths:
		p.unknown.names = maxUnknown
	case p.report:
		p.unknown.names = trace.MaxListed
	}
	p.nulls.names = trace.MaxListed
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
	return p.unknown.paths, nil
}

// pruning is one run of Prune.
type pruning struct {
	schema *Schema
	opts   PruneOptions
	// report means that a step shows the dropped fields.
	report  bool
	unknown removals
	nulls   removals
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
		for _, path := range unknown { // at most 100 of one ObjectMeta
			p.unknown.add(nil, path)
		}
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

// addGeneration sets the generation of objects that are older than generations. meta is nil if metadata does
// not change otherwise.
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
		if root := resourceRoot(structural); hasUnknown(obj, root) {
			if track {
				p.unknown.find(func(f *finder) { f.unknown(nil, obj, root) })
			}
			structuralpruning.Prune(obj, structural, true)
		}
		if hasNull(obj) {
			p.dropNulls(obj)
		}
	}
	if !p.schema.uses.embedded {
		return nil
	}
	c := coercion{dropInvalid: p.opts.Stored}
	if track {
		c.unknown = &p.unknown
	}
	before := len(p.unknown.paths)
	if err := c.coerce(nil, obj, structural); err != nil {
		return err
	}
	slices.Sort(p.unknown.paths[before:])
	return nil
}

// resourceRoot returns the schema of a whole object, whose apiVersion, kind and metadata are always known.
func resourceRoot(s *structuralschema.Structural) *structuralschema.Structural {
	root := structuralschema.Structural{}
	if s != nil {
		root = *s
	}
	root.XEmbeddedResource = true
	return &root
}

// dropNulls drops nulls that are not allowed and that no default will replace.
func (p *pruning) dropNulls(obj map[string]any) {
	if p.report {
		p.nulls.find(func(f *finder) { f.nulls(nil, obj, p.schema.structural) })
	}
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(obj, p.schema.structural)
}

var (
	allFieldsPreserved = trace.Because("all-fields-preserved",
		"nothing is dropped: spec.preserveUnknownFields is true",
		"不裁剪：spec.preserveUnknownFields 为 true")
	allFieldsKnown = trace.Because("all-fields-known",
		"nothing is dropped: the schema knows every field",
		"不裁剪：schema 中有全部字段")
	unknownFieldsDropped = trace.Because("unknown-fields-dropped",
		"unknown fields dropped, in all {count}: {fields:quote}",
		"裁剪了 {count} 个未知字段：{fields:quote}")
	nullsDropped = trace.Because("nulls-dropped",
		"nulls dropped where the schema allows none, in all {count}: {fields:quote}",
		"去掉了 schema 不允许的 {count} 个 null：{fields:quote}")
	unknownAndNullsDropped = trace.Because("unknown-and-nulls-dropped",
		"dropped {unknown} unknown fields, and {nulls} nulls where the schema allows none: {fields:quote}",
		"裁剪了 {unknown} 个未知字段，去掉了 schema 不允许的 {nulls} 个 null：{fields:quote}")
)

// say records the dropped fields in step.
func (p *pruning) say(step *trace.Step) {
	unknown, nulls := int64(p.unknown.count), int64(p.nulls.count)
	switch {
	case unknown+nulls == 0 && p.schema.preserveUnknown:
		step.Why(allFieldsPreserved)
	case unknown+nulls == 0:
		step.Why(allFieldsKnown)
	case nulls == 0:
		step.WhyText(unknownFieldsDropped, p.unknown.text(), unknown)
	case unknown == 0:
		step.WhyText(nullsDropped, p.nulls.text(), nulls)
	default:
		step.WhyText(unknownAndNullsDropped, p.unknown.text()+"; "+p.nulls.text(), unknown, nulls)
	}
}

package controller

import (
	"context"
	"fmt"
	"log/slog"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/crd/lister"
)

// nonStructural reports definitions whose schema is not structural.
//
// In come definitions from the lister. Out goes the condition NonStructuralSchema, which exists only while a
// schema has violations. A new v1 definition with such a schema is refused. One that an older server stored is
// still served, but without the features that need a structural schema: pruning, defaults, and publication.
//
// # Invariants
//
//  1. Each generation of a definition is judged once in each process: schemas are large, and servers of
//     different versions that judge differently must not take turns.
type nonStructural struct {
	lister *lister.Lister
	status statusWriter
	queue  *queue
	// judged holds the states that were judged, by name. Only Run uses it.
	judged map[string]schemaState
}

// schemaState is the part of a definition that determines its schemas.
type schemaState struct {
	uid        types.UID
	generation int64
}

// newNonStructural creates a controller. It receives changes once the lister runs.
func newNonStructural(l *lister.Lister, status statusWriter, log *slog.Logger) *nonStructural {
	c := &nonStructural{
		lister: l, status: status, queue: newQueue("judge the schema of a CustomResourceDefinition", status.Gate, log),
		judged: map[string]schemaState{},
	}
	// Changes outside the schemas count, too: one of them may have come between a verdict and its write.
	l.Subscribe(func(old, now *Definition) {
		if now == nil {
			now = old
		}
		c.queue.Add(now.Name)
	})
	return c
}

// Run works until ctx ends, on one definition at a time, since no request waits for the result.
func (c *nonStructural) Run(ctx context.Context) {
	c.queue.Run(ctx, func(ctx context.Context, names []string) nameFailures {
		return eachName(names, 1, func(name string) error { return c.look(ctx, name) })
	})
}

func (c *nonStructural) look(ctx context.Context, name string) error {
	d := c.lister.Get(name)
	if d == nil {
		delete(c.judged, name)
		return nil
	}
	now := schemaState{d.UID, d.Generation}
	if c.judged[name] == now {
		return nil
	}
	next := judgeSchema(d)
	if !apihelpers.IsCRDConditionEquivalent(next, apihelpers.FindCRDCondition(d, apiextensionsv1.NonStructuralSchema)) {
		_, err := c.status.Update(ctx, d, func(d *Definition) {
			if next == nil {
				apihelpers.RemoveCRDCondition(d, apiextensionsv1.NonStructuralSchema)
			} else {
				apihelpers.SetCRDCondition(d, *next)
			}
		})
		if err != nil {
			return err
		}
	}
	c.judged[name] = now
	return nil
}

// judgeSchema returns the condition, or nil if all schemas are structural.
func judgeSchema(d *Definition) *apiextensionsv1.CustomResourceDefinitionCondition {
	c := &apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.NonStructuralSchema,
		Status: apiextensionsv1.ConditionUnknown}
	var errs field.ErrorList
	if d.Spec.PreserveUnknownFields {
		errs = append(errs, field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true, "must be false"))
	}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		structural, err := structuralOf(v)
		if err != nil {
			c.Reason, c.Message = "StructuralError", fmt.Sprintf("failed to check validation schema for version %s: %v", v.Name, err)
			return c
		}
		path := field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
		errs = append(errs, schema.ValidateStructural(path, structural)...)
	}
	if len(errs) == 0 {
		return nil
	}
	c.Status, c.Reason, c.Message = apiextensionsv1.ConditionTrue, "Violations", errs.ToAggregate().Error()
	return c
}

// structuralOf returns nil for a version without a schema.
func structuralOf(v *apiextensionsv1.CustomResourceDefinitionVersion) (*schema.Structural, error) {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil, nil
	}
	in := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, in, nil); err != nil {
		return nil, err
	}
	return schema.NewStructural(in.OpenAPIV3Schema)
}

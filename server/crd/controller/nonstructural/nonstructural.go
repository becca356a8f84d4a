package nonstructural

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

	"github.com/kx-apiserver/kx/server/crd/controller/work"
	"github.com/kx-apiserver/kx/server/crd/lister"
)

// Controller judges schemas.
type Controller struct {
	lister *lister.Lister
	status work.Status
	queue  *work.Queue
	// judged holds the states that were judged, by name. Only Run uses it.
	judged map[string]state
}

// state is the part of a definition that determines its schemas.
type state struct {
	uid        types.UID
	generation int64
}

// New creates a controller. It receives changes once the lister runs.
func New(l *lister.Lister, status work.Status, log *slog.Logger) *Controller {
	c := &Controller{
		lister: l, status: status, queue: work.NewQueue("judge the schema of a CustomResourceDefinition", log), judged: map[string]state{},
	}
	// Changes outside the schemas count, too: one of them may have come between a verdict and its write.
	l.Subscribe(func(old, now *work.Definition) {
		if now == nil {
			now = old
		}
		c.queue.Add(now.Name)
	})
	return c
}

// Run works until ctx ends, on one definition at a time, since no request waits for the result.
func (c *Controller) Run(ctx context.Context) {
	c.queue.Run(ctx, func(ctx context.Context, names []string) work.Failures {
		return work.Each(names, 1, func(name string) error { return c.look(ctx, name) })
	})
}

func (c *Controller) look(ctx context.Context, name string) error {
	d := c.lister.Get(name)
	if d == nil {
		delete(c.judged, name)
		return nil
	}
	now := state{d.UID, d.Generation}
	if c.judged[name] == now {
		return nil
	}
	next := judge(d)
	if !apihelpers.IsCRDConditionEquivalent(next, apihelpers.FindCRDCondition(d, apiextensionsv1.NonStructuralSchema)) {
		_, err := c.status.Update(ctx, d, func(d *work.Definition) {
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

// judge returns the condition, or nil if all schemas are structural.
func judge(d *work.Definition) *apiextensionsv1.CustomResourceDefinitionCondition {
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

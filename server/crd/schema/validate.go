package schema

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	structurallisttype "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/coverage"
)

// ExtraErrors holds the errors that no schema decides. They have a fixed place among those of the schema, and some
// of them prevent the CEL rules from running.
type ExtraErrors struct {
	Metadata field.ErrorList
	Scale    field.ErrorList
	// Cost, if not nil, receives the cost of the rules.
	Cost *int64
}

// Validate checks a new object.
func (s *Schema) Validate(ctx context.Context, obj map[string]any, others ExtraErrors) field.ErrorList {
	return s.check(ctx, &validationRun{obj: obj, others: others}, objectChecks)
}

// ValidateUpdate checks a change of an object. Errors in unchanged values are dropped.
func (s *Schema) ValidateUpdate(ctx context.Context, obj, old map[string]any, others ExtraErrors) field.ErrorList {
	return s.check(ctx, &validationRun{obj: obj, old: old, others: others, update: true, related: s.correlate(obj, old)}, objectChecks)
}

// ValidateStatusUpdate checks a change through the status subresource: by the schema of status only, and by all
// rules.
func (s *Schema) ValidateStatusUpdate(ctx context.Context, obj, old map[string]any, others ExtraErrors) field.ErrorList {
	return s.check(ctx, &validationRun{obj: obj, old: old, others: others, update: true, related: s.correlate(obj, old)}, statusChecks)
}

// correlate relates each value of the object to its old one. Without a structural schema nothing can be related.
func (s *Schema) correlate(obj, old map[string]any) *common.CorrelatedObject {
	if s.structural == nil {
		return nil
	}
	return common.NewCorrelatedObject(obj, old, &model.Structural{Structural: s.structural})
}

// validationRun is one validation.
type validationRun struct {
	obj, old map[string]any
	others   ExtraErrors
	update   bool
	related  *common.CorrelatedObject
}

type check func(s *Schema, ctx context.Context, v *validators, c *validationRun) field.ErrorList

// The checks in the order of their errors. The rules run after them.
var (
	objectChecks = []check{(*Schema).checkObject, (*Schema).checkEmbedded, (*Schema).checkLists}
	statusChecks = []check{(*Schema).checkStatus, (*Schema).checkLists}
)

var (
	schemaWithoutRules = trace.Because("schema-without-rules",
		"schema errors: {errors}; the schema has no rules",
		"schema 错误 {errors} 个；schema 没有规则")
	rulesKeptBack = trace.Because("rules-kept-back",
		"schema errors: {errors}; that keeps its {rules} rules from being evaluated",
		"schema 错误 {errors} 个，因此不再执行它的 {rules} 条规则")
	rulesEvaluated = trace.Because("rules-evaluated",
		"schema errors: {errors}; {rules:word}",
		"schema 错误 {errors} 个；{rules:word}")
)

func (s *Schema) check(ctx context.Context, c *validationRun, checks []check) (errs field.ErrorList) {
	ctx, step := trace.Start(ctx, steps.CRDValidate, s.kind.Kind)
	defer func() {
		errs = cut(errs)
		endWith(step, errs)
	}()
	if step.Objects() {
		if c.old != nil {
			step.Before(&unstructured.Unstructured{Object: c.old})
		}
		step.After(&unstructured.Unstructured{Object: c.obj})
	}
	v, err := s.validators()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, fmt.Errorf("compile the validators of %s: %w", s.kind, err))}
	}
	for _, check := range checks {
		errs = append(errs, cut(check(s, ctx, v, c))...)
		if err := ctx.Err(); err != nil {
			return ended(err)
		}
	}
	r := s.rules()
	switch {
	case r == nil:
		step.Why(schemaWithoutRules, int64(len(errs)))
		return errs
	case slices.ContainsFunc(errs, blocksRules):
		step.Why(rulesKeptBack, int64(len(errs)), int64(r.count))
		return append(errs,
			field.Invalid(nil, nil,
				"some validation rules were not checked because the object was invalid; "+
					"correct the existing errors to complete validation"))
	}
	e := evaluation{ctx: ctx, budget: celconfig.RuntimeCELCostBudget, observe: s.observer(ctx)}
	if step.Recording() {
		e.report = newRuleReport(ctx, r)
	}
	e.evaluate(r.root, nil, c.obj, oldValue(c.old), relation{current: c.related})
	if c.others.Cost != nil {
		*c.others.Cost = celconfig.RuntimeCELCostBudget - max(e.budget, 0)
	}
	if step.Recording() {
		e.report.finish(e.budget < 0)
		step.Int("cost", celconfig.RuntimeCELCostBudget-max(e.budget, 0))
		step.WhyText(rulesEvaluated, e.report.String(), int64(len(errs)))
	}
	return append(errs, e.errs...)
}

// observer returns what is called after each evaluation of a rule, nil without an observer.
func (s *Schema) observer(ctx context.Context) func(n *place, i int, v ref.Val, err error) {
	if s.observe == nil {
		return nil
	}
	return func(n *place, i int, v ref.Val, err error) {
		at := n.child("x-kubernetes-validations[%d].rule", i)
		s.observe(ctx, coverage.Expression{Kind: "CustomResourceDefinition", Name: s.crd, Path: at}, coverage.OutcomeOf(v, err))
	}
}

// oldValue is nil if there is no old object: a nil map is not nil.
func oldValue(old map[string]any) any {
	if old == nil {
		return nil
	}
	return old
}

// blocksRules reports whether an error prevents the rules from running: a value may be of a type that its rule
// can't handle, or so large that its cost can't be estimated.
func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}

// checkObject checks the object by its schema, and places the errors between those of metadata and scale.
func (s *Schema) checkObject(ctx context.Context, v *validators, c *validationRun) field.ErrorList {
	if errs := s.checkKind(c.obj); len(errs) > 0 {
		return errs
	}
	errs := append(field.ErrorList{}, c.others.Metadata...)
	invalid := s.walk(ctx, nil, v.object, c.obj, nil)
	if len(invalid) > 0 && c.update && c.related != nil {
		// Relating each value to its old one costs more than the rest, and only ever removes errors.
		invalid = s.walk(ctx, nil, v.object, c.obj, c.related)
	}
	return append(append(errs, invalid...), c.others.Scale...)
}

// checkStatus checks the status by its schema.
func (s *Schema) checkStatus(ctx context.Context, v *validators, c *validationRun) field.ErrorList {
	if errs := s.checkKind(c.obj); len(errs) > 0 {
		return errs
	}
	errs := append(field.ErrorList{}, c.others.Metadata...)
	if status, ok := c.obj["status"]; ok && v.status != nil {
		var related *common.CorrelatedObject
		if c.related != nil {
			// A missing old status equals null: a null in its place is no change.
			of := s.structural.Properties["status"]
			related = common.NewCorrelatedObject(status, c.old["status"], &model.Structural{Structural: &of})
		}
		errs = append(errs, s.walk(ctx, field.NewPath("status"), v.status, status, related)...)
	}
	return append(errs, c.others.Scale...)
}

// checkKind checks that the object is of this kind and version.
func (s *Schema) checkKind(obj map[string]any) (errs field.ErrorList) {
	u := unstructured.Unstructured{Object: obj}
	if kind := u.GetKind(); kind != s.kind.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), kind, "must be "+s.kind.Kind))
	}
	if gv := s.kind.Group + "/" + s.kind.Version; u.GetAPIVersion() != gv {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), u.GetAPIVersion(), "must be "+gv))
	}
	return errs
}

// checkEmbedded checks the kinds and the metadata of embedded resources.
func (s *Schema) checkEmbedded(ctx context.Context, _ *validators, c *validationRun) field.ErrorList {
	if !s.uses.embedded {
		return nil
	}
	return objectmeta.Validate(ctx, nil, c.obj, s.structural, false)
}

// checkLists checks that the items of sets and maps are distinct, unless the old object already violates that.
func (s *Schema) checkLists(_ context.Context, _ *validators, c *validationRun) field.ErrorList {
	if !s.uses.lists {
		return nil
	}
	errs := structurallisttype.ValidateListSetsAndMaps(nil, s.structural, c.obj)
	if len(errs) > 0 && c.update && len(structurallisttype.ValidateListSetsAndMaps(nil, s.structural, c.old)) > 0 {
		return nil
	}
	return errs
}

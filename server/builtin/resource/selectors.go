package resource

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// validateSelectors checks the expressions that select devices. It does not check stored expressions, which were
// valid when they were new, or the items of a list that is too long.
func validateSelectors(selectors []resourcev1.DeviceSelector, stored bool, path *field.Path) (errs field.ErrorList) {
	if len(selectors) > resourcev1.DeviceSelectorsMaxSize {
		return field.ErrorList{field.TooMany(path, len(selectors), resourcev1.DeviceSelectorsMaxSize).MarkCoveredByDeclarative()}
	}
	for i, selector := range selectors {
		at := path.Index(i).Child("cel")
		if selector.CEL == nil {
			errs = append(errs, field.Required(at, ""))
		} else if !stored {
			errs = append(errs, validateExpression(selector.CEL.Expression, at.Child("expression"))...)
		}
	}
	return errs
}

// validateExpression compiles an expression. Attributes with lists are off by default, so expressions cannot use
// them.
func validateExpression(text string, path *field.Path) field.ErrorList {
	if len(text) > resourcev1.CELSelectorExpressionMaxLength {
		return field.ErrorList{field.TooLong(path, text, resourcev1.CELSelectorExpressionMaxLength)}
	}
	compiler := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true})
	result := compiler.CompileCELExpression(text, dracel.Options{EnvType: new(environment.NewExpressions)})
	if result.Error != nil {
		return field.ErrorList{mistake(result.Error, text, path)}
	}
	if result.MaxCost > resourcev1.CELSelectorExpressionMaxCost {
		return field.ErrorList{field.Forbidden(path, "too complex, exceeds cost limit")}
	}
	return nil
}

func mistake(err *apiservercel.Error, text string, path *field.Path) *field.Error {
	switch err.Type {
	case apiservercel.ErrorTypeRequired:
		return field.Required(path, err.Detail)
	case apiservercel.ErrorTypeInvalid:
		return field.Invalid(path, text, err.Detail)
	case apiservercel.ErrorTypeInternal:
		return field.InternalError(path, err)
	}
	return field.InternalError(path, fmt.Errorf("unsupported error type: %w", err))
}

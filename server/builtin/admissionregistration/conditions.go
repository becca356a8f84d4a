package admissionregistration

import (
	"strings"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxMatchConditions = 64

// validateConditions checks match conditions. stored holds the expressions of the stored conditions, which may be
// older than this server.
func validateConditions(conditions []admissionregistrationv1.MatchCondition, stored sets.Set[string], params bool,
	path *field.Path) (errs field.ErrorList) {
	if len(conditions) > maxMatchConditions {
		errs = append(errs, field.TooMany(path, len(conditions), maxMatchConditions))
	}
	names := sets.New[string]()
	for i, condition := range conditions {
		at := path.Index(i)
		if text := strings.TrimSpace(condition.Expression); text == "" {
			errs = append(errs, field.Required(at.Child("expression"), ""))
		} else {
			errs = append(errs, newCompiler(false).Check(expression{
				Text: text, Types: []*cel.Type{cel.BoolType}, Stored: stored.Has(text),
				Variables: variables{HasParams: params, HasAuthorizer: true},
			}, at.Child("expression"))...)
		}
		if condition.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
			continue
		}
		errs = append(errs, validateQualifiedName(condition.Name, at.Child("name"))...)
		if names.Has(condition.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), condition.Name))
		}
		names.Insert(condition.Name)
	}
	return errs
}

// validateQualifiedName requires a name in the form of a label's key.
func validateQualifiedName(name string, path *field.Path) (errs field.ErrorList) {
	for _, msg := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, msg))
	}
	return errs
}

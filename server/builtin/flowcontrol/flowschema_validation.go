package flowcontrol

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"github.com/kx-apiserver/kx/server/builtin"
)

var flowSchemaSpecPath = field.NewPath("spec")

func validateFlowSchema(s *flowcontrolv1.FlowSchema) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&s.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateFlowSchemaSpec(s.Name, &s.Spec)...)
	if fixed := mandatory(bootstrap.MandatoryFlowSchemas, s.Name); fixed != nil && !apiequality.Semantic.DeepEqual(s.Spec, fixed.Spec) {
		errs = append(errs,
			field.Invalid(flowSchemaSpecPath, builtin.Quote(s.Spec), fmt.Sprintf("spec of '%s' must equal the fixed value", s.Name)))
	}
	return append(errs, validateFlowSchemaConditions(s)...)
}

// validateFlowSchemaUpdate checks an update as Kubernetes does: it does not compare the metadata with the old
// metadata.
func validateFlowSchemaUpdate(s, _ *flowcontrolv1.FlowSchema) field.ErrorList {
	return validateFlowSchema(s)
}

func validateFlowSchemaStatus(s, _ *flowcontrolv1.FlowSchema) field.ErrorList {
	return validateFlowSchemaConditions(s)
}

func validateFlowSchemaConditions(s *flowcontrolv1.FlowSchema) field.ErrorList {
	return ValidateConditions(s.Status.Conditions, func(c *flowcontrolv1.FlowSchemaCondition) string { return string(c.Type) })
}

const maxPrecedence = 10000

var methods = sets.New(flowcontrolv1.FlowDistinguisherMethodByNamespaceType, flowcontrolv1.FlowDistinguisherMethodByUserType)

func validateFlowSchemaSpec(name string, s *flowcontrolv1.FlowSchemaSpec) (errs field.ErrorList) {
	precedence := flowSchemaSpecPath.Child("matchingPrecedence")
	if s.MatchingPrecedence <= 0 {
		errs = append(errs, field.Invalid(precedence, s.MatchingPrecedence, "must be a positive value"))
	}
	if s.MatchingPrecedence > maxPrecedence {
		errs = append(errs, field.Invalid(precedence, s.MatchingPrecedence, fmt.Sprintf("must not be greater than %v", maxPrecedence)))
	}
	if s.MatchingPrecedence == 1 && name != flowcontrolv1.FlowSchemaNameExempt {
		errs = append(errs, field.Invalid(precedence, s.MatchingPrecedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
	}
	if m := s.DistinguisherMethod; m != nil && !methods.Has(m.Type) {
		errs = append(errs,
			field.NotSupported(flowSchemaSpecPath.Child("distinguisherMethod", "type"), builtin.Quote(m), sets.List(methods)))
	}
	level := flowSchemaSpecPath.Child("priorityLevelConfiguration", "name")
	if s.PriorityLevelConfiguration.Name == "" {
		errs = append(errs, field.Required(level, "must reference a priority level"))
	} else {
		for _, msg := range apivalidation.NameIsDNSSubdomain(s.PriorityLevelConfiguration.Name, false) {
			errs = append(errs, field.Invalid(level, s.PriorityLevelConfiguration.Name, msg))
		}
	}
	for i := range s.Rules {
		errs = append(errs, validateRule(&s.Rules[i], flowSchemaSpecPath.Child("rules").Index(i))...)
	}
	return errs
}

func validateRule(r *flowcontrolv1.PolicyRulesWithSubjects, path *field.Path) (errs field.ErrorList) {
	if len(r.Subjects) == 0 {
		errs = append(errs, field.Required(path.Child("subjects"), "subjects must contain at least one value"))
	}
	for i := range r.Subjects {
		errs = append(errs, validateSubject(&r.Subjects[i], path.Child("subjects").Index(i))...)
	}
	if len(r.ResourceRules) == 0 && len(r.NonResourceRules) == 0 {
		errs = append(errs, field.Required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
	}
	for i := range r.ResourceRules {
		errs = append(errs, validateResourceRule(&r.ResourceRules[i], path.Child("resourceRules").Index(i))...)
	}
	for i := range r.NonResourceRules {
		errs = append(errs, validateNonResourceRule(&r.NonResourceRules[i], path.Child("nonResourceRules").Index(i))...)
	}
	return errs
}

package admissionregistration

import (
	"strings"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// policy holds the common parts of validating and mutating policies.
type policy struct {
	Meta             *metav1.ObjectMeta
	ParamKind        *admissionregistrationv1.ParamKind
	MatchConstraints *admissionregistrationv1.MatchResources
	MatchConditions  []admissionregistrationv1.MatchCondition
	Variables        []admissionregistrationv1.Variable
	FailurePolicy    **admissionregistrationv1.FailurePolicyType
}

// Rules holds the checks that differ between the kinds of policies.
type Rules struct {
	// Match (optional) checks the policy's match resources.
	Match func(*admissionregistrationv1.MatchResources, *field.Path) field.ErrorList
	// Composing gives expressions access to variables, even if the policy declares none.
	Composing bool
	// StoredVariables holds the old policy's expressions with which those of variables are compared.
	StoredVariables sets.Set[string]
	// Rest checks the fields after the variables.
	Rest func(func() compiler) field.ErrorList
}

// setDefaults fills in the fields that both kinds have.
func (p policy) setDefaults() {
	if *p.FailurePolicy == nil {
		*p.FailurePolicy = new(admissionregistrationv1.Fail)
	}
	setMatchDefaults(p.MatchConstraints)
}

var specPath = field.NewPath("spec")

// Validate checks a policy by the rules of its kind. old is nil for a new policy.
func (p policy) Validate(rules Rules, old *policy) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(p.Meta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if policy := *p.FailurePolicy; policy == nil {
		errs = append(errs, field.Required(specPath.Child("failurePolicy"), ""))
	} else {
		errs = append(errs, validateChoice(policy, failurePolicies, specPath.Child("failurePolicy"))...)
	}
	if p.ParamKind != nil {
		errs = append(errs, validateParamKind(*p.ParamKind, specPath.Child("paramKind"))...)
	}
	errs = append(errs, p.validateMatch(rules, specPath.Child("matchConstraints"))...)
	if old == nil || !p.sameConditions(old) {
		errs = append(errs,
			validateConditions(p.MatchConditions, old.conditions(), p.ParamKind != nil, specPath.Child("matchConditions"))...)
	}
	compiler := p.compiler(rules.Composing)
	for i, v := range p.Variables {
		errs = append(errs, p.validateVariable(v, rules.StoredVariables, compiler, specPath.Child("variables").Index(i))...)
	}
	errs = append(errs, rules.Rest(compiler)...)
	if old == nil {
		errs = append(errs, validateSuffix(p.Meta.Name)...)
	}
	return errs
}

// compiler returns a function that makes the policy's compiler on first use.
func (p policy) compiler(composing bool) func() compiler {
	var made *compiler
	return func() compiler {
		if made == nil {
			made = new(newCompiler(composing || len(p.Variables) > 0))
		}
		return *made
	}
}

func (p policy) validateMatch(rules Rules, path *field.Path) field.ErrorList {
	if p.MatchConstraints == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := validateMatch(p.MatchConstraints, path)
	if len(p.MatchConstraints.ResourceRules) == 0 {
		errs = append(errs, field.Required(path.Child("resourceRules"), ""))
	}
	if rules.Match != nil {
		errs = append(errs, rules.Match(p.MatchConstraints, path)...)
	}
	return errs
}

func (p policy) validateVariable(v admissionregistrationv1.Variable, stored sets.Set[string], compiler func() compiler,
	path *field.Path) (errs field.ErrorList) {
	if strings.TrimSpace(v.Name) == "" {
		errs = append(errs, field.Required(path.Child("name"), "name is not specified"))
	} else if !isIdentifier(v.Name) {
		errs = append(errs, field.Invalid(path.Child("name"), v.Name, "must be a valid CEL identifier"))
	}
	if strings.TrimSpace(v.Expression) == "" {
		return append(errs, field.Required(path.Child("expression"), "expression is not specified"))
	}
	return append(errs, compiler().checkVariable(variable{name: v.Name, expression: expression{
		Text: v.Expression, Types: []*cel.Type{cel.AnyType, cel.DynType}, Stored: stored.Has(v.Expression),
		Variables: variables{HasParams: p.ParamKind != nil, HasAuthorizer: true},
	}}, path.Child("expression"))...)
}

func (p policy) sameConditions(old *policy) bool {
	return apiequality.Semantic.DeepEqual(p.ParamKind, old.ParamKind) &&
		apiequality.Semantic.DeepEqual(p.MatchConditions, old.MatchConditions)
}

// conditions returns the expressions of the policy's match conditions. It accepts nil.
func (p *policy) conditions() sets.Set[string] {
	if p == nil {
		return nil
	}
	return texts(p.MatchConditions, func(c admissionregistrationv1.MatchCondition) string { return c.Expression })
}

// validateReinvocation requires a reinvocation policy: whether the policy runs again after others.
func validateReinvocation(policy admissionregistrationv1.ReinvocationPolicyType, path *field.Path) field.ErrorList {
	if policy == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return validateChoice(&policy, reinvocationPolicies, path)
}

package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxAuditAnnotations = 20
	// maxAuditExpression is below the limit of an annotation: the value of an expression that joins strings can be
	// longer than the expression.
	maxAuditExpression = 5 * 1024
)

var reasons = []metav1.StatusReason{metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge}

// oldExpressions holds the expressions of the old policy by their purpose.
type oldExpressions struct{ validations, messages, audit sets.Set[string] }

// checkValidatingAdmissionPolicy checks the fields that only validating policies have.
type checkValidatingAdmissionPolicy struct {
	policy   *admissionregistrationv1.ValidatingAdmissionPolicy
	stored   oldExpressions
	compiler func() compiler
}

func validateValidatingAdmissionPolicy(p, old *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	var was *policy
	var known oldExpressions
	if old != nil {
		was = new(validatingAdmissionPolicyParts(old))
		known = oldExpressions{
			texts(old.Spec.Validations, func(v admissionregistrationv1.Validation) string { return v.Expression }),
			texts(old.Spec.Validations, func(v admissionregistrationv1.Validation) string { return v.MessageExpression }),
			texts(old.Spec.AuditAnnotations, func(a admissionregistrationv1.AuditAnnotation) string { return a.ValueExpression }),
		}
	}
	return validatingAdmissionPolicyParts(p).Validate(Rules{
		StoredVariables: known.validations,
		Rest: func(compiler func() compiler) field.ErrorList {
			return checkValidatingAdmissionPolicy{p, known, compiler}.rest(field.NewPath("spec"))
		},
	}, was)
}

func (c checkValidatingAdmissionPolicy) rest(path *field.Path) (errs field.ErrorList) {
	spec, validations, annotations := &c.policy.Spec, path.Child("validations"), path.Child("auditAnnotations")
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		const neither = "validations or auditAnnotations must contain at least one item"
		return field.ErrorList{field.Required(validations, neither), field.Required(annotations, neither)}
	}
	for i := range spec.Validations {
		errs = append(errs, c.validation(&spec.Validations[i], validations.Index(i))...)
	}
	if len(spec.AuditAnnotations) > maxAuditAnnotations {
		errs = append(errs,
			field.Invalid(annotations, untagged(spec.AuditAnnotations),
				fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations)))
	}
	keys := sets.New[string]()
	for i, a := range spec.AuditAnnotations {
		errs = append(errs, c.annotation(a, annotations.Index(i))...)
		if keys.Has(a.Key) {
			errs = append(errs, field.Duplicate(annotations.Index(i).Child("key"), a.Key))
		}
		keys.Insert(a.Key)
	}
	return errs
}

// untagged converts annotations for messages, which show the fields of Kubernetes' internal types.
func untagged(annotations []admissionregistrationv1.AuditAnnotation) any {
	type annotation struct{ Key, ValueExpression string }
	shown := make([]annotation, 0, len(annotations))
	for _, a := range annotations {
		shown = append(shown, annotation(a))
	}
	return shown
}

func (c checkValidatingAdmissionPolicy) validation(v *admissionregistrationv1.Validation, path *field.Path) (errs field.ErrorList) {
	const empty = "must be non-empty if specified"
	params := c.policy.Spec.ParamKind != nil
	if strings.TrimSpace(v.Expression) == "" {
		errs = append(errs, field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		errs = append(errs, c.compiler().Check(expression{
			Text: v.Expression, Types: []*cel.Type{cel.BoolType}, Stored: c.stored.validations.Has(v.Expression),
			Variables: variables{HasParams: params, HasAuthorizer: true},
		}, path.Child("expression"))...)
	}
	if v.MessageExpression != "" && strings.TrimSpace(v.MessageExpression) == "" {
		errs = append(errs, field.Invalid(path.Child("messageExpression"), v.MessageExpression, empty))
	} else if v.MessageExpression != "" {
		errs = append(errs, c.compiler().Check(expression{
			Text: v.MessageExpression, Types: []*cel.Type{cel.StringType}, Stored: c.stored.messages.Has(v.MessageExpression),
			Variables: variables{HasParams: params},
		}, path.Child("messageExpression"))...)
	}
	message := strings.TrimSpace(v.Message)
	if v.Message != "" && message == "" {
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, empty))
	} else if strings.ContainsAny(message, "\n\r") {
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	if v.Reason != nil && !slices.Contains(reasons, *v.Reason) {
		errs = append(errs, field.NotSupported(path.Child("reason"), *v.Reason, reasons))
	}
	return errs
}

func (c checkValidatingAdmissionPolicy) annotation(a admissionregistrationv1.AuditAnnotation, path *field.Path) (errs field.ErrorList) {
	if name := c.policy.Name; name != "" {
		errs = append(errs, validateQualifiedName(name+"/"+a.Key, path.Child("key"))...)
	} else {
		errs = append(errs, field.Invalid(path.Child("key"), a.Key, "requires metadata.name be non-empty"))
	}
	at, text := path.Child("valueExpression"), strings.TrimSpace(a.ValueExpression)
	switch {
	case text == "":
		return append(errs, field.Required(at, "valueExpression is not specified"))
	case len(text) > maxAuditExpression:
		return append(errs, field.Required(at, fmt.Sprintf("must not exceed %d bytes in length", maxAuditExpression)))
	}
	mistakes := c.compiler().Check(expression{
		Text: text, Types: []*cel.Type{cel.StringType, cel.NullType}, Stored: c.stored.audit.Has(a.ValueExpression),
		Variables: variables{HasParams: c.policy.Spec.ParamKind != nil, HasAuthorizer: true},
	}, at)
	for _, m := range mistakes {
		if m.Type == field.ErrorTypeInvalid {
			m.BadValue = a.ValueExpression // as the user wrote it
		}
	}
	return append(errs, mistakes...)
}

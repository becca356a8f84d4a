package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/kx-apiserver/kx/server/coverage"
)

// expression is an expression of a policy, with the types that it may return.
type expression struct {
	text  string
	types []*celgo.Type
	// name is the name of a variable, or the key of an annotation.
	name string
	// message and reason are the client's answer when a validation fails.
	message string
	reason  *metav1.StatusReason
}

func (e *expression) GetExpression() string      { return e.text }
func (e *expression) GetName() string            { return e.name }
func (e *expression) ReturnTypes() []*celgo.Type { return e.types }

// validator is a compiled validating policy. An expression that does not compile fails when it is evaluated.
type validator struct {
	// ignores means that the failurePolicy is Ignore.
	ignores bool
	// matcher is nil if there are no match conditions.
	matcher                            matchconditions.Matcher
	validations, messages, annotations cel.ConditionEvaluator
	// err is set if there is no environment to compile in.
	err error
}

func compileValidating(p *registrationv1.ValidatingAdmissionPolicy, o coverage.Observer) *validator {
	vars := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
	c, err := newCompiler(source{"ValidatingAdmissionPolicy", p.Name, o}, p.Spec.Variables, vars)
	if err != nil {
		return &validator{ignores: ignores(p.Spec.FailurePolicy), err: err}
	}
	n := len(p.Spec.Validations)
	validations, messages, annotations := make([]cel.ExpressionAccessor, n), make([]cel.ExpressionAccessor, n), []cel.ExpressionAccessor{}
	for i, v := range p.Spec.Validations {
		validations[i] = &expression{text: v.Expression, types: []*celgo.Type{celgo.BoolType}, message: v.Message, reason: v.Reason}
		if v.MessageExpression != "" {
			messages[i] = &expression{text: v.MessageExpression, types: []*celgo.Type{celgo.StringType}}
		}
	}
	for _, a := range p.Spec.AuditAnnotations {
		annotations = append(annotations,
			&expression{text: a.ValueExpression, types: []*celgo.Type{celgo.StringType, celgo.NullType}, name: a.Key})
	}
	withoutAuthorizer := cel.OptionalVariableDeclarations{HasParams: vars.HasParams}
	return &validator{
		ignores:     ignores(p.Spec.FailurePolicy),
		matcher:     c.matcher(p.Name, p.Spec.MatchConditions, p.Spec.FailurePolicy, vars),
		validations: c.conditions("validation", validations, vars),
		messages:    c.conditions("message", messages, withoutAuthorizer),
		annotations: c.conditions("annotation", annotations, vars),
	}
}

// compiler compiles the expressions of one policy.
type compiler struct {
	*cel.CompositedCompiler
	source
}

// source is a policy, with the observer of its expressions, or nil.
type source struct {
	kind, name string
	observe    coverage.Observer
}

// report is called after each evaluation of an expression. It is nil if nobody observes it.
type report func(context.Context, ref.Val, error)

// report returns the report of the expression in a field.
func (s source) report(format string, index int) report {
	if s.observe == nil {
		return nil
	}
	e := coverage.Expression{Kind: s.kind, Name: s.name, Path: fmt.Sprintf(format, index)}
	return func(ctx context.Context, v ref.Val, err error) { s.observe(ctx, e, coverage.OutcomeOf(v, err)) }
}

func newCompiler(from source, variables []registrationv1.Variable, vars cel.OptionalVariableDeclarations) (compiler, error) {
	composed, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return compiler{}, err
	}
	plain := composed.Compiler
	for i, v := range variables {
		composed.Compiler = shownVariables{plain, from.report("spec.variables[%d].expression", i)}
		one := &expression{text: v.Expression, types: []*celgo.Type{celgo.AnyType, celgo.DynType}, name: v.Name}
		composed.CompileAndStoreVariable(one, vars, environment.StoredExpressions)
	}
	composed.Compiler = plain
	return compiler{composed, from}, nil
}

// matcher compiles match conditions. It returns nil if there are none.
func (c compiler) matcher(name string, conditions []registrationv1.MatchCondition, failure *registrationv1.FailurePolicyType,
	vars cel.OptionalVariableDeclarations) matchconditions.Matcher {
	if len(conditions) == 0 {
		return nil
	}
	all := make([]cel.ExpressionAccessor, len(conditions))
	for i := range conditions {
		all[i] = (*matchconditions.MatchCondition)(&conditions[i])
	}
	return matchconditions.NewMatcher(c.conditions("condition", all, vars), failure, "policy", "validate", name)
}

// input holds the inputs of the expressions.
type input struct {
	target
	object     *admission.VersionedAttributes
	param      runtime.Object
	namespace  *corev1.Namespace
	authorizer authorizer.UnconditionalAuthorizer
}

// verdict is a policy's result for a write.
type verdict struct {
	decisions []decision
	notes     []note
}

// decision is the result of one validation.
type decision struct {
	// fails means that the actions of the binding apply.
	fails bool
	// failed means that the evaluation failed.
	failed  bool
	message string
	reason  metav1.StatusReason
	elapsed time.Duration
}

// note is an annotation for the audit log; problem is set if its evaluation failed.
type note struct {
	key, value, problem string
	elapsed             time.Duration
}

// evaluate evaluates all expressions for one param object, in the order and with the budgets of a Kubernetes
// API server.
func (v *validator) evaluate(ctx context.Context, in input) verdict {
	if v.err != nil {
		return v.failure(v.err)
	}
	if v.matcher != nil {
		matched := v.matcher.Match(ctx, in.object, in.param, in.authorizer)
		if matched.Error != nil {
			return v.failure(matched.Error)
		}
		if !matched.Matches {
			return verdict{}
		}
	}
	request := cel.CreateAdmissionRequest(in.object.Attributes, metav1.GroupVersionResource(in.resource),
		metav1.GroupVersionKind(in.object.VersionedKind))
	namespace := cel.CreateNamespaceObject(in.namespace)
	withoutAuthorizer := cel.OptionalVariableBindings{VersionedParams: in.param}
	withAuthorizer := cel.OptionalVariableBindings{VersionedParams: in.param, Authorizer: in.authorizer}
	results, left, err := v.validations.ForInput(ctx, in.object, request, withAuthorizer, namespace, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return v.failure(err)
	}
	messages, _, messagesErr := v.messages.ForInput(ctx, in.object, request, withoutAuthorizer, namespace, left)
	if !errors.Is(messagesErr, apiservercel.ErrInternal) && !errors.Is(messagesErr, apiservercel.ErrOutOfBudget) {
		messagesErr = nil
	}
	decisions := make([]decision, len(results))
	for i := range results {
		var message *cel.EvaluationResult
		if i < len(messages) {
			message = &messages[i]
		}
		decisions[i] = v.decide(&results[i], message, messagesErr)
	}
	annotations, _, err := v.annotations.ForInput(ctx, in.object, request, withoutAuthorizer, in.namespace, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return v.failure(err)
	}
	var notes []note
	for i := range annotations {
		if n := v.note(&annotations[i]); n.value != "" || n.problem != "" {
			notes = append(notes, n)
		}
	}
	return verdict{decisions, notes}
}

// failure is the verdict of a policy that could not be evaluated.
func (v *validator) failure(err error) verdict {
	return verdict{decisions: []decision{{fails: !v.ignores, failed: true, message: err.Error()}}}
}

// decide turns the result of one validation into a decision.
func (v *validator) decide(result, message *cel.EvaluationResult, messagesErr error) decision {
	d := decision{elapsed: result.Elapsed}
	switch {
	case result.Error != nil:
		d.fails, d.failed, d.message = !v.ignores, true, result.Error.Error()
	case messagesErr != nil:
		d.fails, d.failed, d.message = !v.ignores, true, fmt.Sprintf("failed messageExpression: %s", messagesErr)
	case result.EvalResult != types.True:
		one, _ := result.ExpressionAccessor.(*expression)
		d.fails, d.message, d.reason = true, one.says(message), metav1.StatusReasonInvalid
		if one.reason != nil {
			d.reason = *one.reason
		}
	}
	return d
}

// says returns the client's message for a failed validation. The result of a message expression counts only if
// it is one line and not too long.
func (e *expression) says(message *cel.EvaluationResult) string {
	if message != nil && message.Error == nil && message.EvalResult != nil {
		text, _ := message.EvalResult.Value().(string)
		text = strings.TrimSpace(text)
		if text != "" && len(text) <= celconfig.MaxEvaluatedMessageExpressionSizeBytes && !strings.Contains(text, "\n") {
			return text
		}
	}
	if text := strings.TrimSpace(e.message); text != "" {
		return text
	}
	return "failed expression: " + strings.TrimSpace(e.text)
}

// note turns the result of an annotation into a note, which is empty for null and the empty string.
func (v *validator) note(result *cel.EvaluationResult) note {
	one, ok := result.ExpressionAccessor.(*expression)
	if !ok {
		return note{}
	}
	n := note{key: one.name, elapsed: result.Elapsed}
	if result.Error != nil {
		if !v.ignores {
			n.problem = result.Error.Error()
		}
		return n
	}
	switch value := result.EvalResult.Value().(type) {
	case string:
		n.value = strings.TrimSpace(value)
	default:
		if result.EvalResult.Type() != types.NullType {
			n.problem = fmt.Sprintf(
				"valueExpression '%v' resulted in unsupported return type: %v. Return type must be either string or null.",
				one.text, result.EvalResult.Type())
		}
	}
	return n
}

// secrets reports whether params are Secrets: their content must not be shown.
func secrets(k *registrationv1.ParamKind) bool {
	return k != nil && k.APIVersion == "v1" && k.Kind == "Secret"
}

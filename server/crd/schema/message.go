package schema

import (
	"fmt"
	"math"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/klog/v2"
)

// messageError is the error of a failed message expression. It ends the run of the rules.
type messageError struct {
	detail   string
	internal bool
}

func (e *messageError) Error() string { return e.detail }

// message evaluates a rule's messageExpression. If the result is no usable text, message returns "" without an
// error, and the rule's own message is used.
func (r *ruleRun) message(rule *apiextensionsv1.ValidationRule, compiled *schemacel.CompilationResult) (string, *messageError) {
	result, details, err := compiled.MessageExpression.ContextEval(r.ctx, r.vars)
	if details == nil || details.ActualCost() == nil {
		r.budget = -1
		return "", &messageError{fmt.Sprintf("runtime cost could not be calculated for messageExpression: %q",
			rule.MessageExpression), true}
	}
	cost := *details.ActualCost()
	if cost > math.MaxInt64 || int64(cost) > r.budget {
		r.budget = -1
		return "",
			&messageError{detail: "messageExpression evaluation failed due to running out of cost budget, " +
				"no further validation rules will be run"}
	}
	if err != nil && strings.HasPrefix(err.Error(), costLimit) {
		r.budget = -1
		return "", &messageError{detail: fmt.Sprintf(
			"no further validation rules will be run due to call cost exceeds limit for messageExpression: %q", rule.MessageExpression)}
	}
	r.budget -= int64(cost)
	if err != nil {
		klog.V(2).ErrorS(err, "a messageExpression failed", "messageExpression", rule.MessageExpression)
		return "", nil
	}
	text, _ := result.Value().(string)
	text = strings.TrimSpace(text)
	if len(text) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(text, "\n") {
		klog.V(2).InfoS("a messageExpression made a text that is too long or has several lines", "messageExpression",
			rule.MessageExpression)
		return "", nil
	}
	return text, nil
}

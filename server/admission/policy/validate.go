package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	celmetrics "k8s.io/apiserver/pkg/admission/plugin/policy/validating/metrics"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// These limit the size of audit annotations, as in a Kubernetes API server.
const (
	mostFailures        = 50
	mostAnnotationBytes = 10 * 1024
)

// failureRecord is a failed validation in the format of the audit log.
type failureRecord struct {
	Message           string                            `json:"message"`
	Policy            string                            `json:"policy"`
	Binding           string                            `json:"binding"`
	ExpressionIndex   int                               `json:"expressionIndex"`
	ValidationActions []registrationv1.ValidationAction `json:"validationActions"`
}

// validation is the run of all validating policies on one write.
type validation struct {
	visit
	// refused is the answer of the first policy that denies the write.
	refused error
	// failures are written to the audit log.
	failures []failureRecord
	// notes are the audit annotations of the current policy, by key.
	notes map[string][]string
	// tell (optional) is called with each failed validation.
	tell func(*failureRecord)
}

// validate evaluates the validating policies, one after the other. The answer is the refusal of the first one
// in their order.
func (p *Policies) validate(ctx context.Context, w plugin.Write) error {
	all, err := p.validating.all(ctx, p.keeper, w)
	if err != nil {
		return err
	}
	_, err = p.validateBy(ctx, w, all, nil)
	return err
}

// validateBy evaluates policies. tell (optional) is called with each failed validation.
func (p *Policies) validateBy(
	ctx context.Context, w plugin.Write, all []*policy[*validator], tell func(*failureRecord),
) (asked int, err error) {
	v := &validation{visit: p.visit(w), tell: tell}
	for _, one := range all {
		about, as, err := p.matches(one.about, &w)
		if !about && err == nil {
			continue
		}
		asked++
		if err := v.policy(ctx, one, as, err); err != nil {
			return asked, err
		}
	}
	w.Step.Why(policiesAsked, int64(asked), int64(len(all)))
	v.noteFailures()
	return asked, v.refused
}

// policy evaluates a policy for each of its bindings. problem (optional) is the error of matching its rules.
// The returned error ends the request at once.
func (v *validation) policy(ctx context.Context, one *policy[*validator], as target, problem error) error {
	var differs trace.Reason
	if problem == nil {
		differs, problem = v.differs(ctx, one.about)
	}
	var params Params
	if problem == nil && differs.IsZero() {
		params, problem = v.paramsOf(one.paramKind)
	}
	if problem != nil || !differs.IsZero() {
		return v.heard(evaluate(ctx, one.name, func(ctx context.Context, step *trace.Step) error {
			if problem == nil {
				step.Why(differs)
				return nil
			}
			return v.unusable(ctx, step, one, nil, problem)
		}))
	}
	v.notes = map[string][]string{}
	for _, b := range one.bindings {
		err := v.heard(evaluate(ctx, one.name+"/"+b.name, func(ctx context.Context, step *trace.Step) error {
			return v.binding(ctx, step, one, b, as, params)
		}))
		if err != nil {
			return err
		}
	}
	for key, values := range v.notes {
		// A key that exists already keeps its value, as in a Kubernetes API server.
		_ = v.w.AddAnnotation(one.name+"/"+key, strings.Join(values, ", "))
	}
	return nil
}

// evaluate runs f for a policy, or for one of its bindings, in a step of its own.
func evaluate(ctx context.Context, subject string, f func(context.Context, *trace.Step) error) (err error) {
	ctx, step := trace.Start(ctx, steps.HandlerPolicy, subject)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return err
	}
	return f(ctx, step)
}

// author is the origin of a text: a policy, and a binding unless the text concerns all of them.
type author struct {
	policy, binding string
	// secret means that params are Secrets. The text may quote them, so only the client may read it.
	secret bool
}

func authorOf[E any](one *policy[E], b *binding) author {
	a := author{policy: one.name, secret: secrets(one.paramKind)}
	if b != nil {
		a.binding = b.name
	}
	return a
}

// quiet returns a text for journeys and the audit log.
func (a author) quiet(text string) string {
	if a.secret {
		return mask.Masked
	}
	return text
}

// denial is the answer to a write that a policy denies.
type denial struct{ error }

func (d denial) Unwrap() error { return d.error }

// heard keeps the first denial and goes on, since other policies may still add warnings. Other errors end the
// request at once.
func (v *validation) heard(err error) error {
	var denied denial
	if !errors.As(err, &denied) {
		return err
	}
	if v.refused == nil {
		v.refused = denied.error
	}
	return nil
}

// unusable returns the denial by a policy that cannot be evaluated, nil if its failurePolicy ignores that.
func (v *validation) unusable(ctx context.Context, step *trace.Step, one *policy[*validator], b *binding, err error) error {
	by := authorOf(one, b)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case one.ignores:
		step.WhyText(policyIgnored, by.quiet(err.Error()))
		return nil
	case b == nil:
		return v.deny(by, "failed to configure policy: "+err.Error(), "")
	}
	return v.deny(by, "failed to configure binding: "+err.Error(), "")
}

var (
	policyHeld   = trace.Because("policy-held", "all {count} expressions hold", "全部 {count} 个表达式成立")
	policyDenied = trace.Because("policy-denied",
		"{failed} of {count} expressions fail: the binding denies the write",
		"{count} 个表达式中有 {failed} 个不成立：绑定拒绝这次写入")
	policyTold = trace.Because("policy-told",
		"{failed} of {count} expressions fail: the binding has the client warned, or the audit log told, and lets the "+
			"write pass",
		"{count} 个表达式中有 {failed} 个不成立：绑定要求警告客户端或记入审计日志，写入放行")
)

// binding evaluates a policy for one of its bindings, with all its params.
func (v *validation) binding(
	ctx context.Context, step *trace.Step, one *policy[*validator], b *binding, as target, from Params,
) (denied error) {
	about, err := v.bound(ctx, step, b)
	if err != nil {
		return v.unusable(ctx, step, one, b, err)
	}
	if !about {
		return nil
	}
	params, err := v.collect(ctx, one.paramKind, from, b.paramRef)
	if err != nil {
		return v.unusable(ctx, step, one, b, err)
	}
	if len(params) == 0 {
		step.Why(policyWithoutParams)
		return nil
	}
	object, err := v.convert(as.kind)
	if err != nil {
		return v.unusable(ctx, step, one, b, fmt.Errorf("failed to convert object version: %w", err))
	}
	namespace, err := v.namespaceObject(ctx)
	if err != nil {
		return err
	}
	by := authorOf(one, b)
	ctx, record := withRecord(ctx, step, by.secret)
	var count, fails int64
	for _, param := range params {
		if param != nil && record != nil {
			step.Text("params", nameOf(param))
		}
		found := one.evaluator().evaluate(ctx, input{as, object, param, namespace, v.authorizer})
		for i := range found.decisions {
			d := &found.decisions[i]
			count++
			if d.fails {
				fails++
			} else if d.failed {
				celmetrics.Metrics.ObserveAdmission(ctx, d.elapsed, one.name, b.name, d.kind())
			}
			if err := v.act(ctx, by, b.actions, i, d); err != nil && denied == nil {
				denied = err
			}
		}
		for i := range found.notes {
			if err := v.note(ctx, by, &found.notes[i]); err != nil && denied == nil {
				denied = err
			}
		}
	}
	switch {
	case denied != nil:
		step.Why(policyDenied, fails, count)
	case fails > 0:
		step.Why(policyTold, fails, count)
	case record != nil && record.conditionFailed:
		step.WhyText(policyConditionFailed, record.condition)
	case record != nil && record.condition != "":
		step.WhyText(policyConditionFalse, record.condition)
	default:
		step.Why(policyHeld, count)
	}
	record.end()
	return denied
}

// bound reports whether a binding matches the write. If not, it records the reason in the step.
func (v *visit) bound(ctx context.Context, step *trace.Step, b *binding) (bool, error) {
	if b.about == nil {
		return true, nil
	}
	about, _, err := v.p.matches(b.about, &v.w)
	if err != nil {
		return false, err
	}
	if !about {
		step.Why(policyBoundElsewhere)
		return false, nil
	}
	differs, err := v.differs(ctx, b.about)
	if !differs.IsZero() {
		step.Why(differs)
	}
	return differs.IsZero() && err == nil, err
}

// nameOf returns the name of an object, with its namespace.
func nameOf(obj any) string {
	m, err := meta.Accessor(obj)
	switch {
	case err != nil:
		return ""
	case m.GetNamespace() == "":
		return m.GetName()
	}
	return m.GetNamespace() + "/" + m.GetName()
}

// act carries out the actions of a binding for a failed validation. The error is the refusal, if it denies.
func (v *validation) act(ctx context.Context, by author, actions []registrationv1.ValidationAction, index int, d *decision) (denied error) {
	if !d.fails {
		return nil
	}
	told := failureRecord{ExpressionIndex: index, Message: d.message, ValidationActions: actions, Binding: by.binding, Policy: by.policy}
	if v.tell != nil {
		v.tell(&told)
	}
	for _, action := range actions {
		switch action {
		case registrationv1.Deny:
			denied = v.deny(by, d.message, d.reason)
			celmetrics.Metrics.ObserveRejection(ctx, d.elapsed, by.policy, by.binding, d.kind())
		case registrationv1.Audit:
			told.Message = by.quiet(d.message)
			v.failures = append(v.failures, told)
			celmetrics.Metrics.ObserveAudit(ctx, d.elapsed, by.policy, by.binding, d.kind())
		case registrationv1.Warn:
			warning.AddWarning(ctx, "", fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s",
				by.policy, by.binding, d.message))
			celmetrics.Metrics.ObserveWarn(ctx, d.elapsed, by.policy, by.binding, d.kind())
		}
	}
	return denied
}

// kind returns the metrics' label of a decision.
func (d *decision) kind() celmetrics.ValidationErrorType {
	switch {
	case !d.fails && !d.failed:
		return celmetrics.ValidationNoError
	case strings.HasPrefix(d.message, "compilation"):
		return celmetrics.ValidationCompileError
	case strings.HasPrefix(d.message, "validation failed due to running out of cost budget"):
		return celmetrics.ValidatingOutOfBudget
	}
	return celmetrics.ValidatingInvalidError
}

// note adds an annotation for the audit log. The error is the refusal, if its evaluation failed.
func (v *validation) note(ctx context.Context, by author, n *note) error {
	if n.problem != "" {
		d := &decision{fails: true, failed: true, message: n.problem}
		celmetrics.Metrics.ObserveRejection(ctx, n.elapsed, by.policy, by.binding, d.kind())
		return v.deny(by, n.problem, "")
	}
	value := by.quiet(n.value)
	value = value[:min(len(value), mostAnnotationBytes)]
	if !slices.Contains(v.notes[n.key], value) {
		v.notes[n.key] = append(v.notes[n.key], value)
	}
	return nil
}

// noteFailures writes the failed validations to the audit log.
func (v *validation) noteFailures() {
	if len(v.failures) == 0 {
		return
	}
	value, err := json.Marshal(v.failures[:min(len(v.failures), mostFailures)])
	if err == nil {
		_ = v.w.AddAnnotation("validation.policy.admission.k8s.io/validation_failure", string(value))
	}
}

// deny returns the answer to a denied write.
func (v *visit) deny(by author, message string, reason metav1.StatusReason) error {
	who := fmt.Sprintf("ValidatingAdmissionPolicy '%s'", by.policy)
	if by.binding != "" {
		who += fmt.Sprintf(" with binding '%s'", by.binding)
	}
	message = who + " denied request: " + message
	err := admission.NewForbidden(v.w, errors.New(message))
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	if reason == "" {
		reason = metav1.StatusReasonInvalid
	}
	status.ErrStatus.Reason, status.ErrStatus.Code = reason, codes[reason]
	if status.ErrStatus.Code == 0 {
		status.ErrStatus.Code = http.StatusUnprocessableEntity
	}
	status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Message: message})
	if by.secret {
		return denial{mask.ForClient(status, who+" denied request: "+mask.Masked)}
	}
	return denial{status}
}

// codes maps the reasons that a policy may give to HTTP codes.
var codes = map[metav1.StatusReason]int32{
	metav1.StatusReasonForbidden:             http.StatusForbidden,
	metav1.StatusReasonRequestEntityTooLarge: http.StatusRequestEntityTooLarge,
	metav1.StatusReasonInvalid:               http.StatusUnprocessableEntity,
}

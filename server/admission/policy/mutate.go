package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celmetrics "k8s.io/apiserver/pkg/admission/plugin/policy/mutating/metrics"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/match"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/coverage"
)

// mutator is a compiled mutating policy. An expression that does not compile fails when it is evaluated.
type mutator struct {
	// matcher is nil if there are no match conditions.
	matcher matchconditions.Matcher
	patches []patch.Patcher
	again   bool
	// err is set if there is no environment to compile in.
	err error
}

func compileMutating(p *registrationv1.MutatingAdmissionPolicy, o coverage.Observer) *mutator {
	vars := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
	c, err := newCompiler(source{"MutatingAdmissionPolicy", p.Name, o}, p.Spec.Variables, vars)
	if err != nil {
		return &mutator{err: err}
	}
	m := &mutator{
		matcher: c.matcher(p.Name, p.Spec.MatchConditions, p.Spec.FailurePolicy, vars),
		again:   p.Spec.ReinvocationPolicy == registrationv1.IfNeededReinvocationPolicy,
	}
	vars.HasPatchTypes = true
	for i, one := range p.Spec.Mutations {
		switch {
		case one.PatchType == registrationv1.PatchTypeJSONPatch && one.JSONPatch != nil:
			m.patches = append(m.patches,
				patch.NewJSONPatcher(c.mutation(&patch.JSONPatchCondition{Expression: one.JSONPatch.Expression}, vars,
					c.report("spec.mutations[%d].jsonPatch.expression", i))))
		case one.PatchType == registrationv1.PatchTypeApplyConfiguration && one.ApplyConfiguration != nil:
			m.patches = append(m.patches,
				patch.NewApplyConfigurationPatcher(
					c.mutation(&patch.ApplyConfigurationCondition{Expression: one.ApplyConfiguration.Expression}, vars,
						c.report("spec.mutations[%d].applyConfiguration.expression", i))))
		}
	}
	return m
}

// mutation is an expression that returns a patch.
type mutation struct {
	cel.MutatingEvaluator
	compiler   *cel.CompositedCompiler
	expression cel.ExpressionAccessor
	repeated   func() *partsExpression
}

func (c compiler) mutation(e cel.ExpressionAccessor, vars cel.OptionalVariableDeclarations, r report) cel.MutatingEvaluator {
	result := c.Compiler.CompileCELExpression(e, vars, environment.StoredExpressions)
	if result.Program != nil {
		result.Program = program{result.Program, 0, r}
	}
	again := sync.OnceValue(func() *partsExpression { return c.repeat(e.GetExpression(), vars) })
	return &mutation{cel.NewMutatingEvaluator(result), c.CompositedCompiler, e, again}
}

// ForInput evaluates the expression as the library does, and records it.
func (m *mutation) ForInput(ctx context.Context, a *admission.VersionedAttributes, request *admissionv1.AdmissionRequest,
	vars cel.OptionalVariableBindings, namespace *corev1.Namespace, budget int64) (cel.EvaluationResult, int64, error) {
	r, _ := ctx.Value(recordKey{}).(*record)
	counted := &counter{CompositionContext: m.compiler.CreateContext(ctx), outcomes: make([]outcome, 1)}
	result, left, err := m.MutatingEvaluator.ForInput(counted, a, request, vars, namespace, budget)
	if r != nil {
		problem := err
		if problem == nil {
			problem = result.Error
		}
		r.line("mutation", m.expression, result.EvalResult, problem, counted.outcomes[0].cost)
		if r.step.Objects() {
			r.showParts([]evaluation{{counted.outcomes[0], m.repeated}})
		}
	}
	return result, left, err
}

// invocation is one run of a policy, with one of its bindings and one param object.
type invocation struct {
	*policy[*mutator]
	binding *binding
	target
	param runtime.Object
}

// key identifies an invocation within a write.
func (i *invocation) key() string {
	name := ""
	if i.param != nil {
		name = nameOf(i.param)
	}
	return strings.Join([]string{i.name, i.binding.name, name}, "\n")
}

// mutations is the run of all mutating policies on one write.
type mutations struct {
	visit
	again *match.Rounds
	// present is the object in the kind that the last policy wanted.
	present *admission.VersionedAttributes
	// problems explain which policies could not be evaluated.
	problems []problem
}

// problem explains why a policy could not be evaluated.
type problem struct {
	text string
	// quiet is the text for journeys and the audit log.
	quiet  string
	reason metav1.StatusReason
}

// mutate evaluates the mutating policies, one after the other. Each sees what those before it changed.
func (p *Policies) mutate(ctx context.Context, w plugin.Write) error {
	all, err := p.mutating.all(ctx, p.keeper, w)
	if err != nil {
		return err
	}
	_, err = p.mutateBy(ctx, w, all)
	return err
}

var policiesAsked = trace.Because("policies-asked",
	"{count} of {all} policies are about this write",
	"{all} 条策略中有 {count} 条与这次写入有关")

// mutateBy evaluates policies.
func (p *Policies) mutateBy(ctx context.Context, w plugin.Write, all []*policy[*mutator]) (asked int, err error) {
	m := &mutations{visit: p.visit(w), again: match.RoundsOf(w, "MutatingAdmissionPolicy")}
	var invocations []*invocation
	for _, one := range all {
		about, as, err := p.matches(one.about, &w)
		if !about && err == nil {
			continue
		}
		asked++
		found, err := m.invocations(ctx, one, as, err)
		if err != nil {
			return asked, err
		}
		invocations = append(invocations, found...)
	}
	w.Step.Why(policiesAsked, int64(asked), int64(len(all)))
	for _, one := range invocations {
		if !m.again.NeedsCall(one.key()) {
			continue
		}
		if err := m.invoke(ctx, one); err != nil {
			return asked, err
		}
	}
	if err := m.settle(); err != nil {
		return asked, err
	}
	m.again.Leave(w.GetObject())
	return asked, m.refusal()
}

var (
	policyWithoutParams = trace.Because("policy-without-params",
		"nothing that the binding names as params is there: the policy is not evaluated",
		"绑定指定的参数对象都不存在：不对策略求值")
	policyBoundElsewhere = trace.Because("policy-bound-elsewhere",
		"the policy is about this write, but the binding is not",
		"策略匹配这次写入，但绑定不匹配")
)

// invocations returns the runs of a policy for the write: one for each matching binding and param. unmatched
// (optional) is the error of matching its rules. The returned error ends the request at once.
func (m *mutations) invocations(ctx context.Context, one *policy[*mutator], as target, unmatched error) (found []*invocation, err error) {
	var differs trace.Reason
	if unmatched == nil {
		differs, unmatched = m.differs(ctx, one.about)
	}
	var params Params
	if unmatched == nil && differs.IsZero() {
		params, unmatched = m.paramsOf(one.paramKind)
	}
	if unmatched != nil || !differs.IsZero() {
		return nil, m.do(ctx, one.name, func(ctx context.Context, step *trace.Step) error {
			if unmatched == nil {
				step.Why(differs)
				return nil
			}
			return m.unusable(ctx, step, one, nil, fmt.Errorf("failed to configure policy: %w", unmatched), "")
		})
	}
	for _, b := range one.bindings {
		var objects []runtime.Object
		about := b.about == nil
		var problem error
		if b.about != nil {
			if about, _, problem = m.p.matches(b.about, &m.w); about && problem == nil {
				differs, problem = m.differs(ctx, b.about)
			}
		}
		if about && problem == nil && differs.IsZero() {
			objects, problem = m.collect(ctx, one.paramKind, params, b.paramRef)
		}
		for _, param := range objects {
			found = append(found, &invocation{one, b, as, param})
		}
		if len(objects) > 0 {
			continue
		}
		err := m.do(ctx, one.name+"/"+b.name, func(ctx context.Context, step *trace.Step) error {
			switch {
			case problem != nil:
				return m.unusable(ctx, step, one, b, fmt.Errorf("failed to configure binding: %w", problem), "")
			case !about:
				step.Why(policyBoundElsewhere)
			case !differs.IsZero():
				step.Why(differs)
			default:
				step.Why(policyWithoutParams)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		differs = trace.Reason{}
	}
	return found, nil
}

// do runs f for a policy, or for one of its bindings, in a step of its own. A policy that could not be
// evaluated does not end the request: the others still run.
func (*mutations) do(ctx context.Context, subject string, f func(context.Context, *trace.Step) error) error {
	err := evaluate(ctx, subject, f)
	var unusable unusableError
	if errors.As(err, &unusable) {
		return nil
	}
	return err
}

// unusableError is the error of a policy that could not be evaluated.
type unusableError struct{ error }

var policyIgnored = trace.Because("policy-ignored",
	"it can't be evaluated, and its failurePolicy is Ignore: {error:quote}",
	"无法求值，failurePolicy 是 Ignore：{error:quote}")

// unusable records why a policy could not be evaluated, unless its failurePolicy ignores that.
func (m *mutations) unusable(ctx context.Context, step *trace.Step, one *policy[*mutator], b *binding, err error,
	reason metav1.StatusReason) error {
	by := authorOf(one, b)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if one.ignores {
		step.WhyText(policyIgnored, by.quiet(err.Error()))
		return nil
	}
	who := fmt.Sprintf("policy %q", one.name)
	if b != nil {
		who = fmt.Sprintf("policy '%s' with binding '%s'", one.name, b.name)
	}
	p := problem{who + " denied request: " + err.Error(), who + " denied request: " + by.quiet(err.Error()), reason}
	m.problems = append(m.problems, p)
	return unusableError{errors.New(p.quiet)}
}

// refusal returns the answer to a write for which policies could not be evaluated: the first problem as the
// message, and all as causes.
func (m *mutations) refusal() error {
	if len(m.problems) == 0 {
		return nil
	}
	err := admission.NewForbidden(m.w, errors.New("admission request denied by policy"))
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	status.ErrStatus.Message = m.problems[0].text
	if m.problems[0].reason != "" {
		status.ErrStatus.Reason = m.problems[0].reason
	}
	for _, p := range m.problems {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Message: p.text})
	}
	if slices.ContainsFunc(m.problems, func(p problem) bool { return p.quiet != p.text }) {
		return mask.ForClient(status, m.problems[0].quiet)
	}
	return status
}

// convert returns the object in a kind, with the changes of earlier policies.
func (m *mutations) convert(kind schema.GroupVersionKind) (_ *admission.VersionedAttributes, err error) {
	if m.present == nil || m.present.VersionedKind != kind {
		if err := m.settle(); err != nil {
			return nil, err
		}
		m.present, err = match.ConvertObjects(m.w.Attributes, kind, m.w.Objects)
	}
	return m.present, err
}

// settle copies the changes of policies into the object of the write.
func (m *mutations) settle() error {
	if m.present == nil || !m.present.Dirty || m.present.VersionedObject.Object() == nil {
		return nil
	}
	if err := match.TakeOver(m.w.GetObject(), m.present.VersionedObject.Object(), m.w.Objects); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to convert object: %w", err))
	}
	m.present.Dirty = false
	return nil
}

var (
	policyConditionFalse = trace.Because("policy-condition-false",
		"its rules are about this write, but its match condition {condition:quote} is false: it is not evaluated",
		"规则匹配这次写入，但匹配条件 {condition:quote} 为假：不求值")
	policyConditionFailed = trace.Because("policy-condition-failed",
		"its rules are about this write, but its match condition {condition:quote} can't be evaluated, and its "+
			"failurePolicy is Ignore",
		"规则匹配这次写入，但匹配条件 {condition:quote} 无法求值，failurePolicy 是 Ignore")
	policyChanged = trace.Because("policy-changed",
		"its {count} mutations change the object",
		"它的 {count} 个 mutation 修改了对象")
	policyLeft = trace.Because("policy-left",
		"its mutations change nothing",
		"它的 mutation 没有修改任何内容")
	policyWithoutObject = trace.Because("policy-without-object",
		"there is no object that it could change",
		"没有可供它修改的对象")
)

// invoke runs a policy, which changes the object.
func (m *mutations) invoke(ctx context.Context, one *invocation) error {
	return m.do(ctx, one.name+"/"+one.binding.name, func(ctx context.Context, step *trace.Step) error {
		object, err := m.convert(one.kind)
		if err != nil {
			return err
		}
		namespace, err := m.namespaceObject(ctx)
		if err != nil {
			return err
		}
		compiled := one.evaluator()
		if compiled.err != nil {
			return m.unusable(ctx, step, one.policy, one.binding, compiled.err, metav1.StatusReasonInvalid)
		}
		ctx, record := withRecord(ctx, step, authorOf(one.policy, one.binding).secret)
		if record != nil {
			if one.param != nil {
				step.Text("params", nameOf(one.param))
			}
		}
		defer record.end()
		if compiled.matcher != nil {
			matched := compiled.matcher.Match(ctx, object, one.param, m.authorizer)
			switch {
			case matched.Error != nil:
				return m.unusable(ctx, step, one.policy, one.binding, matched.Error, metav1.StatusReasonInvalid)
			case !matched.Matches && matched.FailedConditionName != "":
				step.WhyText(policyConditionFalse, matched.FailedConditionName)
				return nil
			case !matched.Matches:
				step.WhyText(policyConditionFailed, record.first())
				return nil
			}
		}
		before := object.VersionedObject.Object()
		if before == nil {
			step.Why(policyWithoutObject)
			return nil
		}
		step.Before(before)
		failed := m.apply(ctx, step, one, compiled, object, namespace)
		step.After(object.VersionedObject.Object())
		changed := !apiequality.Semantic.DeepEqual(before, object.VersionedObject.Object())
		if changed {
			m.again.RecordChange()
		}
		if compiled.again {
			m.again.RecordCall(one.key())
		}
		switch {
		case failed != nil:
			return failed
		case changed:
			step.Why(policyChanged, int64(len(compiled.patches)))
		default:
			step.Why(policyLeft)
		}
		return nil
	})
}

// apply applies the patches of a policy. If one fails, the others still apply.
func (m *mutations) apply(ctx context.Context, step *trace.Step, one *invocation, compiled *mutator, object *admission.VersionedAttributes,
	namespace *corev1.Namespace) (failed error) {
	for _, patcher := range compiled.patches {
		start := time.Now()
		err := m.patch(ctx, patcher, one, object, namespace)
		if err == nil {
			celmetrics.Metrics.ObserveAdmission(ctx, time.Since(start), one.name, one.binding.name, celmetrics.MutationNoError)
			continue
		}
		celmetrics.Metrics.ObserveRejection(ctx, time.Since(start), one.name, one.binding.name, kindOfError(err))
		var status *apierrors.StatusError
		if errors.As(err, &status) {
			if by := authorOf(one.policy, one.binding); by.secret {
				return mask.ForClient(status, fmt.Sprintf("policy '%s' with binding '%s': %s", by.policy, by.binding, mask.Masked))
			}
			return status
		}
		if err := m.unusable(ctx, step, one.policy, one.binding, err, metav1.StatusReasonInvalid); err != nil {
			failed = err
		}
	}
	return failed
}

// kindOfError returns the metrics' label of an error.
func kindOfError(err error) celmetrics.MutationErrorType {
	switch {
	case strings.HasPrefix(err.Error(), "compilation"):
		return celmetrics.MutationCompileError
	case strings.HasPrefix(err.Error(), "validation failed due to running out of cost budget"):
		return celmetrics.MutatingOutOfBudget
	}
	return celmetrics.MutatingInvalidError
}

// patch applies one patch, and then sets defaults.
func (m *mutations) patch(ctx context.Context, patcher patch.Patcher, one *invocation, object *admission.VersionedAttributes,
	namespace *corev1.Namespace) error {
	var types managedfields.TypeConverter
	if known, ok := m.w.Objects.(interface {
		GetFieldTypes() managedfields.TypeConverter
	}); ok {
		types = known.GetFieldTypes()
	}
	if types == nil {
		return apierrors.NewServiceUnavailable(
			fmt.Sprintf(
				"Resource kind %s not found. "+
					"There can be a delay between when CustomResourceDefinitions are created and when they are available.",
				object.VersionedKind))
	}
	before := object.VersionedObject.Object()
	after, err := patcher.Patch(ctx, patch.Request{
		MatchedResource: one.resource, VersionedAttributes: object, ObjectInterfaces: m.w.Objects,
		OptionalVariables: cel.OptionalVariableBindings{VersionedParams: one.param, Authorizer: m.authorizer},
		Namespace:         namespace, TypeConverter: types,
	}, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return err
	}
	_, custom := before.(*unstructured.Unstructured)
	if u, ok := after.(*unstructured.Unstructured); ok && !custom {
		typed, err := m.w.Objects.GetObjectCreater().New(object.VersionedKind)
		if err != nil {
			return err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
			return err
		}
		after = typed
	}
	m.w.Objects.GetObjectDefaulter().Default(after)
	object.UpdateObject(after)
	return nil
}

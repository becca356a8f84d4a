package schema

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// evaluation is one run of the rules over one object.
type evaluation struct {
	ctx  context.Context
	errs field.ErrorList
	// budget is the remaining cost for the rules. Below zero, no rule is evaluated any more.
	budget int64
	// report records the result of each rule. It is nil if nothing is recorded.
	report *ruleReport
	// observe (optional) is called after each evaluation of a rule.
	observe func(n *place, i int, v ref.Val, err error)
}

// relation connects a value to the old object.
type relation struct {
	// current is the value with its old value, nil if it has none.
	current *common.CorrelatedObject
	// parent is the nearest enclosing value that has an old value.
	parent *common.CorrelatedObject
}

// unchanged reports whether the value, or one that encloses it, has not changed. Then this change did not cause
// its errors.
func (r relation) unchanged() bool {
	if r.current != nil {
		return r.current.CachedDeepEqual()
	}
	return r.parent.CachedDeepEqual()
}

func (r relation) key(name string) relation {
	switch {
	case r.current == nil:
		return r
	case r.parent == nil && (name == "apiVersion" || name == "kind"):
		return relation{} // old and new were both converted to this version: whether it changed can't be seen
	}
	return relation{r.current.Key(name), r.current}
}

func (r relation) index(i int) relation {
	if r.current == nil {
		return r
	}
	return relation{r.current.Index(i), r.current}
}

// evaluate checks a value by the rules at its place and beneath it. old is nil if it has no old value.
func (e *evaluation) evaluate(n *place, path *field.Path, value, old any, rel relation) {
	if n == nil || value == nil || e.budget < 0 {
		return
	}
	e.evaluateHere(n, path, value, old, rel)
	for _, part := range n.allOf {
		// An allOf of the OpenAPI schema ignores old values, too.
		e.evaluate(part, path, value, old, relation{parent: rel.parent})
	}
	switch value := value.(type) {
	case []any:
		if n.items != nil {
			old, _ := old.([]any)
			// Only the items of a list of type map have old values.
			oldItems := common.MakeMapList(&model.Structural{Structural: n.schema}, old)
			for i, item := range value {
				e.evaluate(n.items, path.Index(i), item, oldItems.Get(item), rel.index(i))
			}
		}
	case map[string]any:
		old, _ := old.(map[string]any)
		e.evaluateFields(n, path, value, old, rel)
	}
}

func (e *evaluation) evaluateFields(n *place, path *field.Path, value, old map[string]any, rel relation) {
	if !schemacel.MapIsCorrelatable(n.schema.XMapType) {
		old = nil
	}
	if n.additional != nil {
		for _, key := range slices.Sorted(maps.Keys(value)) {
			e.evaluate(n.additional, path.Key(key), value[key], old[key], rel.key(key))
		}
	}
	for _, prop := range n.properties {
		if v, ok := value[prop.name]; ok {
			e.evaluate(prop.place, path.Child(prop.name), v, old[prop.name], rel.key(prop.name))
		}
	}
}

// evaluateHere evaluates the rules of one place, each with the remaining budget.
func (e *evaluation) evaluateHere(n *place, path *field.Path, value, old any, rel relation) {
	if len(n.rules) == 0 || e.budget < 0 {
		return
	}
	p := n.compile()
	if p.err != nil {
		e.errs = append(e.errs, field.Invalid(path, n.schema.Type, fmt.Sprintf("rule compiler initialization error: %v", p.err)))
		return
	}
	if e.budget <= 0 {
		e.errs = append(e.errs, field.Invalid(path, n.schema.Type, outOfBudget))
		e.budget = -1
		return
	}
	r := &ruleRun{evaluation: e, path: path, value: value, old: notNil(old), rel: rel, programs: p}
	r.bind()
	for i := range n.rules {
		if err := e.ctx.Err(); err != nil {
			e.errs, e.budget = append(e.errs, ended(err)...), -1
			return
		}
		step, budget := e.report.start(n, i, path), e.budget
		out := r.evaluate(n, i)
		e.report.end(step, out, budget-max(e.budget, 0))
		if e.budget < 0 {
			return
		}
	}
}

// notNil turns a nil map or list into a nil interface.
func notNil(old any) any {
	switch v := old.(type) {
	case map[string]any:
		if v == nil {
			return nil
		}
	case []any:
		if v == nil {
			return nil
		}
	}
	return old
}

// ruleRun is the evaluation of the rules of one place for one value. One goroutine uses it.
type ruleRun struct {
	*evaluation
	path       *field.Path
	value, old any
	rel        relation
	programs   *programs
	// Rules see vars; those that set optionalOldSelf see optionalVars.
	vars, optionalVars *variables
}

// variables are the values of self and oldSelf.
type variables struct {
	self, oldSelf ref.Val
}

func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case schemacel.ScopedVarName:
		return v.self, true
	case schemacel.OldScopedVarName:
		return v.oldSelf, v.oldSelf != nil
	}
	return nil, false
}

func (*variables) Parent() interpreter.Activation { return nil }

func (r *ruleRun) bind() {
	r.vars = &variables{self: schemacel.UnstructuredToVal(r.value, r.programs.schema)}
	r.optionalVars = r.vars
	if !r.programs.usesOld {
		return
	}
	r.optionalVars = &variables{self: r.vars.self, oldSelf: types.OptionalNone}
	if r.old != nil {
		r.vars.oldSelf = schemacel.UnstructuredToVal(r.old, r.programs.schema)
		r.optionalVars.oldSelf = types.OptionalOf(r.vars.oldSelf)
	}
}

const (
	outOfBudget    = "validation failed due to running out of cost budget, no further validation rules will be run"
	costNotCounted = "runtime cost could not be calculated for validation rule: %v, no further validation rules will be run"
	// costLimit is the prefix of the error of a program that reached the limit of one call.
	costLimit = "operation cancelled: actual cost limit exceeded"
	// noOverload is the prefix of the error of a call whose arguments have the wrong types. The compiler finds
	// nearly all of them; int-or-string values have no type at that time.
	noOverload = "no such overload"
)

var (
	ruleEmpty           = trace.Because("rule-empty", "not evaluated: the rule is empty", "没有执行：规则为空")
	ruleWithoutOldValue = trace.Because("rule-without-old-value",
		"not evaluated: the rule is about a change, and there is no old value",
		"没有执行：规则针对变更，而这里没有旧值")
)

// evaluate evaluates one rule of a place.
func (r *ruleRun) evaluate(n *place, i int) outcome {
	rule, compiled := &n.rules[i], &r.programs.results[i]
	switch {
	case compiled.Error != nil:
		return r.invalid(fmt.Sprintf("rule compile error: %v", compiled.Error))
	case compiled.Program == nil:
		return outcome{skipped: ruleEmpty}
	}
	optional := rule.OptionalOldSelf != nil && *rule.OptionalOldSelf
	if compiled.UsesOldSelf && r.old == nil && !optional {
		return outcome{skipped: ruleWithoutOldValue}
	}
	vars := r.vars
	if optional {
		vars = r.optionalVars
	}
	result, details, err := compiled.Program.ContextEval(r.ctx, vars)
	if r.observe != nil {
		r.observe(n, i, result, err)
	}
	if details == nil {
		r.budget = -1
		return r.fail(field.InternalError(r.path, fmt.Errorf(costNotCounted, ruleName(rule))))
	}
	cost := details.ActualCost()
	if cost == nil {
		return r.abort(fmt.Sprintf(costNotCounted, ruleName(rule)))
	}
	if *cost > math.MaxInt64 || int64(*cost) > r.budget {
		return r.abort(outOfBudget)
	}
	r.budget -= int64(*cost)
	switch {
	case err == nil && result == types.True:
		return outcome{}
	case err == nil:
		return r.broken(rule, compiled)
	case strings.HasPrefix(err.Error(), noOverload):
		return r.invalid(fmt.Sprintf("'%v': call arguments did not match a supported operator, function or macro signature for rule: %v",
			err, ruleName(rule)))
	case strings.HasPrefix(err.Error(), costLimit):
		return r.abort(fmt.Sprintf("'%v': no further validation rules will be run due to call cost exceeds limit for rule: %v", err,
			ruleName(rule)))
	}
	return r.invalid(fmt.Sprintf("%v evaluating rule: %v", err, ruleName(rule)))
}

// broken returns the error of a value that violates a rule, with the rule's message.
func (r *ruleRun) broken(rule *apiextensionsv1.ValidationRule, compiled *schemacel.CompilationResult) outcome {
	path, kind := r.path, r.programs.schema.Type
	if compiled.NormalizedRuleFieldPath != "" {
		path = path.Child(compiled.NormalizedRuleFieldPath)
	}
	blame := func(err *field.Error) outcome {
		if !compiled.UsesOldSelf && r.rel.unchanged() {
			warning.AddWarning(r.ctx, "", err.Error())
			return outcome{forgiven: err}
		}
		return r.fail(err)
	}
	message := strings.TrimSpace(rule.Message)
	if rule.Message == "" {
		message = "failed rule: " + ruleName(rule)
	}
	if compiled.MessageExpression != nil {
		text, err := r.message(rule, compiled)
		switch {
		case err == nil && text != "":
			message = text
		case err != nil && err.internal:
			return blame(field.InternalError(path, err))
		case err != nil:
			return blame(field.Invalid(path, kind, err.Error()))
		}
	}
	value := r.value
	if kind == "object" || kind == "array" {
		value = field.OmitValueType{}
	}
	return blame(errorFor(rule.Reason, path, value, message))
}

// errorFor returns an error of the type that the rule names.
func errorFor(reason *apiextensionsv1.FieldValueErrorReason, path *field.Path, value any, message string) *field.Error {
	if reason != nil {
		switch *reason {
		case apiextensionsv1.FieldValueForbidden:
			return field.Forbidden(path, message)
		case apiextensionsv1.FieldValueRequired:
			return field.Required(path, message)
		case apiextensionsv1.FieldValueDuplicate:
			return field.Duplicate(path, value)
		}
	}
	return field.Invalid(path, value, message)
}

// ruleName returns the name of a rule in errors: its message, or else the rule itself.
func ruleName(rule *apiextensionsv1.ValidationRule) string {
	if rule.Message != "" {
		return strings.TrimSpace(rule.Message)
	}
	return strings.TrimSpace(rule.Rule)
}

func (r *ruleRun) fail(err *field.Error) outcome {
	r.errs = append(r.errs, err)
	return outcome{failed: err}
}

func (r *ruleRun) invalid(detail string) outcome {
	return r.fail(field.Invalid(r.path, r.programs.schema.Type, detail))
}

// abort returns a failure after which no further rule runs.
func (r *ruleRun) abort(detail string) outcome {
	r.budget = -1
	return r.invalid(detail)
}

// These limit the rules that a journey shows for one validation; it counts the others. A rule for the items of
// a list is evaluated for each item, and a large schema has hundreds of rules.
const (
	maxRuleSteps = 64 // all together
	maxSameRule  = 4  // of one rule
)

// outcome is the result of a rule. It is empty if the rule held.
type outcome struct {
	failed *field.Error
	// forgiven is an error that became a warning, because the value has not changed.
	forgiven *field.Error
	// skipped is the reason for not evaluating the rule; 0 if it was evaluated.
	skipped trace.Reason
}

// ruleReport shows the outcomes of rules as steps, and counts them.
type ruleReport struct {
	ctx   context.Context
	rules *rules
	// taken counts the evaluations of each rule.
	taken []int
	steps int

	held, failed, forgiven, skipped, notReached, notShown int
}

func newRuleReport(ctx context.Context, r *rules) *ruleReport {
	return &ruleReport{ctx: ctx, rules: r, taken: make([]int, r.count)}
}

// start begins the step of one rule's evaluation at path, unless the limit is reached.
func (r *ruleReport) start(n *place, i int, path *field.Path) *trace.Step {
	if r == nil {
		return nil
	}
	r.taken[n.first+i]++
	if r.steps == maxRuleSteps || r.taken[n.first+i] > maxSameRule {
		r.notShown++
		return nil
	}
	at := "."
	if path != nil {
		at = path.String()
	}
	return r.step(n, i, at)
}

func (r *ruleReport) step(n *place, i int, at string) *trace.Step {
	r.steps++
	_, step := trace.Start(r.ctx, steps.CRDCEL, at)
	step.Text("rule", n.rules[i].Rule)
	return step
}

var (
	ruleHeld     = trace.Because("rule-held", "held", "通过")
	ruleFailed   = trace.Because("rule-failed", "failed", "未通过")
	ruleForgiven = trace.Because("rule-forgiven",
		"failed, but the value is as it was before: only a warning: {error:quote}",
		"未通过，但值没有变，只给出警告：{error:quote}")
)

// end ends the step of an evaluation, which may be nil.
func (r *ruleReport) end(step *trace.Step, out outcome, cost int64) {
	if r == nil {
		return
	}
	var err error
	switch {
	case out.failed != nil:
		r.failed++
		err = out.failed
		step.Why(ruleFailed)
	case out.forgiven != nil:
		r.forgiven++
		if step.Recording() {
			step.WhyText(ruleForgiven, out.forgiven.Error())
		}
	case !out.skipped.IsZero():
		r.skipped++
		step.Why(out.skipped)
	default:
		r.held++
		step.Why(ruleHeld)
	}
	step.Int("cost", cost)
	step.End(&err)
}

var (
	ruleAfterLimit = trace.Because("rule-after-limit",
		"not reached: no rule is evaluated after one that exceeded the cost limit",
		"没有执行到：前面的规则超出开销上限后，不再执行其他规则")
	ruleWithoutValue = trace.Because("rule-without-value",
		"not reached: the object has nothing at {path:word}",
		"没有执行到：对象在 {path:word} 处没有值")
)

// finish shows the rules that no value reached. stopped means that a failure ended the evaluation early.
func (r *ruleReport) finish(stopped bool) {
	for _, n := range r.rules.places {
		for i := range n.rules {
			if r.taken[n.first+i] > 0 {
				continue
			}
			r.notReached++
			if r.steps == maxRuleSteps {
				r.notShown++
				continue
			}
			step := r.step(n, i, n.path)
			if stopped {
				step.Why(ruleAfterLimit)
			} else {
				step.WhyText(ruleWithoutValue, n.path)
			}
			step.End(nil)
		}
	}
}

// String counts the outcomes: "rules: 3 held, 1 failed, 2 not reached".
func (r *ruleReport) String() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{r.held, "held"},
		{r.failed, "failed"},
		{r.forgiven, "failed for values that are as they were"},
		{r.skipped, "skipped"},
		{r.notReached, "not reached"},
		{r.notShown, "of these not shown"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return "rules: " + strings.Join(parts, ", ")
}

// endWith ends a step with errors.
func endWith(step *trace.Step, errs field.ErrorList) {
	var err error
	if step.Recording() && len(errs) > 0 {
		err = errs[:min(len(errs), trace.MaxListed)].ToAggregate()
		if more := len(errs) - trace.MaxListed; more > 0 {
			err = fmt.Errorf("%w and %d more", err, more)
		}
	}
	step.End(&err)
}

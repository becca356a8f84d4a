package policy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/trace"
)

// mostLines limits the expressions that a step shows.
const mostLines = 64

// record collects the evaluated expressions for a step.
type record struct {
	step *trace.Step
	// masked hides values.
	masked bool
	lines  int
	cost   int64
	// variables holds the lines of variables that are already shown: validations, messages and annotations each
	// evaluate them anew.
	variables map[string]bool
	// condition is the first match condition that is false or fails to evaluate.
	condition       string
	conditionFailed bool
	// repeatable is the remaining cost for repeated evaluations. parts holds the sub-expressions that are
	// already shown.
	repeatable int64
	parts      map[string]bool
}

type recordKey struct{}

// withRecord returns a context that records evaluations in a step. The record is nil if the step is not
// recorded.
func withRecord(ctx context.Context, step *trace.Step, masked bool) (context.Context, *record) {
	if !step.Recording() {
		return ctx, nil
	}
	r := &record{step: step, masked: masked || step.Confidential(), repeatable: mostRepeatedCost, variables: map[string]bool{},
		parts: map[string]bool{}}
	return context.WithValue(ctx, recordKey{}, r), r
}

// maskText masks a text that may quote objects.
func (r *record) maskText(text string) string {
	if r.masked {
		return mask.Masked
	}
	return text
}

// line records an expression and its outcome, if it has one.
func (r *record) line(what string, e cel.ExpressionAccessor, v ref.Val, err error, cost int64) {
	r.cost += cost
	text := e.GetExpression()
	if c, ok := e.(*matchconditions.MatchCondition); ok {
		text = c.Name + ": " + text
		if r.condition == "" && (err != nil || v == types.False) {
			r.condition, r.conditionFailed = c.Name, err != nil
		}
	}
	if r.lines++; r.lines > mostLines {
		return
	}
	outcome := "not reached"
	switch {
	case err != nil:
		outcome = "error: " + r.maskText(err.Error())
	case v != nil:
		outcome = r.value(v)
	}
	r.step.Text(what, lineOf(text, outcome, cost))
}

// variable records the value of a variable when an expression first needs it. Its cost is part of that
// expression's.
func (r *record) variable(e cel.ExpressionAccessor, v ref.Val, err error, cost int64) {
	text := e.GetExpression()
	if named, ok := e.(cel.NamedExpressionAccessor); ok {
		text = named.GetName() + ": " + text
	}
	outcome := ""
	if err != nil {
		outcome = "error: " + r.maskText(err.Error())
	} else {
		outcome = r.part(v)
	}
	line := lineOf(text, outcome, cost)
	if r.variables[line] || len(r.variables) > mostLines {
		return
	}
	r.variables[line] = true
	if len(r.variables) > mostLines {
		r.step.Text("not-shown", "more variables")
		return
	}
	r.step.Text("variable", line)
}

// end records the total cost, and the number of expressions that are not shown.
func (r *record) end() {
	if r == nil {
		return
	}
	if more := r.lines - mostLines; more > 0 {
		r.step.Text("not-shown", fmt.Sprintf("%d more expressions", more))
	}
	r.step.Int("cost", r.cost)
}

func lineOf(expression, outcome string, cost int64) string {
	return fmt.Sprintf("%s → %s (cost %d)", strings.Join(strings.Fields(expression), " "), outcome, cost)
}

// first returns the first match condition that is false or fails to evaluate, if it is recorded.
func (r *record) first() string {
	if r == nil {
		return ""
	}
	return r.condition
}

// quoteShort quotes a string and cuts a long one.
func quoteShort(text string) string {
	if len(text) > mostPartText {
		return strconv.Quote(text[:mostPartText]) + "…"
	}
	return strconv.Quote(text)
}

// value formats the value of an expression.
func (r *record) value(v ref.Val) string {
	switch v := v.Value().(type) {
	case bool:
		return strconv.FormatBool(v)
	case string:
		return r.maskText(quoteShort(v))
	}
	return v.Type().TypeName()
}

// evaluator evaluates expressions as the library does, and records them.
type evaluator struct {
	cel.ConditionEvaluator
	compiler *cel.CompositedCompiler
	what     string
	all      []cel.ExpressionAccessor
	// repeated compiles the expressions once more, for their parts.
	repeated []func() *partsExpression
}

// fields are the fields of conditions that can be observed, by what these are.
var fields = map[string]string{"validation": "spec.validations[%d].expression", "condition": "spec.matchConditions[%d].expression"}

// conditions compiles expressions. all may contain nils.
func (c compiler) conditions(what string, all []cel.ExpressionAccessor, vars cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
	results, again := make([]cel.CompilationResult, len(all)), make([]func() *partsExpression, len(all))
	for i, one := range all {
		if one == nil {
			continue
		}
		results[i] = c.Compiler.CompileCELExpression(one, vars, environment.StoredExpressions)
		if results[i].Program != nil {
			var r report
			if field, ok := fields[what]; ok {
				r = c.report(field, i)
			}
			results[i].Program = program{results[i].Program, i, r}
			again[i] = sync.OnceValue(func() *partsExpression { return c.repeat(one.GetExpression(), vars) })
		}
	}
	return &evaluator{cel.NewCondition(results), c.CompositedCompiler, what, all, again}
}

// ForInput evaluates the expressions.
func (e *evaluator) ForInput(ctx context.Context, a *admission.VersionedAttributes, request *admissionv1.AdmissionRequest,
	vars cel.OptionalVariableBindings, namespace *corev1.Namespace, budget int64) ([]cel.EvaluationResult, int64, error) {
	r, _ := ctx.Value(recordKey{}).(*record)
	composed := e.compiler.CreateContext(ctx)
	if r == nil {
		return e.ConditionEvaluator.ForInput(composed, a, request, vars, namespace, budget)
	}
	counted := &counter{CompositionContext: composed, outcomes: make([]outcome, len(e.all))}
	results, left, err := e.ConditionEvaluator.ForInput(counted, a, request, vars, namespace, budget)
	if r.step.Objects() {
		again := make([]evaluation, len(e.all))
		for i := range again {
			again[i] = evaluation{counted.outcomes[i], e.repeated[i]}
		}
		r.showParts(again)
	}
	for i, one := range e.all {
		if one == nil {
			continue
		}
		o := counted.outcomes[i]
		switch {
		case results != nil:
			r.line(e.what, one, results[i].EvalResult, results[i].Error, o.cost)
		case err != nil && i == counted.present: // it exceeded the budget
			r.line(e.what, one, nil, err, o.cost)
		default:
			r.line(e.what, one, o.value, o.err, o.cost)
		}
	}
	return results, left, err
}

// shownVariables compiles variables so that their values are recorded, and reported if there is a report.
type shownVariables struct {
	cel.Compiler
	report report
}

func (c shownVariables) CompileCELExpression(e cel.ExpressionAccessor, vars cel.OptionalVariableDeclarations,
	mode environment.Type) cel.CompilationResult {
	result := c.Compiler.CompileCELExpression(e, vars, mode)
	if result.Program != nil {
		result.Program = variable{result.Program, e, c.report}
	}
	return result
}

// variable is a compiled variable. The library evaluates it when an expression first needs it.
type variable struct {
	celgo.Program
	expression cel.ExpressionAccessor
	report     report
}

func (v variable) ContextEval(ctx context.Context, input any) (ref.Val, *celgo.EvalDetails, error) {
	value, details, err := v.Program.ContextEval(ctx, input)
	if v.report != nil {
		v.report(ctx, value, err)
	}
	if r, ok := ctx.Value(recordKey{}).(*record); ok {
		r.variable(v.expression, value, err, costOf(details))
	}
	return value, details, err
}

// outcome is the result of one expression.
type outcome struct {
	value ref.Val
	err   error
	cost  int64
	// input holds the variables of the evaluation.
	input any
}

// counter counts the cost of each expression. The cost of a variable counts for the first expression that needs
// it.
type counter struct {
	cel.CompositionContext
	present  int
	outcomes []outcome
}

// GetAndResetCost returns the cost of the variables that an expression evaluated. The library calls it after
// each expression.
func (c *counter) GetAndResetCost() int64 {
	cost := c.CompositionContext.GetAndResetCost()
	c.outcomes[c.present].cost += cost
	return cost
}

// program is a compiled expression that knows its index.
type program struct {
	celgo.Program
	index  int
	report report
}

func (p program) ContextEval(ctx context.Context, input any) (ref.Val, *celgo.EvalDetails, error) {
	counted, ok := ctx.(*counter)
	if ok {
		counted.present = p.index
	}
	v, details, err := p.Program.ContextEval(ctx, input)
	if p.report != nil {
		p.report(ctx, v, err)
	}
	if ok {
		o := &counted.outcomes[p.index]
		o.value, o.err, o.input = v, err, input
		o.cost += costOf(details)
	}
	return v, details, err
}

// costOf returns the cost of an evaluation, 0 if it is unknown.
func costOf(details *celgo.EvalDetails) int64 {
	if cost := details.ActualCost(); cost != nil {
		return int64(*cost)
	}
	return 0
}

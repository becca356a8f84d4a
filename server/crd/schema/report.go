package schema

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/trace"
)

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
	_, step := trace.Start(r.ctx, trace.CRDCEL, at)
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

package filter

import (
	"context"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authz/impersonation"
)

// WithImpersonation replaces the user of a request by the one that its headers name, if the user is allowed to
// impersonate them.
func WithImpersonation(next Handler, c *Config) Handler {
	who := impersonation.New(c.Authorizer)
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		as, err := actAs(ctx, who, r.Header)
		switch {
		case err != nil:
			c.fail(ctx, w, r, err)
			return
		case as != nil:
			audit.LogImpersonatedUser(ctx, as.User, as.Constraint)
			ctx = request.WithUser(ctx, as.User)
		}
		next(ctx, w, r)
	}
}

var noImpersonation = trace.Because("no-impersonation", "nobody asked for it", "请求没有要求")

// actAs returns the user that a request impersonates, or nil if it impersonates no user.
func actAs(ctx context.Context, who *impersonation.Filter, headers http.Header) (as *impersonation.Identity, err error) {
	ctx, step := trace.Start(ctx, steps.FilterImpersonation, "")
	defer step.End(&err)
	wanted, err := impersonation.TakeUser(headers)
	if err != nil {
		return nil, err
	}
	if wanted == nil {
		step.Why(noImpersonation)
		return nil, nil
	}
	step.Text("wanted", wanted.Name)
	if journey := trace.FromContext(ctx); journey != nil {
		journey.UpdateRequest(func(q *trace.Request) { q.ImpersonatedUser = wanted.Name })
	}
	attributes, err := authorizerAttributes(ctx)
	if err != nil {
		return nil, err
	}
	as, answers, err := who.Authorize(ctx, wanted, attributes)
	if err != nil {
		sayRefusals(step, answers)
		sayGroups(step, attributes.GetUser())
		return nil, err
	}
	step.TextList("groups", as.User.GetGroups())
	step.Text("verb", as.Verb)
	sayRules(step, as.Verb, answers)
	return as, nil
}

// answersMost limits the answers that a step holds beside its reason: a request may name any number of groups.
const answersMost = 8

var mayActAs = trace.Because("may-act-as", "the user may do so: {rule:word}", "用户可以这样做：{rule:word}")

// sayRules makes the rule that allows to impersonate the name the step's reason. Rules for groups and other parts
// become attributes.
func sayRules(step *trace.Step, verb string, answers []impersonation.Answer) {
	if step == nil {
		return
	}
	name := slices.IndexFunc(answers, func(a impersonation.Answer) bool { return a.Verb == verb })
	_, rule := answers[name].Verdict.Why()
	step.WhyText(mayActAs, rule)
	said := 0
	for i := range answers {
		if _, other := answers[i].Verdict.Why(); other != rule && said < answersMost {
			step.Text("allowed", sentence(&answers[i]))
			said++
		}
	}
}

// sayRefusals makes the permission that is missing for the verb impersonate the step's reason. The parts that a rule
// for it must name become attributes, and so do the permissions that are missing for the constrained verbs.
func sayRefusals(step *trace.Step, answers []impersonation.Answer) {
	if step == nil {
		return
	}
	refused := 0
	for i := range answers {
		a := &answers[i]
		switch {
		case a.Verdict.Err != nil: // the error names it
		case a.Verb == impersonation.Verb:
			step.WhyText(a.Verdict.Why())
			if a.Verdict.Missing() == nil {
				continue // no role would help
			}
			step.Text("resource", schema.GroupResource{Group: a.Group, Resource: a.Resource}.String())
			for _, part := range [][2]string{{"subresource", a.Subresource}, {"namespace", a.Namespace}, {"name", a.Name}} {
				if part[1] != "" {
					step.Text(part[0], part[1])
				}
			}
		case refused == trace.MaxAttrs:
		default:
			step.Text("refused", sentence(a))
			refused++
		}
	}
}

// sentence describes a question to the authorizer and its answer.
func sentence(a *impersonation.Answer) string {
	resource := schema.GroupResource{Group: a.Group, Resource: a.Resource}.String()
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	asked := a.Verb + " of " + resource
	if a.Name != "" {
		asked += " " + a.Name
	}
	if a.Namespace != "" {
		asked += " in ns " + a.Namespace
	}
	return escape.Line(asked) + ": " + a.Verdict.Sentence()
}

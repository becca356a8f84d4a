package filter

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// These annotations of audit events record whether a request was allowed, and why.
const (
	auditDecision = "authorization.k8s.io/decision"
	auditReason   = "authorization.k8s.io/reason"
)

// WithAuthorization answers 403 unless the user is allowed to make the request.
func WithAuthorization(next Handler, c *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(ctx, steps.FilterAuthorization, "")
		attributes, err := authorizerAttributes(ctx)
		if err != nil {
			step.End(&err)
			c.fail(ctx, w, r, apierrors.NewInternalError(err))
			return
		}
		verdict := c.Authorizer.Decide(ctx, attributes)
		if step != nil && verdict.Err == nil {
			step.WhyText(verdict.Why())
		}
		c.auditVerdict(ctx, &verdict)
		if verdict.Decision == authorizer.DecisionAllow {
			step.End(nil)
			next(ctx, w, r)
			return
		}
		sayGroups(step, attributes.GetUser())
		refusal := c.refusal(ctx, attributes, &verdict, r.URL.Path)
		step.End(&refusal)
		c.fail(ctx, w, r, refusal)
	}
}

// sayGroups adds each group of the user, except those that every user has, to the step. A later access review needs
// them to explain the refusal.
func sayGroups(step *trace.Step, who user.Info) {
	if step == nil || who == nil {
		return
	}
	groups := who.GetGroups()
	for i, group := range groups {
		if i == trace.MaxAttrs {
			step.Text("not-shown", fmt.Sprintf("%d more groups", len(groups)-i))
			break
		}
		if group != user.AllAuthenticated && group != user.AllUnauthenticated {
			step.Text("group", group)
		}
	}
}

// auditVerdict adds the verdict to the request's audit event, if it has one.
func (c *Config) auditVerdict(ctx context.Context, v *authz.Verdict) {
	if c.AuditSink == nil || !audit.AuditContextFrom(ctx).Enabled() {
		return
	}
	switch {
	case v.Decision == authorizer.DecisionAllow:
		audit.AddAuditAnnotations(ctx, auditDecision, "allow", auditReason, v.Reason())
	case v.Err != nil:
		audit.AddAuditAnnotation(ctx, auditReason, "internal error") // there is no decision
	default:
		audit.AddAuditAnnotations(ctx, auditDecision, "forbid", auditReason, v.Reason())
	}
}

// refusal returns the error for a request that is denied, or for which the authorizer failed.
func (c *Config) refusal(ctx context.Context, attributes authorizer.Attributes, verdict *authz.Verdict, path string) error {
	switch {
	case verdict.Err == nil:
		return responsewriters.ForbiddenStatusError(attributes, verdict.Reason())
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
	}
	c.Logger.Error("a request could not be authorized", "path", escape.Line(path), "error", escape.Line(verdict.Err.Error()))
	return apierrors.NewInternalError(verdict.Err)
}

// authorizerAttributes returns the attributes of a request that the authorizer and the audit policy read.
func authorizerAttributes(ctx context.Context) (authorizer.Attributes, error) {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok {
		return nil, errors.New("no RequestInfo found in the context")
	}
	attributes := authorizer.AttributesRecord{
		ResourceRequest: info.IsResourceRequest,
		Verb:            info.Verb,
		Path:            info.Path,
		APIGroup:        info.APIGroup,
		APIVersion:      info.APIVersion,
		Resource:        info.Resource,
		Subresource:     info.Subresource,
		Namespace:       info.Namespace,
		Name:            info.Name,
	}
	attributes.User, _ = request.UserFrom(ctx)
	if info.FieldSelector != "" {
		if selector, err := fields.ParseSelector(info.FieldSelector); err != nil {
			attributes.FieldSelectorParsingErr = err
		} else if requirements := selector.Requirements(); len(requirements) > 0 {
			attributes.FieldSelectorRequirements = requirements
		}
	}
	if info.LabelSelector != "" {
		if selector, err := labels.Parse(info.LabelSelector); err != nil {
			attributes.LabelSelectorParsingErr = err
		} else if requirements, _ := selector.Requirements(); len(requirements) > 0 {
			attributes.LabelSelectorRequirements = requirements
		}
	}
	return attributes, nil
}

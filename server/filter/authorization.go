package filter

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// WithAuthorization checks that the user may do what they ask for, or answers 403.
func WithAuthorization(next http.Handler, c *Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(r.Context(), trace.FilterAuthorization, "")
		attributes, err := authorizerAttributes(ctx)
		if err != nil {
			step.End(&err)
			c.fail(w, r, apierrors.NewInternalError(err))
			return
		}
		decision, reason, err := c.Authorizer.Authorize(ctx, attributes)
		if decision == authorizer.DecisionAllow {
			step.WhyText(trace.Allowed, reason)
			step.End(nil)
			next.ServeHTTP(w, r)
			return
		}
		var refusal error = responsewriters.ForbiddenStatusError(attributes, reason)
		step.End(&refusal)
		if err != nil {
			c.Logger.Error("a request could not be authorized", "path", escape.Line(r.URL.Path), "error", err)
			refusal = apierrors.NewInternalError(err)
		}
		c.fail(w, r, refusal)
	})
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
	return attributes, nil
}

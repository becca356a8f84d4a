package filter

import (
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authz/impersonation"
)

// WithImpersonation lets a request go on as the user that its headers name, if the user who sent it may do that.
func WithImpersonation(next http.Handler, c *Config) http.Handler {
	who := impersonation.New(c.Authorizer)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		as, err := actAs(who, r)
		switch {
		case err != nil:
			c.fail(w, r, err)
			return
		case as != nil:
			ctx := r.Context()
			audit.LogImpersonatedUser(ctx, as.User, as.Constraint)
			if journey := trace.FromContext(ctx); journey != nil {
				journey.UpdateRequest(func(q *trace.Request) { q.ImpersonatedUser = as.User.GetName() })
			}
			r = r.WithContext(request.WithUser(ctx, as.User))
		}
		next.ServeHTTP(w, r)
	})
}

// actAs decides whom a request goes on as, nil if it asks for nobody else.
func actAs(who *impersonation.Filter, r *http.Request) (as *impersonation.Acting, err error) {
	ctx, step := trace.Start(r.Context(), trace.FilterImpersonation, "")
	defer step.End(&err)
	wanted, err := impersonation.Wanted(r.Header)
	if err != nil {
		return nil, err
	}
	if wanted == nil {
		step.Why(trace.NoImpersonation)
		return nil, nil
	}
	step.Text("wanted", wanted.Name)
	attributes, err := authorizerAttributes(ctx)
	if err != nil {
		return nil, err
	}
	if as, err = who.As(ctx, wanted, attributes); err != nil {
		return nil, err
	}
	step.Text("groups", strings.Join(as.User.GetGroups(), ","))
	step.WhyText(trace.ActsAs, as.Verb)
	return as, nil
}

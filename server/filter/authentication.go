package filter

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authn"
)

// WithAuthentication finds the user, or answers 401.
func WithAuthentication(next Handler, c *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(ctx, steps.FilterAuthentication, "")
		answer, ok, err := c.Authenticator.AuthenticateRequest(r.WithContext(ctx))
		if err != nil || !ok {
			if err == nil {
				err = errors.New("no credentials that this server knows")
			}
			why := noteRejections(step, err)
			step.End(&err)
			c.Logger.Info("a request was turned away: nobody knows who asks",
				append([]any{"method", r.Method, "path", escape.Line(r.URL.Path), "error", err}, why...)...)
			closeConnectionOfStranger(w, r)
			if err := auditStranger(ctx, w, r, c); err != nil {
				c.fail(ctx, w, r, apierrors.NewInternalError(err))
				return
			}
			c.fail(ctx, w, r, apierrors.NewUnauthorized("Unauthorized"))
			return
		}
		if answer.User.GetName() == user.Anonymous {
			closeConnectionOfStranger(w, r)
		}
		who := answer.User
		step.Text("user", who.GetName())
		if known, ok := who.(*authn.Identity); ok {
			step.WhyText(known.Why, known.Text)
			if known.Bound != "" {
				step.Text("bound", known.Bound)
			}
			who = known.Info
		}
		step.End(nil)
		r.Header.Del("Authorization") // nothing below should see it, nor log it
		next(request.WithUser(ctx, who), w, r)
	}
}

// noteRejections gives the first rejection to the step as its reason, and returns all of them for the log.
func noteRejections(step *trace.Step, err error) (logged []any) {
	var unknown *authn.Unknown
	if !errors.As(err, &unknown) {
		return nil
	}
	first := unknown.Rejections[0]
	step.WhyText(first.Why, first.Text)
	for _, d := range unknown.Rejections {
		logged = append(logged, "rejection", escape.Line(d.Error()))
	}
	return logged
}

// closeConnectionOfStranger closes an HTTP/2 connection after this answer: one connection can carry many requests at
// once, which only known users should make.
func closeConnectionOfStranger(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 {
		w.Header().Set("Connection", "close")
	}
}

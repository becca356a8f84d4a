package filter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// WithPanicRecovery answers 500 if a handler panics, and logs the stack: the fault of one request must not affect
// others. It re-panics with http.ErrAbortHandler, which handlers use to cut a connection.
func WithPanicRecovery(next Handler, c *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		_, step := trace.Start(ctx, steps.FilterPanicRecovery, "")
		step.End(nil)
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				c.countAborted(r)
				panic(p)
			}
			c.Logger.Error("a request panicked", "method", r.Method, "uri", r.URL.Path, "panic", c.panicText(r, p), "stack",
				string(debug.Stack()))
			if res := responseOf(w); res != nil && res.code != 0 {
				c.countAborted(r)
				panic(http.ErrAbortHandler) // part of the response is sent: let the client see that it ends here
			}
			err := errors.New("this request caused apiserver to panic. Look in the logs for details")
			c.fail(ctx, w, r, apierrors.NewInternalError(err))
		}()
		next(ctx, w, r)
	}
}

// panicText returns the log's text for a panic. It is masked, since a panic may quote a secret.
func (c *Config) panicText(r *http.Request, p any) string {
	info, err := c.infoOf(r)
	if err != nil || mask.Confidential(mask.Request{Group: info.APIGroup, Resource: info.Resource, Subresource: info.Subresource}) {
		return fmt.Sprintf("masked: a value of type %T", p)
	}
	return fmt.Sprint(p)
}

// countAborted counts a request whose answer is cut off. Its request info is not in this filter's context.
func (c *Config) countAborted(r *http.Request) {
	info, err := c.infoOf(r)
	if err != nil || !info.IsResourceRequest || !c.Counted(info) {
		info = &request.RequestInfo{}
	}
	c.Metrics.CountAborted(info)
}

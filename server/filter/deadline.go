package filter

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/trace"
)

// WithRequestDeadline gives the request until a certain time: the server's --request-timeout, or less if the client
// says so in ?timeout=. Long-running requests have none.
func WithRequestDeadline(next http.Handler, c *Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(r.Context(), trace.FilterDeadline, "")
		info, _ := request.RequestInfoFrom(ctx)
		if c.LongRunning(r, info) {
			step.Why("long-running: no deadline")
			step.End(nil)
			next.ServeHTTP(w, r)
			return
		}
		timeout, err := timeoutOf(r, c.RequestTimeout)
		if err != nil {
			step.End(&err)
			c.fail(w, r, err)
			return
		}
		step.Text("timeout", timeout.String())
		step.End(nil)
		received, _ := request.ReceivedTimestampFrom(ctx)
		deadline := trace.NewDeadline(ctx, received.Add(timeout+trace.HeldFor(ctx)), func() { giveUpOnClient(w, patience) })
		defer deadline.Stop()
		trace.OnHold(ctx, deadline)
		if deadline.Err() != nil {
			c.fail(w, r, apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0))
			return
		}
		next.ServeHTTP(w, r.WithContext(deadline))
	})
}

// timeoutOf is how long the request may take. A client's 0 asks for nothing.
func timeoutOf(r *http.Request, most time.Duration) (time.Duration, error) {
	// Most queries have no such parameter: look before parsing.
	if query := r.URL.RawQuery; !strings.Contains(query, "timeout") && !strings.Contains(query, "%") {
		return most, nil
	}
	text := r.URL.Query().Get("timeout")
	if text == "" {
		return most, nil
	}
	asked, err := time.ParseDuration(text)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %v", err))
	}
	if asked > 0 && asked < most {
		return asked, nil
	}
	return most, nil
}

package filter

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

var noDeadline = trace.Because("no-deadline",
	"the request is long-running: it has no deadline",
	"长时间运行的请求，不设截止时间")

// WithRequestDeadline gives the request a deadline: the server's --request-timeout, or a shorter ?timeout= of the
// client. Long-running requests have none.
func WithRequestDeadline(next Handler, c *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(ctx, steps.FilterDeadline, "")
		info, _ := request.RequestInfoFrom(ctx)
		if c.LongRunning(r, info) {
			step.Why(noDeadline)
			step.End(nil)
			next(ctx, w, r)
			return
		}
		timeout, err := timeoutOf(r, c.RequestTimeout)
		if err != nil {
			step.End(&err)
			c.refuse(ctx, w, r, err)
			return
		}
		step.Text("timeout", timeout.String())
		step.End(nil)
		received, _ := request.ReceivedTimestampFrom(ctx)
		deadline := newDeadline(ctx, received.Add(timeout+trace.HeldFor(ctx)), func() { giveUpOnClient(w, r, patience) })
		defer deadline.stop()
		trace.OnHold(ctx, deadline)
		if deadline.Err() != nil {
			c.refuse(ctx, w, r, apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0))
			return
		}
		next(deadline, w, r)
	}
}

// refuse answers with an error, and logs it in the audit log, because the request does not reach WithAudit.
func (c *Config) refuse(ctx context.Context, w http.ResponseWriter, r *http.Request, err error) {
	if auditErr := auditRefused(ctx, w, r, c, nil); auditErr != nil {
		err = apierrors.NewInternalError(auditErr)
	}
	c.fail(ctx, w, r, err)
}

// timeoutOf returns the time that the request may take. A timeout of 0 in the query counts as none.
func timeoutOf(r *http.Request, most time.Duration) (time.Duration, error) {
	// Most queries have no such parameter, so parsing them would be wasted.
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

// Deadline is a context that ends after some time, not counting pauses: the time for which a request is held at a step
// must not count. Derived contexts end with it, with context.DeadlineExceeded as their cause. mu guards the fields
// below it.
type Deadline struct {
	context.Context
	cancel context.CancelCauseFunc
	// onExpire runs when the time is up, and never after stop has returned. It must not call the Deadline.
	onExpire func()

	mu      sync.Mutex
	timer   *time.Timer
	until   time.Time
	paused  time.Duration // the time that was left at the pause; 0 while it runs
	stopped bool
}

func newDeadline(parent context.Context, until time.Time, onExpire func()) *Deadline {
	ctx, cancel := context.WithCancelCause(parent)
	d := &Deadline{Context: ctx, cancel: cancel, onExpire: onExpire, until: until}
	d.mu.Lock() // the timer may fire before it is assigned
	defer d.mu.Unlock()
	left := time.Until(until)
	d.timer = time.AfterFunc(left, d.expire)
	if left <= 0 {
		d.end() // at once, without waiting for the timer's goroutine
	}
	return d
}

func (d *Deadline) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

// end ends the context. The caller holds mu.
func (d *Deadline) end() {
	if d.stopped || d.paused > 0 || d.Context.Err() != nil {
		return
	}
	d.cancel(context.DeadlineExceeded)
	d.onExpire()
}

// Deadline returns when the context ends, unless it is paused.
func (d *Deadline) Deadline() (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused > 0 {
		return d.Context.Deadline()
	}
	return d.until, true
}

// Err returns context.DeadlineExceeded once the time is up.
func (d *Deadline) Err() error {
	err := d.Context.Err()
	if err != nil && context.Cause(d.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

// Pause stops the clock, unless the time is up.
func (d *Deadline) Pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.paused > 0 || d.Context.Err() != nil {
		return
	}
	d.timer.Stop()
	d.paused = max(time.Until(d.until), 1)
}

// Resume restarts the clock where Pause stopped it.
func (d *Deadline) Resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.paused == 0 {
		return
	}
	d.until = time.Now().Add(d.paused)
	d.timer.Reset(d.paused)
	d.paused = 0
}

func (d *Deadline) stop() {
	d.mu.Lock()
	d.stopped = true
	d.timer.Stop()
	d.mu.Unlock()
	d.cancel(context.Canceled)
}

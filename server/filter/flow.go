package filter

import (
	"context"
	"net/http"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/flow"
	"github.com/kx-apiserver/kx/server/metrics"
)

// WithPriorityAndFairness gives each request a seat of its priority level. If none is free, the request waits in a
// queue or is answered 429. A watch gives its seat back once it has sent the objects that existed before it. Other
// long-running requests need no seat. A request that waits for the rest of a body gives its seat up meanwhile.
func WithPriorityAndFairness(next http.Handler, c *Config) http.Handler {
	bodies := &bodies{metrics: c.Metrics, users: map[string]holding{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(r.Context(), trace.FilterPriorityAndFairness, "")
		info, _ := request.RequestInfoFrom(ctx)
		watches := info.Verb == "watch"
		if c.LongRunning(r, info) && !watches {
			step.Why(trace.NoSeatNeeded)
			step.End(nil)
			next.ServeHTTP(w, r)
			return
		}
		kind := metrics.ReadOnly
		if isWrite(info.Verb) {
			kind = metrics.Mutating
		}
		who, _ := request.UserFrom(ctx)
		asks := flow.Request{HTTP: r, Info: info, User: who}
		entry, seat := c.Flow.Take(asks)
		w.Header().Set(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID, string(entry.Schema.UID))
		w.Header().Set(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID, string(entry.Level.UID))
		named := judged(step, &entry, seat != nil)
		if seat == nil {
			err := error(apierrors.NewTooManyRequests("too many requests, please try again later", int(entry.RetryAfter)))
			step.End(&err)
			c.Metrics.Dropped(kind)
			noSeat(w, entry.RetryAfter)
			return
		}
		defer seat.Pause()
		step.End(nil)
		switch {
		case watches:
			defer c.Flow.Watching(asks)()
			trace.OnHold(ctx, seat)
			r = r.WithContext(rest.WithInitialized(ctx, seat.Pause))
		case entry.Exempt: // it needs none
			trace.OnHold(ctx, seat)
		default:
			trace.OnHold(ctx, holds{seat, step, named})
		}
		if !watches {
			defer c.Metrics.InFlight(kind)()
		}
		defer bodies.watch(w, r, kind, seat).end()
		next.ServeHTTP(w, r)
	})
}

// judged records the classification of the request in the step. It returns the name of the flow in the step's form.
func judged(step *trace.Step, e *flow.Entry, admitted bool) (text string) {
	if step == nil {
		return ""
	}
	text = "flow schema " + e.Schema.Name + ", priority level " + e.Level.Name
	if e.Flow != "" {
		text += ", flow " + e.Flow
	}
	seats, micros := int64(e.Seats), e.Waited.Microseconds()
	switch {
	case !admitted && !e.Queues:
		step.WhyText(trace.LevelFull, text)
	case !admitted && e.Waited < flow.Patience:
		step.WhyText(trace.QueueFull, text)
	case !admitted:
		step.WhyText(trace.WaitedInVain, text, micros)
	case e.Exempt:
		step.WhyText(trace.FlowExempt, text)
	case e.Waited == 0:
		step.WhyText(trace.SeatThere, text, seats)
	case e.Queue < 0:
		step.WhyText(trace.SeatAwaited, text, micros, seats)
	default:
		step.WhyText(trace.SeatAwaitedInQueue, text, micros, int64(e.Queue), seats)
	}
	return text
}

// holds notes in the step that a request goes on without a seat after it was held. A watch goes on without one anyway.
type holds struct {
	*flow.Seat
	step *trace.Step
	flow string
}

// Resume adds the reason to the step, although the step has ended.
func (h holds) Resume() {
	h.Seat.Resume()
	h.step.WhyText(trace.SeatGivenUp, h.flow)
}

// seating is a seat that a request can give back and take again.
type seating interface {
	Pause()
	Retake(ctx context.Context) bool
}

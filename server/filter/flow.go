package filter

import (
	"context"
	"net/http"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/flow"
	"github.com/kx-apiserver/kx/server/metrics"
)

var noSeatNeeded = trace.Because("no-seat-needed",
	"the request is long-running: it takes no seat",
	"长时间运行的请求，不占席位")

// These are the names as net/http has them. It would make a name of any other spelling for each response.
var (
	schemaUIDHeader = http.CanonicalHeaderKey(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)
	levelUIDHeader  = http.CanonicalHeaderKey(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID)
)

// WithPriorityAndFairness gives each request a seat of its priority level. If none is free, the request waits in a
// queue or is answered 429. A watch gives its seat back once it has sent the objects that existed before it. Other
// long-running requests need no seat. A request that waits for the rest of a body gives its seat up meanwhile.
func WithPriorityAndFairness(next Handler, c *Config) Handler {
	bodies := &bodies{metrics: c.Metrics, users: map[string]bodyMemory{}}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(ctx, steps.FilterPriorityAndFairness, "")
		info, _ := request.RequestInfoFrom(ctx)
		watches := info.Verb == "watch"
		if c.LongRunning(r, info) && !watches {
			step.Why(noSeatNeeded)
			step.End(nil)
			next(ctx, w, r)
			return
		}
		kind := metrics.ReadOnly
		if isWrite(info.Verb) {
			kind = metrics.Mutating
		}
		who, _ := request.UserFrom(ctx)
		asks := flow.Request{Context: ctx, URL: r.URL, Info: info, User: who}
		entry, seat := c.Flow.Take(asks)
		w.Header().Set(schemaUIDHeader, string(entry.Schema.UID))
		w.Header().Set(levelUIDHeader, string(entry.Level.UID))
		named := recordClassification(step, &entry, seat != nil)
		if seat == nil {
			err := error(apierrors.NewTooManyRequests("too many requests, please try again later", int(entry.RetryAfter)))
			step.End(&err)
			c.Metrics.CountDropped(kind)
			noSeat(w, entry.RetryAfter)
			return
		}
		defer seat.Pause()
		step.End(nil)
		switch {
		case watches:
			defer c.Flow.AddWatch(asks)()
			trace.OnHold(ctx, seat)
			ctx = rest.WithInitialized(ctx, seat.Pause)
		case entry.Exempt: // it needs none
			trace.OnHold(ctx, seat)
		default:
			trace.OnHold(ctx, holds{seat, step, named})
		}
		if !watches {
			defer c.Metrics.InFlight(kind)()
		}
		r, body := bodies.watch(ctx, w, r, kind, seat)
		defer body.end()
		next(ctx, w, r)
	}
}

var (
	flowExempt = trace.Because("flow-exempt",
		"{flow:word}: such requests never wait",
		"{flow:word}：这类请求从不等待")
	seatThere = trace.Because("seat-there",
		"{flow:word}: it takes {seats} of the level's seats",
		"{flow:word}：占用该优先级的 {seats} 个席位")
	seatAwaited = trace.Because("seat-awaited",
		"{flow:word}: it waited {micros} µs for {seats} of the level's seats, which others had taken",
		"{flow:word}：席位被其他请求占用，等待 {micros} µs 后得到 {seats} 个席位")
	seatAwaitedInQueue = trace.Because("seat-awaited-in-queue",
		"{flow:word}: it waited {micros} µs in queue {queue} for {seats} of the level's seats, which others had taken",
		"{flow:word}：席位被其他请求占用，在队列 {queue} 中等待 {micros} µs 后得到 {seats} 个席位")
	levelFull = trace.Because("level-full",
		"{flow:word}: others have taken all seats of the level, and its requests don't wait",
		"{flow:word}：该优先级的席位已满，且其请求不排队")
	queueFull = trace.Because("queue-full",
		"{flow:word}: others have taken all seats of the level, and its queue is full",
		"{flow:word}：该优先级的席位已满，队列也已满")
	waitedInVain = trace.Because("waited-in-vain",
		"{flow:word}: it waited {micros} µs, and others had the level's seats all the while",
		"{flow:word}：等待了 {micros} µs，席位始终被其他请求占用")
)

// recordClassification records the classification of the request in the step. It returns the name of the flow in the
// step's form.
func recordClassification(step *trace.Step, e *flow.Entry, admitted bool) (text string) {
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
		step.WhyText(levelFull, text)
	case !admitted && e.Waited < flow.Patience:
		step.WhyText(queueFull, text)
	case !admitted:
		step.WhyText(waitedInVain, text, micros)
	case e.Exempt:
		step.WhyText(flowExempt, text)
	case e.Waited == 0:
		step.WhyText(seatThere, text, seats)
	case e.Queue < 0:
		step.WhyText(seatAwaited, text, micros, seats)
	default:
		step.WhyText(seatAwaitedInQueue, text, micros, int64(e.Queue), seats)
	}
	return text
}

// holds notes in the step that a request goes on without a seat after it was held. A watch goes on without one anyway.
type holds struct {
	*flow.Seat
	step *trace.Step
	flow string
}

var seatGivenUp = trace.Because("seat-given-up",
	"{flow:word}: it was held, gave its seat back, and goes on without one",
	"{flow:word}：请求被暂停，已归还席位，继续执行时不再占用席位")

// Resume adds the reason to the step, although the step has ended.
func (h holds) Resume() {
	h.Seat.Resume()
	h.step.WhyText(seatGivenUp, h.flow)
}

// returnableSeat is a seat that a request can give back and take again.
type returnableSeat interface {
	Pause()
	Retake(ctx context.Context) bool
}

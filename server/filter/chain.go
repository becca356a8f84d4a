package filter

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/flow"
	"github.com/kx-apiserver/kx/server/metrics"
	"github.com/kx-apiserver/kx/server/tracing"
)

// Config configures the filters.
type Config struct {
	RequestInfo request.RequestInfoResolver
	// LongRunning reports whether a request, such as a watch, has no deadline and needs no seat.
	LongRunning request.LongRunningRequestCheck

	// Counted reports whether a request has its own metrics. Only requests for existing resources have them, because
	// clients can invent any number of other names.
	Counted func(*request.RequestInfo) bool

	Authenticator authenticator.Request
	Authorizer    *authz.Authorizer

	// AuditSink and AuditPolicy are nil if nothing is audited.
	AuditSink   audit.Sink
	AuditPolicy audit.PolicyRuleEvaluator

	// Serializer encodes the errors of filters.
	Serializer runtime.NegotiatedSerializer

	Journeys *trace.Recorder
	// Tracing exports journeys; it may be nil.
	Tracing *tracing.Tracer
	Metrics *metrics.Metrics
	Drain   *Drain
	Logger  *slog.Logger

	RequestTimeout time.Duration
	// Flow admits requests by priority and fairness. If it is nil, MaxRequestsInFlight and MaxMutatingRequestsInFlight
	// limit them.
	Flow                        *flow.Control
	MaxRequestsInFlight         int
	MaxMutatingRequestsInFlight int
	CORSAllowedOrigins          []*regexp.Regexp
}

// Handler serves a request. What the filters before it found out is in ctx, not in the request's own context: each
// change of that would copy the request.
type Handler func(ctx context.Context, w http.ResponseWriter, r *http.Request)

// Filter wraps a handler.
type Filter struct {
	Step steps.ID
	With func(next Handler, c *Config) Handler
}

// chain lists the filters in the order in which a request passes them.
var chain = []Filter{
	{steps.FilterAuditInit, WithAuditInit},
	{steps.FilterPanicRecovery, WithPanicRecovery},
	{steps.FilterRequestInfo, WithRequestInfo},
	{steps.FilterLatency, WithLatencyTrackers},
	{steps.FilterWaitGroup, WithWaitGroup},
	{steps.FilterDeadline, WithRequestDeadline},
	{steps.FilterWarnings, WithWarningRecorder},
	{steps.FilterCORS, WithCORS},
	{steps.FilterAuthentication, WithAuthentication},
	{steps.FilterTracing, WithTracing},
	{steps.FilterAudit, WithAudit},
	{steps.FilterImpersonation, WithImpersonation},
	{steps.FilterPriorityAndFairness, WithPriorityAndFairness},
	{steps.FilterInFlight, WithMaxInFlightLimit},
	{steps.FilterAuthorization, WithAuthorization},
}

// Chain returns the filters in the order in which a request passes them, with priority and fairness or without.
func Chain(fair bool) []Filter {
	other := steps.FilterPriorityAndFairness
	if fair {
		other = steps.FilterInFlight
	}
	return slices.DeleteFunc(slices.Clone(chain), func(f Filter) bool { return f.Step == other })
}

// BuildHandlerChain wraps handler in the filters. The journey and the limits of the socket enclose all of them.
func BuildHandlerChain(handler http.Handler, c *Config) http.Handler {
	next := Handler(func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(ctx))
	})
	for _, f := range slices.Backward(Chain(c.Flow != nil)) {
		next = f.With(next, c)
	}
	return withStack(withSocketLimits(withJourney(next, c), patience))
}

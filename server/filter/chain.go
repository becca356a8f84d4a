package filter

import (
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/trace"
)

// Config is what the filters work with.
type Config struct {
	RequestInfo request.RequestInfoResolver
	// LongRunning says which requests have no deadline and take no seat: watches.
	LongRunning request.LongRunningRequestCheck

	// Counted says which requests have metrics of their own: those for resources that exist, since anybody can ask for
	// others by any name.
	Counted func(*request.RequestInfo) bool

	Authenticator authenticator.Request
	Authorizer    authorizer.Authorizer

	// AuditSink and AuditPolicy are nil if nothing is audited.
	AuditSink   audit.Sink
	AuditPolicy audit.PolicyRuleEvaluator

	// Serializer writes the answers of filters that refuse.
	Serializer runtime.NegotiatedSerializer

	Journeys *trace.Recorder
	Drain    *Drain
	Logger   *slog.Logger

	RequestTimeout              time.Duration
	MaxRequestsInFlight         int
	MaxMutatingRequestsInFlight int
	CORSAllowedOrigins          []*regexp.Regexp
}

// Filter wraps a handler.
type Filter struct {
	Step trace.ID
	With func(next http.Handler, c *Config) http.Handler
}

// Chain is the filters in the order that a request passes them.
var Chain = []Filter{
	{trace.FilterAuditInit, WithAuditInit},
	{trace.FilterPanicRecovery, WithPanicRecovery},
	{trace.FilterRequestInfo, WithRequestInfo},
	{trace.FilterLatency, WithLatencyTrackers},
	{trace.FilterWaitGroup, WithWaitGroup},
	{trace.FilterDeadline, WithRequestDeadline},
	{trace.FilterWarnings, WithWarningRecorder},
	{trace.FilterCORS, WithCORS},
	{trace.FilterAuthentication, WithAuthentication},
	{trace.FilterTracing, WithTracing},
	{trace.FilterAudit, WithAudit},
	{trace.FilterImpersonation, WithImpersonation},
	{trace.FilterInFlight, WithMaxInFlightLimit},
	{trace.FilterAuthorization, WithAuthorization},
}

// BuildHandlerChain puts the filters before handler, and before the filters the beginning of the journey and the limits of
// the socket.
func BuildHandlerChain(handler http.Handler, c *Config) http.Handler {
	for i := len(Chain) - 1; i >= 0; i-- {
		handler = Chain[i].With(handler, c)
	}
	return withStack(withSocketLimits(withJourney(handler, c), patience))
}

package filter

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

const (
	// JourneyHeader carries the journey's ID in the response of a recorded request.
	JourneyHeader = "Kx-Journey"
	// LevelHeader of a request asks for a journey with objects, or for none.
	LevelHeader = "Kx-Trace"
	// HoldHeader with the value "off" exempts a request from breakpoints and faults, if its user may command held
	// requests. A client that examines a held request needs that.
	HoldHeader = "Kx-Hold"
)

// withJourney begins and ends the request's journey, and wraps the server's response writer in the chain's.
func withJourney(next Handler, c *Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := &response{ResponseWriter: w, last: r.ProtoMajor == 1}
		// Responses of an API depend on the user and the time. A handler with a public response overwrites this.
		w.Header().Set("Cache-Control", "no-cache, private")
		if c.Journeys == nil || unrecordedPath(r.URL.Path) {
			next(r.Context(), res, r)
			return
		}
		ctx, journey := c.Journeys.Begin(r.Context(), trace.Request{
			Method:      r.Method,
			URI:         r.URL.RequestURI(),
			ContentType: r.Header.Get("Content-Type"),
			UserAgent:   r.UserAgent(),
			SourceIP:    sourceIP(r),
		})
		if journey == nil {
			next(r.Context(), res, r)
			return
		}
		w.Header().Set(JourneyHeader, journey.ID())
		defer func() {
			journey.Finish(trace.Response{Code: res.code, Bytes: res.bytes})
			c.Tracing.Export(journey)
		}()
		next(ctx, res, r)
	})
}

// unrecordedPath reports whether a path gets no journey: those of kx's own group, through which journeys are read, and
// those that monitors poll every few seconds.
func unrecordedPath(path string) bool {
	for _, p := range []string{"/healthz", "/livez", "/readyz", "/metrics", "/apis/kx.dev"} {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// WithTracing decides how much of the journey is recorded, and to which OpenTelemetry trace it belongs, now that the
// user and the request are known. It records objects for users who ask for them and may read journeys.
func WithTracing(next Handler, c *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		if journey := trace.FromContext(ctx); journey != nil {
			c.decideLevel(ctx, journey, w, r)
		}
		next(ctx, w, r)
	}
}

var (
	objectsAsked = trace.Because("objects-asked",
		"the client asked for objects, and may get journeys.kx.dev",
		"客户端要求记录对象，并且有权 get journeys.kx.dev")
	objectsRefused = trace.Because("objects-refused",
		"objects are for clients who may get journeys.kx.dev: steps alone are recorded",
		"只有有权 get journeys.kx.dev 的客户端可以要求记录对象，这里只记录步骤")
	objectsForAll = trace.Because("objects-for-all",
		"this server records steps and objects of every request",
		"本服务记录每个请求的步骤和对象")
	objectsRecorded = trace.Because("objects-recorded",
		"steps and objects are recorded, as the recording {name:word} says",
		"记录步骤和对象：记录规则 {name:word} 是这么要求的")
	stepsForAll = trace.Because("steps-for-all",
		"steps are recorded, as for every request",
		"与所有请求一样，记录步骤")
)

func (c *Config) decideLevel(ctx context.Context, journey *trace.Journey, w http.ResponseWriter, r *http.Request) {
	asked := r.Header.Get(LevelHeader)
	if asked != "off" && asked != "objects" {
		asked = "" // headers may hold anything
	}
	_, step := trace.Start(ctx, steps.FilterTracing, asked)
	defer step.End(nil)
	u, _ := request.UserFrom(ctx)
	if u != nil {
		journey.UpdateRequest(func(q *trace.Request) { q.User = u.GetName() })
	}
	c.Tracing.Begin(journey, r.Header, u, asked != "off")
	if r.Header.Get(HoldHeader) == "off" && c.allows(ctx, u, "create", "step") {
		journey.LeaveAlone()
	}
	switch {
	case asked == "off":
		journey.Discard()
		w.Header().Del(JourneyHeader)
	case asked == "objects" && c.allows(ctx, u, "get", ""):
		journey.SetLevel(trace.Objects)
		step.Why(objectsAsked)
	case step.Objects():
		step.Why(objectsForAll)
	default:
		switch recording := c.Journeys.Control().Record(step); {
		case recording != "":
			journey.SetLevel(trace.Objects)
			step.WhyText(objectsRecorded, recording)
		case asked == "objects":
			step.Why(objectsRefused)
		default:
			step.Why(stepsForAll)
		}
	}
}

// allows reports whether a user may use the verb on all journeys, or on a subresource of them.
func (c *Config) allows(ctx context.Context, who user.Info, verb, subresource string) bool {
	verdict := c.Authorizer.Decide(ctx, authorizer.AttributesRecord{
		User: who, Verb: verb, APIGroup: v1alpha1.GroupName, APIVersion: v1alpha1.SchemeGroupVersion.Version,
		Resource: "journeys", Subresource: subresource, ResourceRequest: true,
	})
	return verdict.Decision == authorizer.DecisionAllow
}

// isAdmin reports whether the user is a member of system:masters, to whom the limits on seats and memory do not apply.
func isAdmin(u user.Info) bool {
	return u != nil && slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup)
}

package filter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// auditIDMaxBytes limits the length of an audit ID from a client.
const auditIDMaxBytes = 64

// auditHeader is the name as net/http has it.
var auditHeader = http.CanonicalHeaderKey(auditinternal.HeaderAuditID)

// WithAuditInit gives the request an audit ID, or keeps the client's, and returns it in the response.
func WithAuditInit(next Handler, _ *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(auditHeader)
		if id == "" || len(id) > auditIDMaxBytes {
			id = uuid.NewString()
		}
		ctx, step := trace.Start(ctx, steps.FilterAuditInit, id)
		if journey := trace.FromContext(ctx); journey != nil {
			journey.UpdateRequest(func(q *trace.Request) { q.AuditID = id })
		}
		ctx = audit.WithAuditContext(ctx)
		audit.WithAuditID(ctx, types.UID(id))
		w.Header().Set(auditHeader, id)
		step.End(nil)
		next(ctx, w, r)
	}
}

// WithAudit logs the requester, the request and the result, in as much detail as the policy asks for.
func WithAudit(next Handler, c *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		level, err := beginAudit(ctx, r, c)
		if err != nil {
			c.fail(ctx, w, r, apierrors.NewInternalError(err))
			return
		}
		if level == auditinternal.LevelNone {
			next(ctx, w, r)
			return
		}
		ac := audit.AuditContextFrom(ctx)
		info, _ := request.RequestInfoFrom(ctx)
		longRunning := c.LongRunning(r, info)
		res := responseOf(w)
		if res != nil {
			res.onHeader = func(code int) {
				ac.SetEventResponseStatusCode(int32(code))
				if longRunning {
					ac.ProcessEventStage(ctx, auditinternal.StageResponseStarted)
				}
			}
		}
		defer func() {
			p := recover()
			if p != nil && !clientLeft(ctx, p) {
				ac.SetEventResponseStatus(&metav1.Status{
					Code: http.StatusInternalServerError, Status: metav1.StatusFailure,
					Reason: metav1.StatusReasonInternalError, Message: fmt.Sprintf("APIServer panic'd: %v", p),
				})
				ac.ProcessEventStage(ctx, auditinternal.StagePanic)
				if res != nil {
					res.onHeader = nil // the response to a panic has no event of its own
				}
				panic(p)
			}
			if ac.GetEventResponseStatus() == nil {
				ac.SetEventResponseStatus(&metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess,
					Message: "Connection closed early"})
				if longRunning {
					ac.ProcessEventStage(ctx, auditinternal.StageResponseStarted) // the header was never written
				}
			}
			annotateLatency(ctx)
			ac.ProcessEventStage(ctx, auditinternal.StageResponseComplete)
			if p != nil {
				panic(p)
			}
		}()
		next(ctx, w, r)
	}
}

// clientLeft reports whether a handler stopped in the middle of an answer because its client is gone.
func clientLeft(ctx context.Context, panicked any) bool {
	return panicked == http.ErrAbortHandler && errors.Is(ctx.Err(), context.Canceled)
}

// The client gets one of these errors if its request can't be audited.
var (
	errNoEvent   = errors.New("failed to create audit event")
	errNotStored = errors.New("failed to store audit event")
)

var noAuditLog = trace.Because("no-audit-log", "no audit log is kept", "没有启用审计日志")

// beginAudit evaluates the policy, and logs that the request was received. It returns the policy's level.
func beginAudit(ctx context.Context, r *http.Request, c *Config) (level auditinternal.Level, err error) {
	ctx, step := trace.Start(ctx, steps.FilterAudit, "")
	if c.AuditSink == nil {
		step.Why(noAuditLog)
		step.End(nil)
		return auditinternal.LevelNone, nil
	}
	var why error // the reason that only the step shows
	defer func() {
		if why != nil {
			err := fmt.Errorf("%w: %w", err, why)
			step.End(&err)
			return
		}
		step.End(&err)
	}()
	level, err = openAuditEvent(ctx, r, c, &why)
	if err != nil {
		return "", err
	}
	step.Text("level", string(level))
	if level != auditinternal.LevelNone && !audit.AuditContextFrom(ctx).ProcessEventStage(ctx, auditinternal.StageRequestReceived) {
		audit.ApiserverAuditDroppedCounter.WithContext(ctx).Inc()
		return "", errNotStored
	}
	return level, nil
}

// refusalReporter is an audit sink that reports why it refuses a request.
type refusalReporter interface {
	WithRefusal(why *error) audit.Sink
}

// openAuditEvent creates the request's event if the policy asks for one. If the log fails later, it stores the reason
// in why.
func openAuditEvent(ctx context.Context, r *http.Request, c *Config, why *error) (auditinternal.Level, error) {
	if c.AuditSink == nil || c.AuditPolicy == nil {
		return auditinternal.LevelNone, nil
	}
	attributes, err := authorizerAttributes(ctx)
	if err != nil {
		*why = err
		return "", c.noEvent(r, err)
	}
	rule := c.AuditPolicy.EvaluatePolicyRule(attributes)
	audit.ObservePolicyLevel(ctx, rule.Level)
	sink := c.AuditSink
	if log, ok := sink.(refusalReporter); ok {
		sink = log.WithRefusal(why)
	}
	if err := audit.AuditContextFrom(ctx).Init(rule, sink); err != nil {
		*why = err
		return "", c.noEvent(r, err)
	}
	if rule.Level != auditinternal.LevelNone {
		received, _ := request.ReceivedTimestampFrom(ctx)
		audit.LogRequestMetadata(ctx, r, received, attributes)
	}
	return rule.Level, nil
}

// noEvent logs why there is no event, and returns the error for the client.
func (c *Config) noEvent(r *http.Request, err error) error {
	c.Logger.Error("a request could not be audited, so it was refused", "path", escape.Line(r.URL.Path), "error", err)
	return errNoEvent
}

// auditStranger logs a request that fails authentication once it is answered. Such a request never reaches WithAudit.
func auditStranger(ctx context.Context, w http.ResponseWriter, r *http.Request, c *Config) error {
	return auditRefused(ctx, w, r, c, &metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonUnauthorized,
		Message: "Authentication failed, " + credentialsOf(r), // the client gets a shorter message
	})
}

// auditRefused logs a request that a filter before WithAudit refuses, once it is answered. It logs the given status, or
// the one that the client gets if status is nil.
func auditRefused(ctx context.Context, w http.ResponseWriter, r *http.Request, c *Config, status *metav1.Status) error {
	level, err := openAuditEvent(ctx, r, c, new(error))
	if err != nil || level == auditinternal.LevelNone {
		return err
	}
	ac := audit.AuditContextFrom(ctx)
	if res := responseOf(w); res != nil {
		res.onHeader = func(code int) {
			if status != nil {
				ac.SetEventResponseStatus(status)
			}
			ac.SetEventResponseStatusCode(int32(code))
			ac.ProcessEventStage(ctx, auditinternal.StageResponseStarted)
		}
	}
	return nil
}

// credentialsOf names the kinds of credentials in a request, never their values.
func credentialsOf(r *http.Request) string {
	var kinds []string
	if _, _, ok := r.BasicAuth(); ok {
		kinds = append(kinds, "basic")
	}
	if scheme, _, ok := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " "); ok && strings.EqualFold(scheme, "bearer") {
		kinds = append(kinds, "bearer")
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		kinds = append(kinds, "x509")
	}
	if len(kinds) == 0 {
		return "no credentials provided"
	}
	return "attempted: " + strings.Join(kinds, ", ")
}

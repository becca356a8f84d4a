package filter

import (
	"fmt"
	"net/http"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/trace"
)

// auditIDMaxBytes bounds an ID that a client brings.
const auditIDMaxBytes = 64

// WithAuditInit gives the request an audit ID, the client's own if it brings one, and tells it to the client.
func WithAuditInit(next http.Handler, _ *Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(auditinternal.HeaderAuditID)
		if id == "" || len(id) > auditIDMaxBytes {
			id = uuid.NewString()
		}
		ctx, step := trace.Start(r.Context(), trace.FilterAuditInit, id)
		if journey := trace.FromContext(ctx); journey != nil {
			journey.UpdateRequest(func(q *trace.Request) { q.AuditID = id })
		}
		ctx = audit.WithAuditContext(ctx)
		audit.WithAuditID(ctx, types.UID(id))
		w.Header().Set(auditinternal.HeaderAuditID, id)
		step.End(nil)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// WithAudit writes down who asked for what and what came of it, as far as the policy wants it.
func WithAudit(next http.Handler, c *Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		level, err := beginAudit(r, c)
		if err != nil {
			c.Logger.Error("a request could not be audited, so it was refused", "path", r.URL.Path, "error", err)
			c.fail(w, r, apierrors.NewInternalError(fmt.Errorf("failed to store audit event")))
			return
		}
		if level == auditinternal.LevelNone {
			next.ServeHTTP(w, r)
			return
		}
		ctx := r.Context()
		ac := audit.AuditContextFrom(ctx)
		info, _ := request.RequestInfoFrom(ctx)
		if res := responseOf(w); res != nil {
			longRunning := c.LongRunning(r, info)
			res.onHeader = func(code int) {
				ac.SetEventResponseStatusCode(int32(code))
				if longRunning {
					ac.ProcessEventStage(ctx, auditinternal.StageResponseStarted)
				}
			}
		}
		defer func() {
			if p := recover(); p != nil {
				ac.SetEventResponseStatus(&metav1.Status{
					Code: http.StatusInternalServerError, Status: metav1.StatusFailure,
					Reason: metav1.StatusReasonInternalError, Message: fmt.Sprintf("APIServer panic'd: %v", p),
				})
				ac.ProcessEventStage(ctx, auditinternal.StagePanic)
				panic(p)
			}
			if ac.GetEventResponseStatus() == nil {
				ac.SetEventResponseStatus(&metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess, Message: "Connection closed early"})
			}
			ac.ProcessEventStage(ctx, auditinternal.StageResponseComplete)
		}()
		next.ServeHTTP(w, r)
	})
}

// beginAudit asks the policy and writes down that the request was received. It returns the policy's level.
func beginAudit(r *http.Request, c *Config) (level auditinternal.Level, err error) {
	ctx, step := trace.Start(r.Context(), trace.FilterAudit, "")
	defer step.End(&err)
	if c.AuditSink == nil || c.AuditPolicy == nil {
		step.Why("no audit log is kept")
		return auditinternal.LevelNone, nil
	}
	attributes, err := authorizerAttributes(ctx)
	if err != nil {
		return "", err
	}
	rule := c.AuditPolicy.EvaluatePolicyRule(attributes)
	step.Text("level", string(rule.Level))
	ac := audit.AuditContextFrom(ctx)
	if err := ac.Init(rule, c.AuditSink); err != nil {
		return "", err
	}
	if rule.Level == auditinternal.LevelNone {
		return rule.Level, nil
	}
	received, _ := request.ReceivedTimestampFrom(ctx)
	audit.LogRequestMetadata(ctx, r, received, attributes)
	if !ac.ProcessEventStage(ctx, auditinternal.StageRequestReceived) {
		return "", fmt.Errorf("the audit log did not take the event")
	}
	return rule.Level, nil
}

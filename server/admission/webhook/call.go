package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/admission"
	admissionmetrics "k8s.io/apiserver/pkg/admission/metrics"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	kxwebhook "github.com/kx-apiserver/kx/server/webhook"
)

// side is one of the two kinds of webhooks.
type side struct {
	mutating bool
	// metric is the metrics' label of its calls. failedOpen is the prefix of the audit annotations for ignored
	// failures.
	metric, failedOpen string
}

var (
	mutatingSide   = side{true, "admit", "failed-open.mutation.webhook.admission.k8s.io/"}
	validatingSide = side{false, "validating", "failed-open.validating.webhook.admission.k8s.io/"}
)

// track adds the time of do to the request's latency in webhooks.
func (s side) track(ctx context.Context, do func()) {
	trackers, ok := request.LatencyTrackersFrom(ctx)
	switch {
	case !ok:
		do()
	case s.mutating:
		trackers.MutatingWebhookTracker.Track(do)
	default:
		trackers.ValidatingWebhookTracker.Track(do)
	}
}

// call is one call of a webhook.
type call struct {
	*ruleMatch
	side  side
	of    *admission.VersionedAttributes
	round int
	// index is the webhook's place among all of its side, or, if it validates, among those that are called.
	index int
}

// change applies the patch of an answer. It returns the number of operations, and whether they changed
// anything.
type change func(step *trace.Step, answer *admissionv1.AdmissionResponse) (operations int, changed bool, err error)

// judgedObject returns the object that the webhook judges: for a delete, the old one.
func (c *call) judgedObject() runtime.Object {
	if obj := c.of.VersionedObject.Object(); obj != nil {
		return obj
	}
	return c.of.VersionedOldObject.Object()
}

var (
	webhookAsked = trace.Because("webhook-asked",
		"its rule {rule} is about this write: it is asked",
		"第 {rule} 条规则匹配这次写入：调用 webhook")
	webhookAllowed = trace.Because("webhook-allowed",
		"its rule {rule} is about this write: it allows it",
		"第 {rule} 条规则匹配这次写入：webhook 允许写入")
	webhookLeft = trace.Because("webhook-left",
		"its rule {rule} is about this write: it allows it and changes nothing",
		"第 {rule} 条规则匹配这次写入：webhook 允许写入，没有修改")
	webhookChanged = trace.Because("webhook-changed",
		"its rule {rule} is about this write: it allows it, and its patch of {count} operations changes the object",
		"第 {rule} 条规则匹配这次写入：webhook 允许写入，它的补丁（{count} 个操作）修改了对象")
	webhookIgnored = trace.Because("webhook-ignored",
		"its rule {rule} is about this write, but the call failed, and its failurePolicy is Ignore: {error:quote}",
		"第 {rule} 条规则匹配这次写入，但调用失败，failurePolicy 是 Ignore：{error:quote}")
	webhookConditionFalse = trace.Because("webhook-condition-false",
		"its rule {rule} is about this write, but its match condition {condition:quote} is false: it is not asked",
		"第 {rule} 条规则匹配这次写入，但匹配条件 {condition:quote} 为假：不调用")
)

// do calls the webhook, or records why it does not. The error is the client's answer.
func (w *Webhooks) do(ctx context.Context, c *call, apply change) (changed bool, err error) {
	ctx, step := trace.Start(ctx, steps.HandlerWebhook, c.hook.GetConfigurationName()+"/"+c.hook.GetName())
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return false, err
	}
	if !c.skipped.IsZero() {
		step.WhyText(c.skipped, c.about, c.rule)
		if c.skipped == webhookConditionFalse {
			admissionmetrics.Metrics.ObserveMatchConditionExclusion(ctx, c.hook.GetName(), "webhook", c.hook.GetType(),
				string(c.of.GetOperation()))
		}
		return false, nil
	}
	if c.equivalent {
		step.Text("as", c.kind.String())
	}
	step.Before(c.judgedObject())
	step.Why(webhookAsked, c.rule)
	start := time.Now()
	operations := 0
	answer, err := w.ask(ctx, step, c)
	if err == nil && apply != nil {
		operations, changed, err = apply(step, answer)
	}
	if c.side.mutating {
		if obj := c.of.VersionedObject.Object(); obj != nil {
			step.After(obj)
		}
		c.note(changed)
	}
	ignored := c.observe(ctx, start, err)
	switch {
	case ignored && ctx.Err() != nil:
		return changed, apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	case ignored:
		step.WhyText(webhookIgnored, err.Error(), c.rule)
		return changed, nil
	case err != nil:
		c.explain(step, err)
		return changed, refusal(err)
	case changed:
		step.Why(webhookChanged, c.rule, int64(operations))
	case c.side.mutating:
		step.Why(webhookLeft, c.rule)
	default:
		step.Why(webhookAllowed, c.rule)
	}
	return changed, nil
}

var (
	webhookDenied = trace.Because("webhook-denied",
		"its rule {rule} is about this write: it refuses it",
		"第 {rule} 条规则匹配这次写入：webhook 拒绝写入")
	webhookFailed = trace.Because("webhook-failed",
		"its rule {rule} is about this write, but the call failed, and its failurePolicy is Fail: the write is refused",
		"第 {rule} 条规则匹配这次写入，但调用失败，failurePolicy 是 Fail：拒绝写入")
)

// explain records in the step whether the webhook refused the write or could not be called.
func (c *call) explain(step *trace.Step, err error) {
	var rejected *webhookutil.ErrWebhookRejection
	var failed *webhookutil.ErrCallingWebhook
	switch {
	case errors.As(err, &rejected):
		step.Why(webhookDenied, c.rule)
	case errors.As(err, &failed):
		step.Why(webhookFailed, c.rule)
	}
}

// refusal is the client's answer to an error.
func refusal(err error) error {
	var rejected *webhookutil.ErrWebhookRejection
	var failed *webhookutil.ErrCallingWebhook
	switch {
	case errors.As(err, &rejected):
		if code := &rejected.Status.ErrStatus.Code; *code > 599 {
			*code = http.StatusBadRequest // no HTTP status
		}
		return rejected.Status
	case errors.As(err, &failed):
		return apierrors.NewInternalError(err)
	}
	return err
}

// ask sends the review and reads the answer. It returns a refusal as an error.
func (w *Webhooks) ask(ctx context.Context, step *trace.Step, c *call) (*admissionv1.AdmissionResponse, error) {
	hook := c.hook
	if c.of.Attributes.IsDryRun() {
		switch effects := hook.GetSideEffects(); {
		case effects == nil:
			return nil, c.failed("Webhook SideEffects is nil", nil, apierrors.NewBadRequest("Webhook SideEffects is nil"))
		case *effects != registrationv1.SideEffectClassNone && *effects != registrationv1.SideEffectClassNoneOnDryRun:
			return nil, webhookerrors.NewDryRunUnsupportedErr(hook.GetName())
		}
	}
	uid := uuid.NewUUID()
	review, response, err := c.reviews(uid)
	if err != nil {
		return nil, c.failed("could not create admission objects", err, apierrors.NewBadRequest("error creating admission objects"))
	}
	client, err := hook.GetRESTClient(w.clients[c.side])
	if err != nil {
		return nil, c.failed("could not get REST client", err, apierrors.NewInternalError(err))
	}
	if seconds := hook.GetTimeoutSeconds(); seconds != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*seconds)*time.Second)
		defer cancel()
	}
	post := client.Post().Body(review)
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			post.Timeout((left + time.Second - 1).Truncate(time.Second)) // whole seconds, for the webhook to read
		}
	}
	step.Text("url", mask.URI(post.URL().String()))
	step.Text("uid", string(uid))
	showReview(step, review)
	ctx, exchange := kxwebhook.Observe(ctx, step)
	c.side.track(ctx, func() { err = post.Do(ctx).Into(response) })
	record(step, exchange)
	if err != nil {
		// A Status from the webhook must not pass for one of this server: the transport removes it.
		status, ok := err.(*apierrors.StatusError)
		if !ok {
			status = apierrors.NewServiceUnavailable("error calling webhook")
		}
		return nil, c.failed("failed to call webhook", err, status)
	}
	showAnswer(step, response)
	answer, err := c.answerOf(response, uid)
	if err != nil {
		return nil, c.failed("received invalid webhook response", err, apierrors.NewServiceUnavailable("error validating webhook response"))
	}
	c.pass(ctx, step, answer)
	if !answer.Allowed {
		return nil, &webhookutil.ErrWebhookRejection{Status: webhookerrors.ToStatusErr(hook.GetName(), answer.Result)}
	}
	return answer, nil
}

// record adds the figures of an HTTP exchange to the step.
func record(step *trace.Step, e *kxwebhook.Exchange) {
	step.Int("requestBytes", e.Sent)
	if e.Code != 0 {
		step.Int("code", int64(e.Code))
		step.Int("responseBytes", e.Received)
	}
	if e.Attempts > 1 {
		step.Int("attempts", e.Attempts)
	}
	if e.Reused {
		step.Text("connection", "reused")
	}
}

// pass sends warnings to the client and annotations to the audit log, and records the answer in the step.
func (c *call) pass(ctx context.Context, step *trace.Step, answer *admissionv1.AdmissionResponse) {
	for k, v := range answer.AuditAnnotations {
		// An invalid key, or one that exists already, is left out, as in a Kubernetes API server.
		_ = c.of.AddAnnotation(c.hook.GetName()+"/"+k, v)
	}
	for _, text := range answer.Warnings {
		warning.AddWarning(ctx, "", text)
		step.Text("warning", maskText(step, text))
	}
	if answer.Result != nil && answer.Result.Message != "" {
		step.Text("message", maskText(step, answer.Result.Message))
	}
}

// maskText masks a webhook's text, which may quote the object.
func maskText(step *trace.Step, text string) string {
	if step.Confidential() {
		return mask.Masked
	}
	return text
}

// failed is the error of a call that has no valid answer.
func (c *call) failed(what string, err error, status *apierrors.StatusError) error {
	reason := errors.New(what)
	if err != nil {
		reason = fmt.Errorf("%s: %w", what, err)
	}
	return &webhookutil.ErrCallingWebhook{WebhookName: c.hook.GetName(), Reason: reason, Status: status}
}

// observe counts the call, and reports whether its failure is ignored.
func (c *call) observe(ctx context.Context, start time.Time, err error) (ignored bool) {
	name, operation, took := c.hook.GetName(), string(c.of.GetOperation()), time.Since(start)
	m := admissionmetrics.Metrics
	var failed *webhookutil.ErrCallingWebhook
	var rejected *webhookutil.ErrWebhookRejection
	switch {
	case err == nil:
		m.ObserveWebhook(ctx, name, took, false, c.of.Attributes, c.side.metric, http.StatusOK)
	case errors.As(err, &failed):
		policy := c.hook.GetFailurePolicy()
		ignored = policy != nil && *policy == registrationv1.Ignore
		gone := errors.Is(failed.Reason, context.Canceled) // the client went away: that is no failure
		code := int(failed.Status.ErrStatus.Code)
		m.ObserveWebhook(ctx, name, took, !ignored, c.of.Attributes, c.side.metric, code)
		switch {
		case gone:
		case ignored:
			m.ObserveWebhookFailOpen(ctx, name, c.side.metric)
			_ = c.of.AddAnnotation(fmt.Sprintf("%sround_%d_index_%d", c.side.failedOpen, c.round, c.index), name)
		default:
			m.ObserveWebhookRejection(ctx, name, c.side.metric, operation, admissionmetrics.WebhookRejectionCallingWebhookError, code)
		}
	case errors.As(err, &rejected):
		code := int(rejected.Status.ErrStatus.Code)
		m.ObserveWebhook(ctx, name, took, true, c.of.Attributes, c.side.metric, code)
		m.ObserveWebhookRejection(ctx, name, c.side.metric, operation, admissionmetrics.WebhookRejectionNoError, code)
	default:
		m.ObserveWebhook(ctx, name, took, true, c.of.Attributes, c.side.metric, 0)
		m.ObserveWebhookRejection(ctx, name, c.side.metric, operation, admissionmetrics.WebhookRejectionAPIServerInternalError, 0)
	}
	return ignored
}

package filter

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/audit"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// slow is the duration from which on a request's audit event breaks down where its time went.
const slow = 500 * time.Millisecond

// latencyPrefix begins the annotations of audit events that hold these latencies.
const latencyPrefix = "apiserver.latency.k8s.io/"

// latencies names the part of a request's time to which each step counts.
var latencies = map[steps.ID]string{
	steps.FilterAuthentication:      "authentication",
	steps.FilterAuthorization:       "authorization",
	steps.FilterImpersonation:       "impersonation",
	steps.FilterPriorityAndFairness: "apf-queue-wait",
	steps.EtcdGet:                   "etcd",
	steps.EtcdKeyRevision:           "etcd",
	steps.EtcdRange:                 "etcd",
	steps.EtcdTxn:                   "etcd",
	steps.EtcdLease:                 "etcd",
	steps.Etcd3Decode:               "decode-response-object",
	steps.HandlerTransform:          "transform-response-object",
	steps.HandlerEncode:             "serialize-response-object",
}

// annotateLatency annotates the audit event of a slow request with its latencies, which it sums up from the steps of
// the journey. A request without a journey gets no such annotations.
func annotateLatency(ctx context.Context) {
	journey := trace.FromContext(ctx)
	if journey == nil {
		return
	}
	total := time.Since(audit.AuditContextFrom(ctx).GetEventRequestReceivedTimestamp().Time)
	if total <= slow {
		return
	}
	sums := sumLatencies(journey.Record().Steps)
	if len(sums) == 0 {
		return
	}
	annotations := map[string]string{latencyPrefix + "total": total.String()}
	for name, sum := range sums {
		annotations[latencyPrefix+name] = sum.String()
	}
	audit.AddAuditAnnotationsMap(ctx, annotations)
}

// sumLatencies adds up the durations of the steps. The time of a nested step with another name does not count for the
// outer step.
func sumLatencies(taken []trace.StepRecord) map[string]time.Duration {
	sums := map[string]time.Duration{}
	for i := range taken {
		s := &taken[i]
		if s.Took <= 0 {
			continue
		}
		if s.ID == steps.HandlerWebhook {
			addWebhook(sums, taken, s)
			continue
		}
		name, ok := latencies[s.ID]
		if !ok {
			continue
		}
		sums[name] += s.Took
		if s.ID == steps.HandlerTransform && isInside(taken, s, steps.HandlerEncode) {
			sums[latencies[steps.HandlerEncode]] -= s.Took
		}
	}
	return sums
}

// addWebhook adds a call of an admission webhook. Calls of mutating webhooks add up, because they run one after the
// other. Of the validating ones, which run concurrently, the longest counts.
func addWebhook(sums map[string]time.Duration, taken []trace.StepRecord, s *trace.StepRecord) {
	if isInside(taken, s, steps.HandlerMutate) {
		sums["mutating-webhook"] += s.Took
		return
	}
	sums["validating-webhook"] = max(sums["validating-webhook"], s.Took)
}

// isInside reports whether a step runs, directly or indirectly, inside a step with the ID.
func isInside(taken []trace.StepRecord, s *trace.StepRecord, id steps.ID) bool {
	for s.Parent >= 0 {
		if s = &taken[s.Parent]; s.ID == id {
			return true
		}
	}
	return false
}

package filter

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/audit"

	"github.com/kx-apiserver/kx/core/trace"
)

// slow is how long a request takes for the audit log to be told where its time went.
const slow = 500 * time.Millisecond

// latencyPrefix is what annotations of audit events begin with that say so.
const latencyPrefix = "apiserver.latency.k8s.io/"

// latencies are the parts of a request's time that are a step, or several.
var latencies = map[trace.ID]string{
	trace.FilterAuthentication:      "authentication",
	trace.FilterAuthorization:       "authorization",
	trace.FilterImpersonation:       "impersonation",
	trace.FilterPriorityAndFairness: "apf-queue-wait",
	trace.EtcdGet:                   "etcd",
	trace.EtcdKeyRevision:           "etcd",
	trace.EtcdRange:                 "etcd",
	trace.EtcdTxn:                   "etcd",
	trace.EtcdLease:                 "etcd",
	trace.Etcd3Decode:               "decode-response-object",
	trace.HandlerTransform:          "transform-response-object",
	trace.HandlerEncode:             "serialize-response-object",
}

// annotateLatency tells the audit log where the time of a slow request went, by the steps of its journey. A request without one has
// no such annotations.
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

// sumLatencies adds up what steps took. What a step of another name took within it is not its own.
func sumLatencies(steps []trace.StepRecord) map[string]time.Duration {
	sums := map[string]time.Duration{}
	for i := range steps {
		s := &steps[i]
		if s.Took <= 0 {
			continue
		}
		if s.ID == trace.HandlerWebhook {
			addWebhook(sums, steps, s)
			continue
		}
		name, ok := latencies[s.ID]
		if !ok {
			continue
		}
		sums[name] += s.Took
		if s.ID == trace.HandlerTransform && within(steps, s, trace.HandlerEncode) {
			sums[latencies[trace.HandlerEncode]] -= s.Took
		}
	}
	return sums
}

// addWebhook adds a call of an admission webhook. Those that change objects are called one after the other, the others at once.
func addWebhook(sums map[string]time.Duration, steps []trace.StepRecord, s *trace.StepRecord) {
	if within(steps, s, trace.HandlerMutate) {
		sums["mutating-webhook"] += s.Took
		return
	}
	sums["validating-webhook"] = max(sums["validating-webhook"], s.Took)
}

// within says whether a step was called, by others perhaps, from one with the ID.
func within(steps []trace.StepRecord, s *trace.StepRecord, id trace.ID) bool {
	for s.Parent >= 0 {
		if s = &steps[s.Parent]; s.ID == id {
			return true
		}
	}
	return false
}

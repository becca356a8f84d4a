package policy

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		policiesAsked, policyBoundElsewhere, policyChanged, policyConditionFailed, policyConditionFalse,
		policyDenied, policyHeld, policyIgnored, policyLeft, policyOtherLabels, policyOtherNamespace, policyTold,
		policyWithoutObject, policyWithoutParams,
	}
}

package controller

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		accountGone, endedMeanwhile, everyNamespace, jobOutlived, notInUse, protectionMissing, putBack, rangeInUse,
		rangeReady, requestFails, requestOld, requestSigned, rulesAggregated, tokenInvalid, tokenSecretGone,
		tokenSecretLacks, tokenUnused, tokenUsed, trackingBegins, typesChecked, useChanged,
	}
}

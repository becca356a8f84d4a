package authn

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		anonymousElsewhere, knownAsNobody, knownByAccountToken, knownByTokenFile, knownByWebhook, webhookKnowsNobody,
		whyKnownByBootstrapToken, whyKnownByCertificate, whyKnownByIssuer, whyKnownByProxy,
	}
}

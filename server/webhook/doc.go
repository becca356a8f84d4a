// Package webhook calls webhooks: other people's servers that judge or convert objects for kx.
//
// In come the library's REST clients, through [Distrust] or [LimitAnswers]; other clients, through
// [Documents] or [Answers]; and kubeconfigs, through [Kubeconfig]. Out go answers of limited size, and the
// figures of a call, as an [Exchange].
//
// [Pages] and [Upgrade] are for the library's proxy, which passes requests on to other servers.
//
// A call continues the OpenTelemetry trace of its request.
//
// # Invariants
//
//  1. Objects and tokens are sent only to the address in a configuration: a redirect is an error.
//  2. An answer has a size limit, which counts unpacked bytes. A longer one is an error.
//  3. A failed call passes on only the status code, also for redirects. A user who may configure a webhook may
//     name any address, so the content there must not be shown to others. [Answers] also passes on the body:
//     it is for servers that have clients of their own.
package webhook

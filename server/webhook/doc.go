// Package webhook calls webhooks: servers of other people that kx asks about objects.
//
// In come the REST clients of the library, by [Distrust], [Bound] or [Traced], other clients, by [Documents] or
// [Answers], and kubeconfigs, by [Kubeconfig]. Out go answers that are bounded, and what a call cost, as an [Exchange].
//
// A call continues the trace of OpenTelemetry of the request for which it is made.
//
// # Invariants
//
//  1. Objects and tokens are sent only to the address that a configuration names: a redirect is an error.
//  2. An answer is read up to a limit, counted after it was unpacked. One that is longer is an error.
//  3. Of a failed call only the status code is passed on. Who may configure a webhook may name any address, so what
//     stands there may not be shown to others. That holds for redirects too. [Answers] passes on the body too: it is
//     for servers that have clients of their own.
package webhook

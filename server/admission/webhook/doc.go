// Package webhook asks the webhooks of MutatingWebhookConfigurations and ValidatingWebhookConfigurations about writes.
//
// In come the configurations as etcd has them, from package kept, or as files have them, from package manifest, and writes, from the
// chain of plugins. Out go AdmissionReviews over HTTPS, and of their answers: changed objects, refusals, warnings, and annotations of
// the audit log.
//
// hooks.go has the two plugins, static.go the webhooks of files, match.go decides whether a webhook is asked, call.go asks it, change.go
// applies its patch, and show.go has journeys with objects show the review and the answer. What a review looks like, what a valid answer
// is, and which client a webhook has, is the library's.
//
// # Invariants
//
//  1. Without configurations, no write pays for them: it costs two loads of pointers, and leaves no step.
//  2. A write waits until this process knows the configurations, for at most [kept.KnownWait], and is refused if they are not known then.
//     A change of a configuration holds for writes that begin after etcd has told this process of it, which is soon, but not at once.
//  3. Webhooks are never asked about reviews, or about kx's own group, and those of the API are never asked about objects that configure
//     admission: whoever may write these can undo what a webhook that fails has locked. Those of files are asked, and come first.
//  4. A call ends with the request or with the webhook's timeout, whichever is first. Only the time of the call counts: that of a
//     request that is held at a step does not.
//  5. What the webhooks of one write return adds up to no more than their answers may have (see package server/webhook). Their objects
//     are copies: no webhook sees what another one does to an object, unless it is asked after it.
//
// Controllers of this process write without admission, and so without webhooks. The kube-controller-manager of a cluster does the same
// writes over HTTP, where webhooks are asked about them.
package webhook

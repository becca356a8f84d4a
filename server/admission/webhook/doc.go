// Package webhook calls the webhooks of MutatingWebhookConfigurations and ValidatingWebhookConfigurations for
// writes.
//
// In come configurations, from etcd by way of package mirror or from files by way of package manifest, and writes
// from the chain of plugins. Out go AdmissionReviews over HTTPS and, from the answers, changed objects,
// refusals, warnings, and audit annotations.
//
// hooks.go has the two plugins, static.go the webhooks from files, match.go matches webhooks to a write,
// call.go calls them, change.go applies their patches, and show.go shows the review and the answer in journeys
// with objects. The library defines the form of a review, which answers are valid, and the HTTP client of a
// webhook.
//
// # Invariants
//
//  1. Without configurations, a write loads two pointers and has no step.
//  2. A write waits until this process knows the configurations, for at most [mirror.KnownWait]; after that it
//     is refused. A changed configuration applies to writes that start after etcd's watch has reported it to
//     this process, which is soon, but not at once.
//  3. No webhook judges reviews or kx's own group, and no webhook of the API judges objects that configure
//     admission: users who may write these can undo the lock of a failing webhook. Webhooks from files do
//     judge them, and run first.
//  4. A call ends with the request or with the webhook's timeout, whichever is first. The timeout counts only
//     the call itself, not the time that a request is held at a step.
//  5. Each answer has a size limit (see package server/webhook), which also limits its warnings and annotations.
//     Webhooks get copies of objects: none sees the changes of another, unless it is called later.
//
// Webhooks also judge the writes of kube-controller-manager's controllers in this process, as those of their
// service accounts. They do not judge the server's writes for itself (see package server/controller/work).
package webhook

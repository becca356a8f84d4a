// Package audit writes down who asked for what: to a file, to a webhook, or to both.
//
// In come the policy, where events go, and in which mode. Without a policy, the metadata of every write is logged. Out go the
// policy, which the audit filter consults for each request, and the [Log], which takes its events.
//
// An event passes, in this order:
//
//  1. A copy of it is masked.
//  2. truncating, if that is on, removes the bodies of a large event, or the event.
//  3. In mode batch it waits in a queue (server/audit/queue). In the modes blocking and blocking-strict its request waits for it.
//  4. It is written to the file (server/audit/logfile) or sent to the webhook.
//
// # Invariants
//
//  1. Tokens in URIs are never written, and the content of a Secret only where the policy asks for bodies (core/mask).
//  2. Each event that is lost is counted in apiserver_audit_error_total, by where it was lost. The log says so at most every ten
//     seconds for each of these places, with the number of events since the last line.
//  3. In mode batch no request waits, and what waits is bounded.
//  4. Only in mode blocking-strict does a failure reach the client, and only one of the first event of its request.
//  5. No event keeps its request waiting for longer than a third of what a request may take, whatever the webhook does.
//  6. Close sends what waits, but does not take longer than flushWait.
package audit

// Package audit logs which user requested what: to a file, to a webhook, or to both.
//
// In come the policy, the destinations of events, and their modes. Without a policy, the metadata of every write is
// logged. Out go the policy, which the audit filter consults for each request, and the [Log], which takes its events.
//
// An event passes these stages:
//
//  1. A copy of it is masked.
//  2. truncating, if that is on, removes the bodies of a large event, or drops the event.
//  3. In mode batch it waits in a queue (server/audit/queue). In the modes blocking and blocking-strict its request
//     waits for it.
//  4. It is written to the file (server/audit/logfile) or sent to the webhook.
//
// # Invariants
//
//  1. Tokens in URIs are never written, and the content of a Secret only where the policy asks for bodies (core/mask).
//  2. Each lost event is counted in apiserver_audit_error_total, by the place of the loss. The log has at most one line
//     every ten seconds for each place, with the number of events since the last line.
//  3. In mode batch no request waits, and the queue is bounded.
//  4. Only in mode blocking-strict does a failure reach the client, and only a failure of its request's first event.
//  5. No event makes its request wait for longer than a third of the request's time limit, whatever the webhook does.
//  6. Close sends the queued events, but takes no longer than flushWait.
package audit

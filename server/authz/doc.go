// Package authz makes the server's authorizer: a chain of authorizers. The first one with an opinion decides.
//
// In come a user and a request, and the configuration of the authorizers: by flags, or by a file that is reloaded when
// it changes. Out go a decision and its reason, which the request's journey shows, and the permissions of a user in a
// namespace.
//
// # Invariants
//
//  1. Members of system:masters may do everything, and every user may read /healthz, /livez and /readyz. No authorizer
//     is called for these.
//  2. The end of the chain denies.
//  3. An invalid file changes nothing. The log, a metric and /readyz report it until it is valid.
//  4. The error of a failed call names the webhook and the status code, never the answer (server/webhook).
//  5. A decision by roles builds no sentence and allocates nothing. [Verdict] keeps the material for the sentences.
package authz

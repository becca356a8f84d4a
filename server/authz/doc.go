// Package authz makes the server's authorizer: a chain of authorizers, of which the first with an opinion decides.
//
// In come a user and what they ask for, and which authorizers there are: by flags, or by a file that is read again when it changes.
// Out go a decision and its reason, which the request's journey shows; and what a user may do in a namespace.
//
// # Invariants
//
//  1. Members of system:masters may do all, and everybody may read /healthz, /livez and /readyz: nobody is asked about these.
//  2. The end of the chain denies.
//  3. A file that is of no use changes nothing. The log, a metric and /readyz say so until it is of use.
//  4. Of a webhook's failed call the error has its name and the status code, never what it answered (server/webhook).
//  5. A decision by roles makes no sentence and allocates nothing. [Verdict] has what the sentences are made from.
package authz

// Package policy evaluates MutatingAdmissionPolicies and ValidatingAdmissionPolicies against writes.
//
// In come policies and their bindings as etcd has them, from package kept, or as files have them, from package manifest, and writes,
// from the chain of plugins. Out go changed objects, refusals, warnings, and annotations of the audit log.
//
// policies.go keeps the policies, static.go those of files, selection.go decides whether one is about a write, params.go reads what bindings name as params, and
// mutate.go and validate.go evaluate what compiled.go compiled. What expressions may say, what they cost, and how a patch is applied, is
// the library's; record.go has the journey see each expression, and parts.go what its parts come to. trial.go evaluates policies that nobody
// has installed.
//
// # Invariants
//
//  1. Without policies that have bindings, no write pays for them: it costs two loads of pointers, and leaves no step.
//  2. A write waits until this process knows the policies, for at most [kept.KnownWait], and is refused if they are not known then. A change
//     of a policy holds for writes that begin after etcd has told this process of it, which is soon, but not at once.
//  3. Policies are never asked about reviews, or about kx's own group, and those of the API are never asked about policies and their
//     bindings: whoever may write these can take away a policy that refuses too much. Those of files are asked, and come first.
//  4. Params and namespaces are no older than the request: they are read for it.
//  5. A policy is compiled when the first write needs it, and not again until it changes.
//  6. Policies are evaluated in the order of their names, each with its bindings in the order of theirs. Where several refuse a write, the
//     client is told what the first one says.
//  7. All mutating policies that are about a write are found before the first of them changes its object. Each sees what those before it
//     changed. If one changed something, those with the reinvocationPolicy IfNeeded are evaluated once more, after all other plugins.
//  8. What parts of expressions come to is found out when the response is there, by evaluating these once more with what they were evaluated
//     with: it decides nothing, its cost is bounded, and it is masked as outcomes are.
package policy

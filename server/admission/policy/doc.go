// Package policy evaluates MutatingAdmissionPolicies and ValidatingAdmissionPolicies against writes.
//
// In come policies with their bindings, from etcd by way of package mirror or from files by way of package
// manifest, and writes from the chain of plugins. Out go changed objects, refusals, warnings, and audit
// annotations.
//
// policies.go keeps the policies, and static.go those from files. selection.go matches policies to a write,
// params.go reads the params of bindings, and mutate.go and validate.go evaluate the policies that compiled.go
// compiled. The library defines the expressions, their cost, and how a patch is applied. record.go shows each
// expression in the journey, and parts.go the values of its parts. trial.go evaluates policies that are not
// installed.
//
// # Invariants
//
//  1. Without policies that have bindings, a write loads two pointers and has no step.
//  2. A write waits until this process knows the policies, for at most [mirror.KnownWait]; after that it is
//     refused. A changed policy applies to writes that start after etcd's watch has reported it to this
//     process, which is soon, but not at once.
//  3. No policy judges reviews or kx's own group, and no policy of the API judges policies and their bindings:
//     users who may write these can remove a policy that refuses too much. Policies from files do judge them,
//     and run first.
//  4. Params and namespaces are no older than the request: they are read for it.
//  5. A policy is compiled when the first write needs it, and not again until it changes.
//  6. Policies run in the order of their names, each with its bindings in the order of their names. If several
//     refuse a write, the client gets the first refusal.
//  7. All mutating policies that match a write are found before the first of them changes its object. Each
//     sees the changes of those before it. If one changed something, those with the reinvocationPolicy
//     IfNeeded run once more, after all other plugins.
//  8. The values of expression parts are computed after the response, by evaluating the expressions again with
//     the same inputs. They decide nothing, their cost is limited, and they are masked like outcomes.
package policy

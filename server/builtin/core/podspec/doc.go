// Package podspec defaults and validates pod specs.
//
// Pods and all resources with pod templates share it. The SetDefaults functions fill in a spec of the v1 types. The
// Validate functions return field errors with the paths and messages of the Kubernetes API server.
//
// Invariants:
//
//  1. Defaulting a spec a second time changes nothing.
//  2. Validation modifies no spec. It expects a defaulted spec.
//  3. Updates may keep a mistake of the stored object if it is one of [Mistakes].
//
// Some paths look wrong, such as `volumeMounts.subPath` without an index. Every Kubernetes API server sends them.
//
// The package also validates the spec of a persistent volume, both in an object of its own and inline in a volume
// attachment. It has the rules for the spec of a claim, for claims and for the templates from which claims are made for
// pods and stateful sets; and the rules for amounts of computing resources, such as cpu and requests.storage, which
// pods, nodes, quotas, limits and claims share. Lists of amounts are checked in the order of their names, so that equal
// objects get equal answers.
package podspec

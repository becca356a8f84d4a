// Package schema is all that the schema of one version of a CustomResourceDefinition does to an object.
//
// What comes in: a CustomResourceDefinition that was validated, and the unstructured content of objects in the version.
// What goes out: the object pruned and defaulted, in place, and what is wrong with it, in upstream's words. Each stage
// is a step of the request's journey (crd.prune, crd.default, crd.validate), and beneath the last each rule is one
// (crd.cel). The libraries do the work of each stage: this package puts them in order and says what they did.
//
// # The stages
//
//	Prune     after decoding, from a client or from etcd, and after a conversion
//	Default   after Prune
//	Validate  on create; ValidateUpdate, ValidateStatusUpdate on update
//
// An object of several versions is pruned and defaulted by the Schema of the version that it is in: choosing that is
// the caller's part, as are the checks that no schema decides. Those of metadata and scale are handed to Validate as
// [Others], since their errors have their place among the schema's.
//
// # What is compiled when
//
// [Compile] makes the structural schema alone: every read needs it, and it is where a schema can be found to be bad.
// The OpenAPI validators are made by the first write. The rules are found by the first write too, but a rule is
// compiled when the first value comes to its place: of the hundred rules of a large CRD an object meets a few, and a
// place costs about 100 kB and half a millisecond. All this happens once, under a sync.Once of its own, so that
// requests wait for no more than what they need; a CRD that nobody writes to costs no more than its structural schema.
// The CRD given to Compile is kept, not copied.
//
// A stage that is for something that the schema has nowhere (embedded resources, defaults, lists whose items must
// differ) is left out, as is the way through ObjectMeta for metadata that it would not change: a test holds both
// against the library.
//
// # OpenAPI
//
// The library's validator says what is wrong with a value, and knows no end: no context, a list of errors that it
// searches for each that it adds, and patterns that it keeps for ever and copies for each that is new. Here a walk says
// the same, by a test that compares both on random schemas and values. It ends with its request or after a number of
// steps, and keeps 100 errors.
//
// # Rules
//
// The library's validator of rules tells errors alone. Here the library compiles the rules, presents the values to them
// and relates old values to new ones, and this package goes through the object: that is how each rule's outcome and
// cost is known, at the price of none but the walk. Errors, warnings, the order within an object and the cost that is
// left are the library's, by a test that compares both on many schemas and objects. One thing is better than it: fields
// are gone through by name, and not in the random order of a Go map, so that when the budget runs out it does so at the
// same rule each time.
//
// # Invariants
//
//  1. A Schema does not change, and neither does what it was made of.
//  2. The rules of one validation share one budget: what one rule costs, the next does not have.
//  3. What reasons and steps tell is computed only for a journey that is recorded, and a journey shows a bounded number
//     of rules; it counts the others. Of fields that were dropped or got a default, a step names [trace.MaxListed], and
//     clients are told of 100 unknown ones. A path is made only for a field that is named, and is cut after a KiB. A
//     run of Default ends where its limit is met.
package schema

// Package schema applies the schema of one version of a CustomResourceDefinition to objects.
//
// In come a valid CustomResourceDefinition, and the unstructured content of objects in the version. Out go the
// object, pruned and defaulted in place, and its errors, in upstream's words. Each stage is a step of the
// request's journey (crd.prune, crd.default, crd.validate), and each rule is a step beneath the last (crd.cel).
// The libraries do the work of each stage: this package orders them and records their effects.
//
// # The stages
//
//	Prune     after decoding, from a client or from etcd, and after a conversion
//	Default   after Prune
//	Validate  on create; ValidateUpdate, ValidateStatusUpdate on update
//
// A CRD with several versions has a Schema for each. The caller chooses the one of the object's version, and
// makes the checks that no schema decides. The errors of metadata and scale go to Validate as [ExtraErrors], since
// they have their place among the schema's errors.
//
// # What is compiled when
//
// [Compile] builds only the structural schema: every read needs it, and a bad schema shows here. The first
// write builds the OpenAPI validators. It also collects the rules, but a rule is compiled when the first value
// reaches its place: an object reaches a few of the hundred rules of a large CRD, and a place costs about 100
// kB and half a millisecond. Each part is built once, under its own sync.Once, so that a request waits only for
// the parts that it needs. A CRD without writes costs only its structural schema. The CRD given to Compile is
// kept, not copied.
//
// A stage is skipped if the schema has nothing for it (no embedded resources, no defaults, no lists with
// distinct items). Metadata that ObjectMeta would not change skips the conversion to ObjectMeta. A test
// compares both with the library.
//
// # OpenAPI
//
// The library's validator finds the errors of a value without any limit: it has no context, it searches its
// list of errors for each one that it adds, and it keeps patterns for ever and copies them all for each new
// one. Here a walk finds the same errors; a test compares both on random schemas and values. The walk ends with
// its request or after a number of steps, and keeps 100 errors.
//
// # Rules
//
// The library's validator of rules returns only errors. Here the library compiles the rules, presents the
// values to them and relates old values to new ones, and this package walks the object. So each rule's outcome
// and cost is known, at the price of the walk alone. Errors, warnings, the order within an object and the
// remaining cost are the library's; a test compares both on many schemas and objects. One thing is better: the
// walk visits fields by name, not in the random order of a Go map, so an exhausted budget ends at the same rule
// each time.
//
// # Invariants
//
//  1. A Schema does not change, and neither does its source.
//  2. The rules of one validation share one budget: the cost of one rule reduces the budget of the next.
//  3. Reasons and texts of steps are computed only for a journey that is recorded. A journey shows a limited
//     number of rules and counts the others. Of dropped or defaulted fields, a step names [trace.MaxListed],
//     and a client sees 100 unknown ones. A path is built only for a field that is named, and is cut after a
//     KiB. A run of Default ends where it reaches its limit.
package schema

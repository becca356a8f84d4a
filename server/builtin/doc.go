// Package builtin declares built-in resources: each is one value.
//
// It owns [Resource], by which a resource whose objects are stored declares its names, versions, rules, subresources
// and columns; [Review], for one whose objects are answered and not stored; and [Group], which has both. What comes in
// is such a declaration. What goes out is its storage (a [REST], with a [StatusREST] for its status), its [Strategy],
// and what the scheme must know of it. Declarations have types, and what they come to has none: [Declare] makes an
// [AnyResource] of each.
//
// A resource is a variable of the name of its kind, in the package of its group below this one. The table in
// server/builtin/all lists them: a new resource is such a variable and a line there.
//
// Invariants:
//
//  1. There are no internal types. A resource has one storage version, whose Go type goes through rest, registry and
//     store. Other versions are converted to it and back above rest, in the handlers.
//  2. Where a resource has a status, only the subresource writes it. Where it has a spec, metadata.generation counts
//     the changes of that.
//  3. Arrows: all imports the groups, the groups import this package, and no group imports another. What several share
//     has a room of its own, such as core/podspec and apps/workload.
package builtin

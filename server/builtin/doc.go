// Package builtin declares built-in resources, each as one value.
//
// A [Resource] declares names, versions, rules, subresources and columns of a resource whose objects are stored. A
// [Review] declares one whose objects are answered and not stored. A [Group] holds both. From a declaration this
// package makes the storage (a [REST], with a [StatusREST] for the status), the [Strategy], and the entries of the
// scheme. A Resource is generic over its Go type; [Declare] erases the type and makes an [AnyResource].
//
// A resource is a variable that is named as its kind, in the package of its group below this one. The table in
// server/builtin/all lists the variables. A new resource needs the variable and a line in the table.
//
// [NewTable] makes the tables of kubectl from a resource's columns, and [Quote] writes values into error messages.
//
// Invariants:
//
//  1. There are no internal types. A resource has one storage version, whose Go type goes through rest, registry and
//     store. Other versions are converted to it and back above rest, in the handlers.
//  2. If a resource has a status, only the subresource status writes it. If it has a spec, metadata.generation counts
//     the changes of the spec.
//  3. Imports: package all imports the groups, the groups import this package, and no group imports another. Code
//     that several groups share has a package of its own, such as core/podspec and apps/workload.
package builtin

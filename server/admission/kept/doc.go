// Package kept keeps the objects by which admission is configured, as etcd has them, in every process that serves.
//
// In come their keys and values, by two small watches of etcd. Out go, for each resource, its objects in the order of their names,
// whenever they change.
//
// # Invariants
//
//  1. A resource is told for the first time when all of it was read, and [Keeper.Known] is closed when that holds for all resources.
//  2. Afterwards each change is told at once. A write that comes later than that, by the clock of this process, is admitted by it.
//  3. An object that can't be read stays as it was. The key of one that never could be read is told, and by [Readable] writes are refused
//     until it can be read, or is gone. Both are logged.
package kept

// Package mirror keeps the objects that configure admission in the memory of every serving process, as they are
// in etcd.
//
// In come their keys and values, from two small watches of etcd. Out go the objects of each resource, sorted by
// name, whenever they change.
//
// # Invariants
//
//  1. The objects of a resource are passed on only once all of them are read. [Keeper.Synced] is closed when
//     that holds for all resources.
//  2. Afterwards each change is passed on at once. It applies to every write that starts later, by the clock
//     of this process.
//  3. An object that becomes unreadable keeps its last readable state. If it never was readable, its key is
//     passed on, and [Readable] refuses writes until the object can be read or is deleted. Both are logged.
package mirror

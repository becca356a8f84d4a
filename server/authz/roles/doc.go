// Package roles keeps the index of roles and bindings up to date with etcd, in every process that serves.
//
// In come the keys of roles, cluster roles and their bindings, by two small watches. Out go the changes for
// [rbac.Authorizer].
//
// # Invariants
//
//  1. The authorizer gets nothing before all four resources have been read once, and then everything at once.
//  2. Later changes are passed on without delay. Those that arrive while the authorizer makes an index go into the next
//     one together.
//  3. [Keeper.Await] returns when the authorizer has everything that etcd had at the time of the call.
//  4. An object that can't be read is passed on as damaged, and logged. It allows nothing until it can be read or is
//     deleted.
package roles

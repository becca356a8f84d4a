// Package roles keeps the index of roles and bindings as etcd has them, in every process that serves.
//
// In come the keys of roles, cluster roles and their bindings, by two small watches; out go the changes that [rbac.Authorizer] is told.
//
// # Invariants
//
//  1. The authorizer is told nothing before all four resources have been looked at once, and then everything at once.
//  2. Afterwards no change is held back: those that come while the authorizer makes an index are told together, in the next one.
//  3. [Keeper.Await] returns when all has been told that etcd had when it was called.
//  4. What can't be read is told as damaged and logged. It allows nothing until it can be read or is gone.
package roles

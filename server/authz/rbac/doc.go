// Package rbac decides by roles and bindings who may do what, as the RBAC authorizer of the Kubernetes API server does.
//
// In come roles and bindings as they are stored, first all of them and then each change; and questions: a user and what they
// ask for. Out go decisions with the binding and the rule behind them, and the rules that a user has in a namespace.
//
// What is known is an index: from users and groups to their bindings, from there to roles, and from the resource to the rules that
// name it. A decision costs a lookup for the user and one for each group, and allocates nothing. Sentences are built only when
// somebody asks for them.
//
// # Invariants
//
//  1. An index does not change. A change makes another one, which has what stays in common with the one before.
//  2. Nobody but [user.SystemPrivilegedGroup] is known to be allowed anything before the first index is there: who asks waits for it,
//     until their context ends. That group does not come here.
//  3. A role or binding that can't be read allows nothing. Others are not affected.
//  4. An index is behind etcd by as long as a watch takes. Who has to see a write that was acknowledged asks the storage.
package rbac

// Package rbac decides by roles and bindings, as the RBAC authorizer of a Kubernetes API server does.
//
// In come the stored roles and bindings, first all of them and then each change; and questions: a user and the
// attributes of a request. Out go decisions with the binding and the rule behind them, and the rules of a user in a
// namespace.
//
// The state is an index: from users and groups to their bindings, from there to roles, and from the resource to the
// rules that name it. A decision costs a lookup for the user and one for each group, and allocates nothing. Sentences
// are built only when they are read.
//
// # Invariants
//
//  1. An index is immutable. A change makes a new one, which shares all unchanged parts with the old one.
//  2. Before the first index exists, no request is allowed. Each one waits for it until its context ends. Members of
//     [user.SystemPrivilegedGroup] are allowed before they get here.
//  3. A role or binding that can't be read allows nothing. Others are not affected.
//  4. An index lags behind etcd by the time of a watch event. A caller that must see an acknowledged write reads the
//     storage.
package rbac

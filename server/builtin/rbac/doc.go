// Package rbac declares roles and their bindings, with what they share: the rules of a role, and the subjects and the
// reference of a binding. And it keeps users from granting more than they have.
//
// In come parts of the objects of rbac.authorization.k8s.io; out go their defaults, their mistakes and their columns,
// and the refusal of a write that grants too much. Who may do what is decided in server/authz.
//
// Invariants of a write by anybody but system:masters:
//
//  1. The rules of a role are covered by what its author has in its namespace and in the cluster, unless they have the
//     verb escalate for it. So are the rules of the role that a binding names, unless its author has the verb bind for
//     that role.
//  2. Whoever sets or changes an aggregationRule has everything.
//  3. Roles and bindings are read from their storages for this, as with a Kubernetes API server, never from the index
//     of an authorizer: it may be behind. The mode of authorization makes no difference.
//  4. One writer is not checked: the controller that aggregates cluster roles gives what was checked when it was
//     written.
package rbac

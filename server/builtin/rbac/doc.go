// Package rbac declares roles and their bindings. Roles share their rules; bindings share subjects and the reference
// to a role. The package also refuses writes that grant more permissions than the user has.
//
// Package server/authz makes the decisions about requests.
//
// Invariants of a write by any user outside the group system:masters:
//
//  1. The author of a role holds all permissions in its rules, in its namespace or in the cluster, or has the verb
//     escalate for the role. The author of a binding holds all permissions of the role that it names, or has the verb
//     bind for that role.
//  2. A user who sets or changes an aggregationRule holds all permissions.
//  3. The check reads roles and bindings from their storages, as a Kubernetes API server does, and never from an
//     authorizer's index, which may be behind. The authorization mode makes no difference.
//  4. One writer is not checked: the controller that aggregates cluster roles copies only rules that were checked
//     when they were written.
package rbac

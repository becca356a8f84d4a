// Package bootstrap makes the objects that every cluster has from its start, and keeps them as they must be: the
// service kubernetes with its endpoints, the default ServiceCIDR, two priority classes, what extension API servers must
// know of authentication, and the roles and bindings of server/authz/policy. The namespaces are in
// server/controller/namespace.
//
// What comes in: the server's own handlers, so that these objects get the defaults, validation, admission and field
// owners of any client's; the server's address; the storage of masterleases. What goes out: writes of the user
// system:apiserver, and a call for each task after its first try.
//
// Invariants:
//
//  1. Nothing waits for a task: a server whose etcd takes no writes serves reads. A failed task is tried again once a
//     second.
//  2. A resource that the server does not have is left out.
//  3. An existing object is written again only if it differs from what it must be. Roles and bindings only gain what
//     they lack; with the annotation rbac.authorization.kubernetes.io/autoupdate=false they stay as they are. A binding
//     to another role is replaced.
//  4. Reads of this package do not start the filling of a watch cache.
//  5. Each object is written by a request of its own. One transaction for many would give them one resourceVersion, and
//     a watch that ends between them and goes on from there would never see the others.
//
// # Several servers on one etcd
//
// Each server writes a key /registry/masterleases/<address> every 10 s, with a lease of 15 s, as each Kubernetes API
// server does. The endpoints of the service kubernetes are the addresses that have such a key. So all servers write the
// same endpoints. A server that stops deletes its key; the key of a killed server expires.
package bootstrap

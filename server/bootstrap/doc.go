// Package bootstrap creates the objects that every cluster has from its start, and keeps them correct: the
// service kubernetes with its endpoints, the default ServiceCIDR, two priority classes, the authentication
// settings for extension API servers, and the roles and bindings of server/authz/policy. The namespaces are in
// server/controller/namespace.
//
// In come the server's own handlers, so that these objects get the defaults, validation, admission and field
// owners of any client's objects; the server's address; and the storage of masterleases. Out go writes of the
// user system:apiserver, and a call for each task after its first attempt.
//
// Invariants:
//
//  1. Nothing waits for a task: a server whose etcd takes no writes serves reads. A failed task is retried
//     after a second, and then after longer pauses.
//  2. Resources that the server does not have are left out.
//  3. An existing object is written again only if it differs from the wanted one. Roles and bindings only gain
//     what they lack; with the annotation rbac.authorization.kubernetes.io/autoupdate=false they stay as they
//     are. A binding to another role is replaced.
//  4. Reads of this package do not start the filling of a watch cache.
//  5. Each object is written by a request of its own. One transaction for many would give them one
//     resourceVersion, and a watch that ends between them and continues from there would never see the others.
//
// # Several servers on one etcd
//
// Each server writes a key /registry/masterleases/<address> every 10 s, with a lease of 15 s, as each
// Kubernetes API server does. The endpoints of the service kubernetes are the addresses that have such a key.
// So all servers write the same endpoints. A server that stops deletes its key; the key of a killed server
// expires.
package bootstrap

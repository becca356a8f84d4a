// Package bootstrap makes the objects that every cluster has from its start, and keeps them as they must be: the service
// kubernetes with its endpoints, the default ServiceCIDR, two priority classes, and what extension API servers must know of
// authentication. The namespaces are in server/controller.
//
// In come the server's own handlers, so that these objects are defaulted, validated, admitted and owned as those of any client;
// its address; and the storage of masterleases. Out go writes of the user system:apiserver, and for each task a signal when it
// was first tried.
//
// Invariants:
//
//  1. Nothing waits for a task: a server whose etcd takes no writes serves reads. What failed is tried again, once a second.
//  2. A resource that the server does not have is left out.
//  3. An object that is there is not written again unless it says something else than it must.
//  4. Its reads do not make a cache fill.
//
// # Several servers on one etcd
//
// Each server writes a key /registry/masterleases/<address> that lives for 15 s, every 10 s, as each Kubernetes API server does.
// The endpoints of the service kubernetes are the addresses that have such a key. So all servers write the same endpoints, whoever
// writes them; a server that stops takes its key away, and that of a server which was killed expires.
package bootstrap

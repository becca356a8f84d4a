// Package resourcequota counts what objects use of the quotas of their namespaces, as the controller of
// kube-controller-manager does.
//
// In come the changes of all keys in etcd. Out go updates of the status of resource quotas: status.hard is spec.hard,
// and status.used is what the objects of the namespace use. server/quota knows what an object uses.
//
//	follow      keeps the index by the feed, and queues the namespaces in which an amount may have changed
//	index       of each namespace that has a quota, and each resource that such a quota counts: how many objects use what
//	controller  reads a resource of a namespace when a quota begins to count it, and writes what quotas have used
//
// # What is kept
//
// Only namespaces with a quota have an index, and in it only resources that a quota names. Of an object it has the name
// and a pointer: objects that use the same share one usage. Without quotas an event costs a look at its key.
//
// # Invariants
//
//  1. A write has what the index says at that moment, and is made again if the quota has changed meanwhile.
//  2. The index is right at a revision: events up to the one at which a resource was read are left out, later ones are
//     not. After a broken watch, what is not put again is dropped.
//  3. A burst of changes leads to one write a second and quota, however many objects it has. The last change is always
//     counted.
//  4. What admission has charged stays for a second at least, also if the object is not there: it may be on its way.
//  5. An object that can't be read is not counted, and delays nothing. While nothing changes, nothing is done.
package resourcequota

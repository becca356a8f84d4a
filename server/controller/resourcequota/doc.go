// Package resourcequota counts the usage of namespaces' quotas, as the controller of kube-controller-manager
// does.
//
// In come the changes of all keys in etcd. Out go updates of the status of resource quotas: status.hard copies
// spec.hard, and status.used is the usage of the namespace's objects. server/quota computes the usage of an
// object.
//
//	follow      updates the index from the feed, and queues the namespaces in which an amount may have changed
//	index       for each namespace with a quota, and each resource that a quota counts: the objects by usage
//	controller  reads a resource of a namespace when a quota begins to count it, and writes the usage of quotas
//
// # What is kept
//
// Only namespaces with a quota have an index, and in it only resources that a quota names. For an object, the
// index holds the name and a pointer: objects with the same usage share it. Without quotas an event costs only
// parsing its key.
//
// # Invariants
//
//  1. A write has the index's state at that moment, and is repeated if the quota has changed meanwhile.
//  2. The index is correct at a revision: events up to the revision at which a resource was read are left out,
//     and later ones are applied. After a broken watch, keys that are not put again are dropped.
//  3. A burst of changes leads to one write a second for each quota, however many objects it has. The last
//     change is always counted.
//  4. What admission has charged stays for at least a second, even if the object does not exist: it may be on
//     its way.
//  5. An object that can't be read is not counted, and delays nothing. While nothing changes, nothing is done.
package resourcequota

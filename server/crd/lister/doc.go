// Package lister keeps the current CustomResourceDefinitions in memory for frequent readers: crdHandler at each
// request, and the controllers.
//
// It owns one list and one watch of the definitions' storage. In comes that storage, whose objects have the
// library's internal type. Out go definitions in v1, each converted once, shared by all readers and never
// modified.
//
// # How it keeps up
//
//	Run        lists, then watches; when the watch ends it lists again
//	Get, List  what is known now
//	Subscribe  calls a function at each change
//	GetFresh   asks etcd for a definition that is unknown here: another server may just have created it
//
// A definition that GetFresh finds is known from then on, as if the watch had reported it.
//
// # Invariants
//
//  1. Get and List take no lock.
//  2. No reader sees an older state of a definition after a newer one.
//  3. One goroutine calls the subscribers, change after change, each after Get returns it. Changes that come
//     faster than subscribers work are merged: the old state of a call is the new state of the one before. So
//     the backlog is never longer than the number of definitions.
//  4. A definition that can't be read hides no other. The log reports it once, and Unreadable reports it until
//     it can be read or is deleted.
//  5. However many requests ask for unknown definitions, there is one read of etcd at a time for one name, and
//     a few for all names. No request gets a result that was read before it asked.
package lister

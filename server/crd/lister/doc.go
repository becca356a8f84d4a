// Package lister knows the CustomResourceDefinitions as they are, in this process, for whoever needs them often: crdHandler
// on each request, and the controllers.
//
// It owns one list and one watch of the definitions' storage. In comes the storage, in process, whose objects are of the
// library's internal type. Out go definitions in v1, each converted once, shared by all and never modified.
//
// # How it keeps up
//
//	Run        lists, then watches; when the watch ends it lists again
//	Get, List  what is known now
//	Subscribe  to be told of changes
//	GetFresh   asks etcd, for what a request needs and is not known here (yet): somebody else may have made it
//
// What GetFresh finds is known from then on, as if the watch had told of it.
//
// # Invariants
//
//  1. Get and List take no lock.
//  2. Of one definition nobody sees an older state after a newer one.
//  3. Subscribers are told on one goroutine, one change after the other, each after Get shows it. Changes that come faster
//     than subscribers work become one: the next call's old is the last call's new. So there is never more to be told than
//     there are definitions.
//  4. However many requests ask for what is not there: etcd is asked for one name once at a time, and for no more than a
//     few names at a time. Nobody gets an answer that was read before they asked.
package lister

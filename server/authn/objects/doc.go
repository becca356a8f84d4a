// Package objects reads the objects that tokens depend on: service accounts, pods, secrets and nodes.
//
// In come the storages, once they exist, and the name of an object. Out goes the object as it is now, or the error of
// its storage.
//
// Invariants: nothing is cached. Until the storages are set, no object is found.
package objects

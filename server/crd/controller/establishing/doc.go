// Package establishing makes definitions established: from then on, clients may rely on being served.
//
// In come definitions from the lister. Out goes the condition Established: true once names are accepted, and
// never false again; or false with the reason if the caBundle of a conversion webhook is invalid.
//
// # Why there is no delay
//
// Accepted names are only a claim: another server may have written the same claim for another definition at the
// same moment (see server/crd/controller/naming). A definition is established when this process
//
//  1. has seen the claim, and everything that was written to any definition before it, and
//  2. sees no other definition that holds one of its names.
//
// The lister's revision answers the first; a definition that the lister read from etcd ahead of its watch has
// to wait for the watch. The write fails if the definition has changed since it was read. So if two definitions
// claim one name, the one with the later claim in etcd's history is never established while the other holds the
// name. No clock is involved: a slow server may be late but never wrong, and upstream's delay would add
// nothing.
//
// In the meantime, other servers serve the definition, too: a server asks etcd about definitions that it does
// not know.
//
// # Invariants
//
//  1. Of two definitions that claim a name before they are established, at most one is established with it.
//  2. A definition that is being deleted is not established: its finalizer may already be removed, so objects
//     that are created later would never be deleted.
//  3. A definition with a contested name is examined again at every change of any definition.
package establishing

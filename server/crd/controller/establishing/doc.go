// Package establishing makes a definition established: served, as all may rely on from then on.
//
// What comes in are the definitions as lister knows them. What goes out is the condition Established, once names are
// accepted, and never false again; or, if a conversion webhook's caBundle is none, that it can't be.
//
// # Why there is no delay
//
// Accepted names are a claim that another server may have written for another definition at the same moment (see
// server/crd/controller/naming). A definition is established when this process
//
//  1. has seen the claim, and everything that was written to any definition before it, and
//  2. sees no other definition that holds one of its names.
//
// The first is what lister's revision says; a definition that it knows ahead of its watch, because a request asked etcd for
// it, has to wait for the watch. The condition is written on the state that was seen, or not at all. So of two definitions
// that claim one name, the one whose claim is later in etcd's history is never established while the other holds it. No
// clock is involved, and however slow a server is, it may be late but not wrong: a delay, as upstream has it, would add
// nothing.
//
// Clients that come to another server in between are served there too, since that server asks etcd about definitions it
// does not know.
//
// # Invariants
//
//  1. Of two definitions that claim a name before they are established, at most one is established with it.
//  2. A definition that is being deleted is not established: its finalizer may be gone already, and nobody would delete the
//     objects that come then.
//  3. Whose names somebody else holds too is looked at again with every change of any definition.
package establishing

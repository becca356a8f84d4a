// Package naming decides which names a definition gets.
//
// In a group, a resource may be called by its plural, its singular and its short names, an object by its kind and its list
// kind. No two definitions may share one. A definition asks for names in spec.names; those that it holds are in
// status.acceptedNames, and the condition NamesAccepted says whether they are all that it asked for. Established, which
// other rooms make true, is made false here.
//
// What comes in are the definitions as lister knows them. What goes out is status.acceptedNames and the two conditions, in
// one write. [Holders] says who holds what, also to establishing.
//
// # Several servers on one etcd
//
// Names are of many definitions, and a write is of one: two servers can give one name to two definitions at the same
// moment, each without having seen the other's write. So an accepted name is a claim and no more:
//
//	claim      a server that sees nobody hold the name writes that the definition holds it
//	establish  a server that has seen this claim, and all that was written before it, and sees no other definition
//	           hold the name, writes that the definition is established (server/crd/controller/establishing)
//	withdraw   a server that sees two definitions hold a name takes it from one of them: from the one that is not
//	           established; then from the one whose names were accepted later, by the clock; then by UID
//
// Two definitions that claim one name are never both established. etcd puts all writes in one order, so one of the two
// claims is the later one. Whoever establishes its definition has seen the earlier claim, or what became of it. Is it still
// there, then nothing is established. Was it withdrawn, then before it could be used: both writes are made on the claim's
// state, and etcd takes one of them. And had it been used, then nobody would have withdrawn it, since who is established
// does not yield to who isn't. The clock and the UID decide only who yields, and if two servers see that differently, both
// yield and both try again.
//
// An established definition may later ask for another singular, list kind or short name, and has it with the claim. Two
// that claim the same one at the same moment share it until one of them yields. The plural and the kind are never at stake
// then: validation lets nobody change them.
//
// Upstream waits 5 seconds between claim and establishment instead, long enough for all servers to have seen the claim as
// long as none of them is slow.
//
// # Invariants
//
//  1. A name that a definition cannot have does not keep it from the others that it asks for.
//  2. Who waits for a name is judged again with every change in its group, and so gets the name as soon as it is free.
//  3. A server sees its own writes before etcd tells it of them: two definitions that come together do not both claim.
//  4. Names are judged for one batch after the other, by one goroutine; only the writes of a batch run at once.
package naming

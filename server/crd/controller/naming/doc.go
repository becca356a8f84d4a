// Package naming decides which names a definition gets.
//
// In a group, a resource has a plural, a singular and short names, and an object has a kind and a list kind. No two
// definitions may share one. A definition asks for names in spec.names; it holds those in status.acceptedNames, and the
// condition NamesAccepted says whether it has got all. Naming sets Established to false; package establishing makes it
// true.
//
// In come definitions from the lister. Out go status.acceptedNames and the two conditions, in one write. [Holders] says
// which definition holds which name; establishing uses it, too.
//
// # Several servers on one etcd
//
// A name concerns all definitions, and a write only one: two servers can give one name to two definitions at the same
// moment, each before it has seen the other's write. So an accepted name is only a claim:
//
//	claim      a server that sees nobody hold the name writes that the definition holds it
//	establish  a server that has seen this claim, and all that was written before it, and sees no other definition
//	           hold the name, writes that the definition is established (server/crd/controller/establishing)
//	withdraw   a server that sees two definitions hold a name takes it from one of them: from the one that is not
//	           established; then from the one whose names were accepted later, by the clock; then by UID
//
// Two definitions that claim one name are never both established. etcd orders all writes, so one of the two claims is
// the later one. A server that establishes its definition has seen the earlier claim or its end. If the claim is still
// there, the server establishes nothing. If it was withdrawn, its definition was not established: both writes expect
// the claim's state, and etcd accepts one of them. If that definition had been established, nobody would have withdrawn
// its claim, since an established definition never yields to another. The clock and the UID decide only who yields. If
// two servers see that differently, both definitions yield and try again.
//
// An established definition may later ask for another singular, list kind or short name, and has it with the claim. If
// two claim the same one at the same moment, they share it until one yields. The plural and the kind are not at risk:
// validation does not let them change.
//
// Upstream waits 5 seconds between claim and establishment instead. That is enough as long as no server is slow to see
// the claim.
//
// # Invariants
//
//  1. A definition gets the names that are free, even if it can't have all that it asks for.
//  2. A definition that waits for a name is judged again at every change in its group, so it gets the name once it is
//     free.
//  3. A server takes its own writes into account before etcd's watch returns them: two definitions that are created
//     together do not both claim a name.
//  4. One goroutine judges batch after batch; only the writes of a batch run concurrently.
package naming

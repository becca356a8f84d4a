// Package naming decides which names a definition gets.
//
// In a group, a resource has a plural, a singular and short names, and an object has a kind and a list kind. No
// two definitions may share one. A definition requests names in spec.names and holds those in
// status.acceptedNames; the condition NamesAccepted reports whether it holds all that it requests. Naming sets
// Established to false; package establishing makes it true.
//
// In come definitions from the lister. Out go status.acceptedNames and the two conditions, in one write.
// [Holders] records which definition holds which name; establishing uses it, too.
//
// # Several servers on one etcd
//
// A name concerns all definitions, and a write only one: two servers can give one name to two definitions at
// the same moment, each before it has seen the other's write. So an accepted name is only a claim:
//
//	claim      a server that sees no holder of a name writes that the definition holds it
//	establish  a server that has seen this claim, and all that was written before it, and sees no other definition
//	           hold the name, writes that the definition is established (server/crd/controller/establishing)
//	withdraw   a server that sees two definitions hold a name takes it from one of them: from the one that is not
//	           established; then from the one whose names were accepted later, by the clock; then by UID
//
// Two definitions that claim one name are never both established. etcd orders all writes, so one of the two
// claims is the later one. A server that establishes the definition of the later claim has seen the earlier
// claim or its end. If that claim still exists, the server establishes nothing. If it was withdrawn, its
// definition was not established: establishing and withdrawing both expect the claim's state, and etcd accepts
// only one of them. An established definition never yields to another, so its claim is not withdrawn. The clock
// and the UID decide only which definition yields. If two servers judge that differently, both definitions
// yield and try again.
//
// An established definition may later request another singular, list kind or short name, and holds it with the
// claim. If two claim the same one at the same moment, they share it until one yields. The plural and the kind
// are not at risk: validation refuses to change them.
//
// Upstream waits 5 seconds between claim and establishment instead. That is enough as long as no server takes
// longer to see the claim.
//
// # Invariants
//
//  1. A definition gets the names that are free, even if it can't have all that it requests.
//  2. A definition that waits for a name is judged again at every change in its group, so it gets the name
//     once it is free.
//  3. A server takes its own writes into account before etcd's watch returns them: two definitions that are
//     created together do not both claim a name.
//  4. One goroutine judges batch after batch; only the writes of a batch run concurrently.
package naming

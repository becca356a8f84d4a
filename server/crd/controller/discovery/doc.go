// Package discovery publishes the custom resources that are served.
//
// It owns the group versions of definitions in server/discovery's documents: resources sorted by name, with the
// subresources status and scale. In come definitions from the lister. Out go calls of server/discovery's
// Manager, made when a document is requested: 500 new definitions cost nothing until then, and one update after
// that.
//
// # What a client can rely on
//
// A resource is in discovery exactly if its definition is established and serves the version. A client that has
// seen the definition established on this server finds it there. To ensure that, a request waits for
// definitions that are about to be established: their names are accepted, and the last write is on its way.
// That takes a moment, and the wait is limited in case etcd does not answer.
//
// The client of another server may have seen the definition established before this server has seen its names
// accepted. Discovery here is then as late as etcd's watch.
//
// # Invariants
//
//  1. A request takes no lock and allocates nothing if no definition has changed since the last one.
//  2. A group version is computed again only if a definition that has or had it changes.
//  3. A group version of another publisher (a built-in one) stays unchanged.
//  4. A group version disappears with its last resource, and a group with its last version.
package discovery

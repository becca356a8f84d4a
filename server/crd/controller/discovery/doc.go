// Package discovery tells clients of the custom resources that are served.
//
// It owns what server/discovery's pages say of group versions that definitions make: resources in order of their names, with
// their subresources status and scale. What comes in are the definitions as lister knows them. What goes out are calls of
// server/discovery's Manager, when somebody asks for a page: nothing is worked out for a definition that comes, and 500 that
// come at once are worked out once.
//
// # What a client can rely on
//
// A resource is in discovery exactly if its definition is established and serves the version. Who has seen the definition
// established, by this server, finds it there. To that end a request for discovery waits until the definitions are settled
// that this server knows to be about to be established: their names are accepted, and the last write is on its way. Since
// establishing takes a moment, so does that; it is bounded in case etcd does not answer.
//
// Another server's client may have seen it established before this server has seen the names accepted, which were written
// before. It is then at most as late here as etcd's watch.
//
// # Invariants
//
//  1. A request takes no lock and allocates nothing if no definition has changed since the last one.
//  2. A group version is worked out again only if a definition that has it, or had it, changed.
//  3. A group version that somebody else has told of (a built-in one) is left alone.
//  4. With its last resource goes a group version, and with its last version the group.
package discovery

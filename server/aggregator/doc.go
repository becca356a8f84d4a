// Package aggregator passes requests for the versions of groups that other API servers serve on to those, as APIServices say.
//
// In come requests for all resources, before any server of this process looks at them; the APIServices that name a service; and the
// answers of those services. Out go the requests and their answers; the condition Available of each such APIService; and what the
// other servers tell of themselves, into this server's discovery and OpenAPI; and their collections, for who empties namespaces.
//
// # Invariants
//
//  1. Where no APIService names a service, a request costs one look at an empty table, and nothing runs.
//  2. The other server learns who asks from headers that are set here, by a connection with the certificate of a front proxy. Headers of
//     the client that say so, and its credentials, do not leave this process.
//  3. What another server answers about itself is bounded, in bytes and in time, and its redirects are not followed.
//  4. A server that is away is asked by nobody: requests get a 503 until a check has reached it.
//  5. Each server is checked by itself, and a change of an APIService is known at once, whatever is being checked then. The check of a
//     server that is no longer named ends before its version is described by anybody else.
package aggregator

// Package static answers kx bench with bytes that it has ready: the floor below which no API server can be.
//
// It understands the requests of kx bench and no others, checks nothing and stores nothing. An object is what a server
// would have made of the one that was created, managed fields included; whatever lists answer is put together once.
// What a read costs here is TLS, HTTP/2 and the sockets, and what a write costs is that and keeping the bytes in a map.
package static

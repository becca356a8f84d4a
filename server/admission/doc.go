// Package admission makes the server's admission: a line of plugins, each of which may change or refuse what a request
// wants to write.
//
// What comes in are the attributes of a write, from server/handler; what goes out is nil or an error with the Status that
// the client gets. What plugins read they are given by [Plugins.Initialize], once the API is installed and before the
// first request.
//
// # NamespaceLifecycle
//
// The one plugin so far keeps objects out of namespaces that do not exist or are ending. It reads the namespace through
// its storage, as a GET would: from etcd, and no older than the request. So it has nothing to fill at the start, nothing
// to keep in memory, and no moment in which it believes what is no longer so: an object can be created as soon as its
// namespace was, through whichever server. The price is one read of one key for each create, which with etcd in this
// process is a small part of the write that follows.
//
// Between that read and the write there is still a moment in which the namespace may begin to end. The controller that
// empties namespaces waits it out (see server/controller).
package admission

// Package admission is the server's admission: a chain of plugins, each of which may change or refuse a write.
//
// In come the attributes of a write, from server/handler. Out goes nil, or an error with the Status for the
// client. [Plugins.Initialize] gives plugins the storages that they read, after the API is installed and before
// the first request.
//
// table.go lists the plugins in upstream's order. A plugin is a value of package plugin, created by a function
// in a file here. A write calls only the plugins that handle it.
//
// # NamespaceLifecycle
//
// It refuses objects in namespaces that do not exist or are being deleted. Like a GET, it reads the namespace
// from etcd, no older than the request. So it has nothing to load at the start, keeps nothing in memory, and is
// never out of date: an object can be created as soon as its namespace exists, through any server. The price is
// one read of a key for each create. With etcd in this process, that is a small part of the write that follows.
//
// Between that read and the write, the deletion of the namespace may still begin. The controller that empties
// namespaces waits for such writes (see server/controller/namespace).
package admission

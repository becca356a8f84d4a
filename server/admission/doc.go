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
// It refuses objects in namespaces that do not exist or are being deleted. It takes the namespace from the cache,
// without asking etcd, and makes its revision a condition of the transaction that writes the object
// ([store.Condition]). So no object is created in a namespace that has ended before, also if another server ended
// it and the cache does not know yet. If the namespace is at another revision, the transaction writes nothing and
// the storage calls back: the namespace is read from etcd, no older than that call. Then the create is refused, or
// tried again with the new revision.
//
// The namespace is read from etcd at once if the cache does not have it, or has it as one that is being deleted: an
// object can be created as soon as its namespace exists, through any server. It is also read for a write that has no
// such transaction: a dry run, a subresource that stores nothing, a storage that is not in the namespaces' etcd. An
// object of such a storage can be created while its namespace ends; the controller that empties namespaces waits for
// such writes (see server/controller/namespace).
//
// Other plugins that ask for the namespace of a write, for its labels, get one that is no older than the request.
// They share one read.
package admission

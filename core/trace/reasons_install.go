package trace

// Reasons of how a resource came to be served.
var (
	GroupsEnabled   = because("groups-enabled", "{enabled} of {known} groups have resources that --runtime-config leaves on")
	StoragesOfGroup = because("storages-of-group", "storages made for {resources} resources and subresources, all versions counted")
	StoragesInOrder = because("storages-in-order", "{storages} storages, in the order of their names")
	RoutesMade      = because("routes-made", "{routes} routes; verbs without one: {missing}")
	StorageCan      = because("storage-can", "the storage is {interfaces:word}")
	StorageCannot   = because("storage-cannot", "{lacking:word}: no route")

	FirstRequestBuilds = because("first-request-builds",
		"request {journey:word} was the first for this state of the definition, of revision {revision}")
	BuiltForNobody = because("built-for-nobody", "before any request asks, from the definition of revision {revision}")
	SchemaCompiled = because("schema-compiled",
		"only its structure: validators and rules are compiled by the first write that needs them")
	HandlersOfVersion = because("handlers-of-version",
		"no type is looked at: every custom resource has the same {verbs} verbs; subresources of the definition: {subresources:word}")

	CachedByDefault = because("cached-by-default", "--watch-cache is on: StorageWithCacher")
	CachedBySize    = because("cached-by-size",
		"--watch-cache-sizes gives it the size {size}, which is not 0: StorageWithCacher; the cache sizes itself")
	UncachedForAll = because("uncached-for-all", "--watch-cache=false: UndecoratedStorage, as for every resource")
	UncachedByZero = because("uncached-by-zero", "--default-watch-cache-size=0: UndecoratedStorage, as for every resource")
	UncachedBySize = because("uncached-by-size", "--watch-cache-sizes gives it the size 0: UndecoratedStorage")
	UncachedEvents = because("uncached-events",
		"events have no watch cache unless --watch-cache-sizes gives them one, since they are written far more often than read: "+
			"UndecoratedStorage")
	FillsAtOnce      = because("fills-at-once", "--watch-cache-prefill: the cache fills itself at once")
	FillsWhenRead    = because("fills-when-read", "the cache fills itself when somebody reads the resource for the first time")
	BackendByDefault = because("backend-by-default", "the storage backend is not set, which means etcd3")
	BackendNamed     = because("backend-named", "the storage backend is {backend:word}")
	EtcdInProcess    = because("etcd-in-process", "etcd runs in this process: no socket lies between")
	EtcdServers      = because("etcd-servers", "etcd is a cluster, reached at {servers} addresses")
)

package trace

// Reasons of the layers from the REST call to etcd.
var (
	// store/registry: keys, and errors of the storage.
	KeyInNamespace     = because("key-in-namespace", "NamespaceKeyFunc made {key:word}")
	KeyWithoutSpace    = because("key-without-space", "the resource has no namespaces: NoNamespaceKeyFunc made {key:word}")
	KeyRefused         = because("key-refused", "no key can be made of that")
	StorageHasNothing  = because("storage-has-nothing", "the storage has nothing at the key: {answer:word}")
	StorageHasAlready  = because("storage-has-already", "the storage has something at the key: {answer:word}")
	StorageHasAnother  = because("storage-has-another", "the storage has another state than was expected: {answer:word}")
	StorageTimedOut    = because("storage-timed-out", "the storage ran out of time: {answer:word}")
	StorageUnreachable = because("storage-unreachable", "the storage can't be reached: {answer:word}")
	StorageBroken      = because("storage-broken", "the storage failed, or can't read what it has: {answer:word}")
	AnswerAlready      = because("answer-already", "it does not come from the storage, but is an answer already: passed on")

	// store/registry: the request to the storage.
	LatestWanted      = because("latest-wanted", "resourceVersion unset: the latest state is wanted")
	AtLeastWanted     = because("at-least-wanted", "resourceVersion set: a state at least that new will do")
	AllNamespaces     = because("all-namespaces", "no namespace: all objects of the resource")
	OneNamespace      = because("one-namespace", "one namespace of the resource")
	SelectedNamespace = because("selected-namespace", "the field selector names a namespace: only that is read")
	SelectedObject    = because("selected-object", "the field selector names one object: only its key is read")
	NameChosen        = because("name-chosen", "the client chose the name")
	NameGenerated     = because("name-generated", "the name was generated")
	NameTaken         = because("name-taken", "attempt {attempt}: the name that was generated before was taken")
	FieldsInvalid     = because("fields-invalid", "refused; field errors: {errors}")
	Valid             = because("valid", "valid, in the form that is stored")
	MissingCreated    = because("missing-created", "a missing object is created")
	MissingRefused    = because("missing-refused", "a missing object is an error: updates do not create the resource")
	LastFinalizerGone = because("last-finalizer-gone",
		"the update removed the last finalizer from an object that is being deleted: the object is removed")
	FirstAttempt      = because("first-attempt", "attempt 1: on revision {revision}")
	FirstAttemptEmpty = because("first-attempt-empty", "nothing is there yet")
	ConflictRetried   = because("conflict-retried",
		"attempt {attempt}: conflict: somebody else wrote in between, so it is tried again on revision {revision}")
	RevisionMoved     = because("revision-moved", "the request was made on revision {sent}, and the object is at revision {revision}")
	CollectionDeleted = because("collection-deleted", "{objects} objects found and deleted")
	CollectionShrunk  = because("collection-shrunk",
		"{objects} objects found; {gone} of them were gone when their turn came, which is no error")
	NotDryRun     = because("not-dry-run", "not a dry run: passed on")
	DryRunCreates = because("dry-run-creates", "dry run: look whether the key is free, write nothing")
	DryRunUpdates = because("dry-run-updates", "dry run: try the update once on the stored object, write nothing")
	DryRunDeletes = because("dry-run-deletes", "dry run: read and check the object, remove nothing")

	// store/registry: deletion.
	NoGraceKnown     = because("no-grace-known", "the resource knows no grace period")
	NoGraceWanted    = because("no-grace-wanted", "the strategy wants no grace period for this object")
	GraceBegins      = because("grace-begins", "a grace period of {seconds} s begins")
	GraceOver        = because("grace-over", "its grace period is over")
	GraceKept        = because("grace-kept", "it is being deleted, and no other grace period is asked for")
	GraceNotLonger   = because("grace-not-longer", "it is being deleted, and a grace period only ever gets shorter")
	GraceShortened   = because("grace-shortened", "its grace period is shortened from {before} s to {seconds} s")
	DeletionUnderWay = because("deletion-under-way", "it is being deleted already, at least as fast as asked")
	RemovedAtOnce    = because("removed-at-once", "no grace period and no finalizers: it is removed")
	FinalizerCame    = because("finalizer-came", "somebody gave it a finalizer meanwhile: it stays until that is gone")
	MarkedDeleting   = because("marked-deleting", "it is marked as deleting: a finalizer or the end of its grace period removes it")
	RemovalTried     = because("removal-tried", "dry run: the state that would have been removed")
	RemovedAfterMark = because("removed-after-mark", "nothing to wait for: it is removed")
	RemovedByOther   = because("removed-by-other",
		"somebody else removed it after it was marked, which is no error: the state that was marked is the answer")

	// store/cacher: one object.
	CacheFirstRead  = because("cache-first-read", "nobody had asked for this cache before: it begins to fill, and etcd answers")
	CacheNotReady   = because("cache-not-ready", "the cache is {state:word}: went to etcd")
	CacheUnreadable = because("cache-unreadable", "the cache can't read the object: went to etcd, which says why")
	CacheBehind     = because("cache-behind", "resourceVersion {asked}: the cache is at {cache} and makes no progress: went to etcd")
	CacheRefilled   = because("cache-refilled",
		"etcd is at {etcd}, but the cache had seen {cache}: the cache is filled again; went to etcd")
	CachedAny        = because("cached-any", "resourceVersion 0: whatever the cache has, at {cache}")
	CachedAtLeast    = because("cached-at-least", "resourceVersion {asked}: the cache has seen it, and is at {cache}")
	CachedAtRevision = because("cached-at-revision",
		"resourceVersion unset: etcd has the key at {revision}, and so has the cache: cached bytes")
	CachedNewer = because("cached-newer",
		"resourceVersion unset: etcd had the key at {etcd}, the cache has it at {cache} by now: cached bytes")
	KeyNotCachedYet = because("key-not-cached-yet",
		"resourceVersion unset: etcd has the key at {revision}, the cache does not yet: went to etcd")
	KeyIsEmpty        = because("key-is-empty", "resourceVersion unset: etcd has nothing at the key")
	SuggestionUnready = because("suggestion-unready", "the cache is {state:word}: the storage reads the object")
	SuggestionMissing = because("suggestion-missing", "the cache does not have the object: the storage reads it")
	SuggestionCached  = because("suggestion-cached", "the cache has the object at {revision}: that is tried first, which saves a read")

	// store/cacher: lists.
	LatestNotReady = because("latest-not-ready", "resourceVersion unset, and the cache is {state:word}: went to etcd")
	LatestBehind   = because("latest-behind",
		"resourceVersion unset: etcd is at {etcd}, the cache is at {cache} and makes no progress: went to etcd")
	ExactCompacted = because("exact-compacted", "revision {asked} is wanted, and it has been compacted: went to etcd")
	ExactBehind    = because("exact-behind",
		"revision {asked} is wanted, and the cache is at {cache} and makes no progress: went to etcd")
	ExactForgotten = because("exact-forgotten",
		"revision {asked} is wanted, and the cache has forgotten what happened since: went to etcd")
	ListedAny     = because("listed-any", "resourceVersion 0: whatever the cache has: {items} items of its state at {revision}")
	ListedAtLeast = because("listed-at-least",
		"resourceVersion {asked}: the cache has seen it: {items} items of its state at {revision}")
	ListedExactly = because("listed-exactly", "revision {asked} is wanted: {items} items of the cache's state at {revision}")
	ListedLatest  = because("listed-latest",
		"resourceVersion unset: etcd is at {etcd}, and so is the cache: {items} items of its state at {revision}")
	ListedLatestShared = because("listed-latest-shared",
		"resourceVersion unset: etcd is at {etcd} (asked together with others), and so is the cache: "+
			"{items} items of its state at {revision}")
	ListedCaughtUp = because("listed-caught-up",
		"resourceVersion unset: etcd is at {etcd}, the cache was at {before} and caught up: {items} items of its state at {revision}")
	ListedCaughtUpShared = because("listed-caught-up-shared",
		"resourceVersion unset: etcd is at {etcd} (asked together with others), the cache was at {before} and caught up: "+
			"{items} items of its state at {revision}")

	// store/cacher: watches.
	WatchUncached    = because("watch-uncached", "the cache is {state:word}: the watch is etcd's")
	WatchRefused     = because("watch-refused", "{error:quote}")
	WatchFromNow     = because("watch-from-now", "no initial events wanted: the changes from now on")
	WatchFromHistory = because("watch-from-history",
		"the changes after {asked}: the cache's history, which begins at {first}, has {events} of the resource's")
	WatchFromEtcd = because("watch-from-etcd",
		"revision {asked} is before the cache's first, {first}: the changes in between are read from etcd's history")
	WatchFromState = because("watch-from-state", "the state at {revision} first, then its changes")

	// store/etcd3.
	ReadLatest           = because("read-latest", "read from etcd by a linearizable read: the latest there is")
	ReadOlder            = because("read-older", "etcd is at revision {revision}, older than what was asked for")
	ReadNothing          = because("read-nothing", "nothing is stored at the key")
	ReadNothingAllowed   = because("read-nothing-allowed", "nothing is stored at the key, and that is no error: an empty object")
	ReadPages            = because("read-pages", "{pages} pages: {returned} of {fetched} objects are in the list")
	ReadAlike            = because("read-alike", "all {objects} objects were read like the first one, whose steps are here")
	RevisionRead         = because("revision-read", "the key's revision, not its value: a linearizable read of a few bytes")
	RevisionReadTogether = because("revision-read-together",
		"the key's revision, not its value: a linearizable read of a few bytes, with {others} other readers' keys")
	StoredWithOldKey   = because("stored-with-old-key", "stored in a form that is no longer written: the next update writes it anew")
	DecodeSpared       = because("decode-spared", "not decoded: the answer can be made of the bytes")
	LeaseShared        = because("lease-shared", "shared: the lease of the last object ends at about the same time")
	LeaseFirst         = because("lease-first", "a new one: there has been none")
	LeaseTooShort      = because("lease-too-short", "a new one: the last one ends {seconds} s too early")
	LeaseTooLong       = because("lease-too-long", "a new one: the last one ends {seconds} s too late")
	LeaseFull          = because("lease-full", "a new one: the last one has {objects} objects, and takes no more")
	CreateWithRevision = because("create-with-revision", "an object that is to be created cannot have a resourceVersion")
	CreateOverExisting = because("create-over-existing", "something is stored at the key already")
	CreateAtFreeKey    = because("create-at-free-key", "nothing was stored at the key")
	NoConflict         = because("no-conflict", "nobody else wrote meanwhile")
	NothingChanged     = because("nothing-changed", "the bytes are the same: nothing was written")
	WriteConflict      = because("write-conflict",
		"conflict: the key is no longer at revision {revision}: try again with the stored object")
	SuggestionRefused = because("suggestion-refused",
		"refused on a suggested state that etcd no longer has: try again with the stored object")
	SuggestionSame = because("suggestion-same",
		"the same as the suggested state, which etcd no longer has: try again with the stored object")
	DeletedUnread       = because("deleted-unread", "the bytes could not be read, as expected: there is no object to return")
	EventNotSelected    = because("event-not-selected", "not selected, neither before nor now")
	ChangesFromState    = because("changes-from-state", "initial events were asked for: the present state, then its changes")
	ChangesFromRevision = because("changes-from-revision", "a resourceVersion was given: the changes after it")
	ChangesFromAny      = because("changes-from-any", "resourceVersion unset or 0: the present state, then its changes")
	ChangesFromNow      = because("changes-from-now", "resourceVersion unset or 0 and no initial events wanted: the changes from now on")

	GrantByMasters = because("grant-by-masters", "system:masters may grant everything")
	GrantChecked   = because("grant-checked", "what it aggregates was compared when it was written")
	GrantSame      = because("grant-same", "only owners and finalizers change: nothing more is granted")
	GrantFree      = because("grant-free", "the user has the verb {verb:word} here: nothing is compared")
	GrantHeld      = because("grant-held", "the user has all {rules} rules that this grants")
	GrantLacks     = because("grant-lacks", "the user lacks {missing:quote}, which this grants")
	GrantLacksAll  = because("grant-lacks-all", "aggregation may grant everything, which the user does not have")
	GrantNoRole    = because("grant-no-role", "the role of the binding cannot be read, so nobody knows what it grants")

	// etcd: the metrics of its requests.
	EtcdCounted       = because("etcd-counted", "in etcd_requests_total and etcd_request_duration_seconds: {labels:word}")
	EtcdCountedFailed = because("etcd-counted-failed",
		"in etcd_requests_total, etcd_request_errors_total and etcd_request_duration_seconds: {labels:word}")

	// etcd: the outcome of a transaction.
	KeyWasFree   = because("key-was-free", "the key was free")
	KeyUnchanged = because("key-unchanged", "the key was still at revision {revision}")
	KeyMoved     = because("key-moved", "the key is at revision {revision}, not {expected}: nothing was written")
	KeyTaken     = because("key-taken", "the key is taken: nothing was written")
	KeyGone      = because("key-gone", "the key is gone, so it is no longer at revision {expected}: nothing was written")
)

// Refused says whether a reason, given by name, belongs to a transaction that wrote nothing.
func Refused(reason string) bool {
	return reason == KeyMoved.String() || reason == KeyTaken.String() || reason == KeyGone.String()
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Cache is the watch cache of one resource in one process: its contents, its revision, and its watchers. Its name is
// the resource's, such as configmaps or deployments.apps.
type Cache struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. There is no resourceVersion: a cache can't be watched.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The cached resource.
	Spec CacheSpec `json:"spec"`
	// The present state of the cache.
	Status CacheStatus `json:"status"`
}

// CacheSpec names the resource.
type CacheSpec struct {
	// +optional
	Group    string `json:"group,omitempty"`
	Resource string `json:"resource"`
}

// CacheState tells how far a cache can be relied on.
type CacheState string

const (
	// CacheUninitialized has never been filled: no client has read yet, or the cache is being filled for its first
	// reader. All reads go to etcd.
	CacheUninitialized CacheState = "Uninitialized"
	// CacheFresh is filled, and changes come as they happen.
	CacheFresh CacheState = "Fresh"
	// CacheLagging has not seen what etcd is known to have.
	CacheLagging CacheState = "Lagging"
	// CacheBroken gets no changes: it holds at its own revision, and at none since.
	CacheBroken CacheState = "Broken"
	// CacheRefilling missed changes for good, and is filled again.
	CacheRefilling CacheState = "Refilling"
)

// CacheStatus describes a cache.
type CacheStatus struct {
	// Uninitialized, Fresh, Lagging, Broken or Refilling.
	State CacheState `json:"state"`
	// Since when the cache is in this state.
	Since metav1.MicroTime `json:"since"`
	// Why it is, if there is a reason.
	// +optional
	Error string `json:"error,omitempty"`
	// How many objects it has.
	Items int64 `json:"items"`
	// Bytes in memory: stored forms, and forms encoded for clients.
	Bytes int64 `json:"bytes"`
	// The revision up to which the cache has seen all changes.
	Revision int64 `json:"revision"`
	// The latest revision that etcd is known to have had. Only reads make the server ask for it, and a get of this
	// cache by its name.
	EtcdRevision int64 `json:"etcdRevision"`
	// How many revisions the cache is behind what etcd is known to have.
	Lag int64 `json:"lag"`
	// How long the cache took to see etcd's revision at the time of this request, in microseconds. Lists leave it
	// out, and so does a cache that did not get that far.
	// +optional
	CaughtUpMicros *int64 `json:"caughtUpMicros,omitempty"`
	// The events that watches can begin from.
	History CacheHistory `json:"history"`
	// How many states, besides the present one, are kept for lists that are read in pages.
	Snapshots int32 `json:"snapshots"`
	// How many reads and watches the cache answered.
	Hits int64 `json:"hits"`
	// How many etcd answered instead.
	Fallbacks int64 `json:"fallbacks"`
	// How many watches there are.
	Watches int64 `json:"watches"`
	// The watches, the oldest first. Lists leave them out.
	// +optional
	// +listType=atomic
	Watchers []CacheWatcher `json:"watchers,omitempty"`
}

// CacheHistory describes the events in memory, from which watches can begin.
type CacheHistory struct {
	// How many events are kept, and what that takes.
	Events int64 `json:"events"`
	Bytes  int64 `json:"bytes"`
	// The revision after which all events are kept. Watches that begin before are answered 410 Expired.
	After int64 `json:"after"`
	// When the oldest of them came.
	// +optional
	Oldest *metav1.MicroTime `json:"oldest,omitempty"`
	// The limits of events and of their bytes: beyond them the oldest are dropped. Beyond leastEvents, those older
	// than windowSeconds are dropped too.
	MostEvents    int64 `json:"mostEvents"`
	MostBytes     int64 `json:"mostBytes"`
	LeastEvents   int64 `json:"leastEvents"`
	WindowSeconds int64 `json:"windowSeconds"`
}

// CacheWatcher is one watch.
type CacheWatcher struct {
	// Counts the watches of this cache.
	ID int64 `json:"id"`
	// The journey of the watch; empty for the server's own.
	// +optional
	Journey string `json:"journey,omitempty"`
	// Who watches; empty for the server itself.
	// +optional
	User string `json:"user,omitempty"`
	// The watched key of an object, or the prefix of the keys of several.
	Key string `json:"key"`
	// Since when.
	Since metav1.MicroTime `json:"since"`
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
	// +optional
	FieldSelector string `json:"fieldSelector,omitempty"`
	// The program that watches, if the journey of its request is still known.
	// +optional
	UserAgent string `json:"userAgent,omitempty"`
	// The revision that the client knew when the watch began.
	From int64 `json:"from"`
	// The revision up to which the watch was given all that is for it.
	At int64 `json:"at"`
	// How many revisions the watcher is behind the cache.
	Lag int64 `json:"lag"`
	// How many events it was given, bookmarks not counted.
	Sent int64 `json:"sent"`
	// How many events lie ready that its client has not taken.
	Queued int32 `json:"queued"`
	// How many may, until it is behind.
	Buffer int32 `json:"buffer"`
	// Whether more wait for it in the history.
	// +optional
	Behind bool `json:"behind,omitempty"`
	// The revision of the last bookmark that it was sent; 0 if there was none.
	// +optional
	LastBookmark int64 `json:"lastBookmark,omitempty"`
	// When that was.
	// +optional
	LastBookmarkTime *metav1.MicroTime `json:"lastBookmarkTime,omitempty"`
}

// CacheList is a list of caches, in the order of their names.
type CacheList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +listType=atomic
	Items []Cache `json:"items"`
}

// CacheCheck is a comparison of a cache with etcd, at one revision. Each read of it makes one.
type CacheCheck struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata; the name is the cache's.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The result.
	Status CacheCheckStatus `json:"status"`
}

// CacheCheckStatus is the result of a comparison.
type CacheCheckStatus struct {
	// The revision of both.
	Revision int64 `json:"revision"`
	// How many objects etcd has.
	Items int64 `json:"items"`
	// How long it took, in microseconds.
	TookMicros int64 `json:"tookMicros"`
	// Whether both have the same.
	Consistent bool `json:"consistent"`
	// The differences, in the order of the keys.
	// +optional
	// +listType=atomic
	Differences []CacheDifference `json:"differences,omitempty"`
	// How many differences are left out because there are so many.
	// +optional
	Cut int64 `json:"cut,omitempty"`
}

// CacheDifference is a key that is not the same in the cache and in etcd.
type CacheDifference struct {
	Key string `json:"key"`
	// The revision of the object in the cache; 0 if it is not there.
	CachedRevision int64 `json:"cachedRevision"`
	// The revision of the object in etcd; 0 if it is not there.
	EtcdRevision int64 `json:"etcdRevision"`
	// The same in words.
	Message string `json:"message"`
}

// CachedObject is one object as a cache has it, beside what etcd has.
type CachedObject struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata; name and namespace are the object's.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Both.
	Status CachedObjectStatus `json:"status"`
}

// CachedObjectStatus is an object in two places.
type CachedObjectStatus struct {
	// The object's key.
	Key string `json:"key"`
	// The revision up to which the cache has seen all changes.
	Revision int64 `json:"revision"`
	// How the two differ; empty if they don't.
	// +optional
	Difference string `json:"difference,omitempty"`
	// The object in the cache; empty if it is not there.
	// +optional
	Cached *ObjectState `json:"cached,omitempty"`
	// The object in etcd, decrypted and in the version in which it is stored; empty if it is not there.
	// +optional
	Etcd *ObjectState `json:"etcd,omitempty"`
}

// ObjectState is one state of an object.
type ObjectState struct {
	// The revision of its last change.
	Revision int64 `json:"revision"`
	// How many bytes it has as it is stored.
	Bytes int64 `json:"bytes"`
	// Why it can't be read.
	// +optional
	Error string `json:"error,omitempty"`
	// The object itself. Secret values are masked.
	// +optional
	Object *runtime.RawExtension `json:"object,omitempty"`
}

package store

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Interface keeps the objects of one resource.
//
// Keys are paths below the store's own prefix, such as "/configmaps/default/app". "Recursive" reads and watches take a
// key as a directory and always end it with a slash.
type Interface interface {
	// Versioner moves revisions in and out of this store's objects.
	Versioner() Versioner

	// Create writes obj at key if nothing is there, and fills out (unless nil) with the stored object. An obj that
	// already carries a resourceVersion is refused with ErrResourceVersionSetOnCreate, an existing key with a
	// KeyExists error. A ttl of 0 means forever; otherwise seconds. The condition of ctx must hold (see Condition).
	Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error

	// Delete removes the object at key and fills out with its last state, at the revision of the deletion.
	// opts.Preconditions and validateDeletion, which must not change the object, are checked on the state that is
	// removed: opts.Suggestion is used as a first guess and read again whenever it turns out to be stale, also when a
	// check failed on it. out shares the suggestion's content if that state is removed.
	// opts.ExpectTransformOrDecodeError removes an object that can't be decrypted or decoded; out is then left alone.
	Delete(ctx context.Context, key string, out runtime.Object, validateDeletion ValidateObjectFunc, opts DeleteOptions) error

	// Watch sends the changes of key (or of all keys below it) from opts.ResourceVersion on, exclusive. Unset or "0"
	// begins with ADDED events for the present objects. Deleted objects carry the revision of their deletion. The
	// channel is closed after an ERROR event, after Stop, and when ctx ends.
	Watch(ctx context.Context, key string, opts ListOptions) (watch.Interface, error)

	// Get fills objPtr with the object at key. Missing is a KeyNotFound error, or a zero objPtr if
	// opts.IgnoreNotFound. With opts.ResourceVersion the answer is at least that new, or a "Too large resource
	// version" error.
	Get(ctx context.Context, key string, opts GetOptions, objPtr runtime.Object) error

	// GetList fills listObj (a pointer to a list type) with what matches opts.Predicate at key, or below it if
	// opts.Recursive, sets its resourceVersion and, if there is more, its continue token and remaining item count.
	GetList(ctx context.Context, key string, opts ListOptions, listObj runtime.Object) error

	// GuaranteedUpdate calls tryUpdate with the object at key and writes the result. If another writer was faster, it
	// does both again. tryUpdate therefore runs one or more times and must leave its input as it was. destination
	// receives the stored object. If tryUpdate returns the stored state unchanged, nothing is written.
	//
	// A missing key is a KeyNotFound error, or an update of a zero object if opts.IgnoreNotFound, which is written
	// only while the condition of ctx holds. opts.Suggestion is the first guess at the current state, and is modified;
	// if anything fails on a guess, the current state is read and tried instead.
	GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, tryUpdate UpdateFunc, opts UpdateOptions) error

	// Stats counts the objects of the resource, and estimates their size if EnableResourceSizeEstimation was called.
	Stats(ctx context.Context) (Stats, error)

	// ReadinessCheck says why the store cannot serve yet, or nil.
	ReadinessCheck() error

	// RequestWatchProgress asks for a bookmark, at the current revision, on every watch of this store whose context
	// carries the same outgoing metadata as ctx. It is lost while one of those watches catches up.
	RequestWatchProgress(ctx context.Context) error

	// GetCurrentResourceVersion is etcd's revision now, by a linearizable read.
	GetCurrentResourceVersion(ctx context.Context) (uint64, error)

	// EnableResourceSizeEstimation makes Stats report an average object size; keys lists the resource's keys cheaply.
	EnableResourceSizeEstimation(keys KeysFunc) error

	// CompactRevision is the newest revision known to be compacted, 0 if none is known.
	CompactRevision() int64
}

// Versioner moves revisions in and out of objects and lists.
type Versioner interface {
	// UpdateObject sets obj's resourceVersion.
	UpdateObject(obj runtime.Object, resourceVersion uint64) error
	// UpdateList sets a list's resourceVersion, continue token and remaining item count.
	UpdateList(obj runtime.Object, resourceVersion uint64, continueValue string, remainingItemCount *int64) error
	// PrepareObjectForStorage clears what must not be stored: resourceVersion and selfLink.
	PrepareObjectForStorage(obj runtime.Object) error
	// ObjectResourceVersion is obj's revision, 0 if it has none.
	ObjectResourceVersion(obj runtime.Object) (uint64, error)
	// ParseResourceVersion reads a client's resourceVersion; "" and "0" are 0.
	ParseResourceVersion(resourceVersion string) (uint64, error)
}

// ResponseMeta holds what a store knows of an object beside its content.
type ResponseMeta struct {
	// TTL is the remaining lifetime of the object in seconds, if the store knows it. etcd3 always reports 0: to know
	// it would take another request to etcd.
	TTL int64
	// ResourceVersion is the revision of the object's last change, 0 if it does not exist.
	ResourceVersion uint64
}

// UpdateFunc turns the current state of an object into the next one. It may return for how many seconds the next one
// lives, from now on. Without that, etcd3 stores an object that stays, whatever the TTL of the one before.
type UpdateFunc func(input runtime.Object, res ResponseMeta) (output runtime.Object, ttl *uint64, err error)

// ValidateObjectFunc refuses an object by an error.
type ValidateObjectFunc func(ctx context.Context, obj runtime.Object) error

// ValidateAllObjectFunc refuses nothing.
func ValidateAllObjectFunc(context.Context, runtime.Object) error { return nil }

// KeysFunc lists the keys of a resource.
type KeysFunc func(context.Context) ([]string, error)

// Stats describes a resource as it is stored.
type Stats struct {
	ObjectCount                     int64
	EstimatedAverageObjectSizeBytes int64
}

// GetOptions are the options of Interface.Get.
type GetOptions struct {
	// IgnoreNotFound makes a missing key a zero object instead of an error.
	IgnoreNotFound bool
	// ResourceVersion is the least revision that the answer may come from; "" and "0" set no bound here.
	ResourceVersion string
}

// ListOptions are the options of Interface.GetList and Interface.Watch.
type ListOptions struct {
	ResourceVersion      string
	ResourceVersionMatch metav1.ResourceVersionMatch
	Predicate            SelectionPredicate
	// Recursive reads all that lies below the key rather than the key.
	Recursive bool
	// ProgressNotify asks for bookmarks with etcd's revision while nothing changes.
	ProgressNotify bool
	// SendInitialEvents asks a watch for ADDED events of the current state and a bookmark that ends them.
	SendInitialEvents *bool
}

// DeleteOptions are the options of Interface.Delete.
type DeleteOptions struct {
	// Preconditions (may be nil) must hold on the object.
	Preconditions *Preconditions
	// Suggestion (may be nil) is a guess at the current state: an object.Encoded, or an object that the caller has read
	// and gives away, exactly as it is stored.
	Suggestion runtime.Object
	// ExpectTransformOrDecodeError allows the deletion of an object that can't be decrypted or decoded. A readable
	// one is refused.
	ExpectTransformOrDecodeError bool
}

// UpdateOptions are the options of Interface.GuaranteedUpdate.
type UpdateOptions struct {
	// IgnoreNotFound makes a missing key a zero object instead of an error.
	IgnoreNotFound bool
	// Preconditions (may be nil) must hold on the current state.
	Preconditions *Preconditions
	// Suggestion (may be nil) is a guess at the current state, such as a cached object.
	Suggestion runtime.Object
}

// Preconditions must hold on an object before it is changed or removed.
type Preconditions struct {
	UID             *types.UID `json:"uid,omitempty"`
	ResourceVersion *string    `json:"resourceVersion,omitempty"`
}

// NewUIDPreconditions requires a UID.
func NewUIDPreconditions(uid string) *Preconditions {
	u := types.UID(uid)
	return &Preconditions{UID: &u}
}

// Check returns an InvalidObj error naming the precondition that obj does not meet. A nil p always holds.
func (p *Preconditions) Check(key string, obj runtime.Object) error {
	if p == nil {
		return nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return NewInternalError(fmt.Errorf("check preconditions of %s: %T has no metadata: %w", key, obj, err))
	}
	if p.UID != nil && *p.UID != m.GetUID() {
		return NewInvalidObjError(key, fmt.Sprintf(
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, m.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion() {
		return NewInvalidObjError(key, fmt.Sprintf(
			"Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v",
			*p.ResourceVersion, m.GetResourceVersion()))
	}
	return nil
}

package store

import (
	"context"
	"iter"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/object"
)

// EncodedStorage reads and writes objects without decoding them. Decoded, its results equal those of Interface on the
// same storage.
//
// The objects are shared and must not be changed: the first reader that looks inside decodes one for all. An
// unreadable object fails on that first look, not earlier, with the error of Interface.Get.
type EncodedStorage interface {
	// GetEncoded is Interface.Get. It returns nil if nothing is at the key and opts.IgnoreNotFound is set.
	GetEncoded(ctx context.Context, key string, opts GetOptions) (*object.Encoded, error)

	ListReader

	// WatchEncoded is Interface.Watch. The objects of ADDED, MODIFIED and DELETED events are *object.Encoded; those of
	// bookmarks and errors are not. A storage that decodes events anyway answers as Watch does.
	WatchEncoded(ctx context.Context, key string, opts ListOptions) (watch.Interface, error)

	// CreateEncoded is Interface.Create. It returns the stored object.
	CreateEncoded(ctx context.Context, key string, obj runtime.Object, ttl uint64) (*object.Encoded, error)

	// UpdateEncoded is Interface.GuaranteedUpdate. It returns the object as it is stored afterwards.
	UpdateEncoded(ctx context.Context, key string, tryUpdate UpdateFunc, opts UpdateOptions) (*object.Encoded, error)
}

// ListReader reads lists item by item. Besides the EncodedStorage of a resource there are others, whose items had to
// be converted and are therefore decoded already.
type ListReader interface {
	// ListEncoded is Interface.GetList. It fails on objects that can't be read, as far as they are at hand. Later ones
	// end the items with their error.
	ListEncoded(ctx context.Context, key string, opts ListOptions) (*EncodedList, error)
}

// EncodedList is a list at one revision of the storage.
type EncodedList struct {
	Revision int64
	// Continue is the token of the next page. Remaining counts the objects after this page, nil if unknown.
	Continue  string
	Remaining *int64
	// Items are in memory, or are read while the consumer takes them, in the consumer's context.
	Items object.Items
}

// Into decodes the list into listObj. The items belong to the caller.
func (l *EncodedList) Into(ctx context.Context, versioner Versioner, listObj runtime.Object) error {
	if err := l.Items.Into(ctx, listObj); err != nil {
		return err
	}
	return versioner.UpdateList(listObj, uint64(l.Revision), l.Continue, l.Remaining)
}

// EncodedSource is the storage that a cacher fills itself from.
type EncodedSource interface {
	EncodedStorage

	// KeyRevision returns the revision of the object's last change, 0 if nothing is at key, and the revision of the
	// storage. It is a linearizable read, and does not read the object.
	KeyRevision(ctx context.Context, key string) (object, storage int64, err error)

	// ReadAll calls each with every object below key, in the order of keys, all at the revision that it returns. It
	// reads pageSize objects at a time. If that is 0, the storage decides.
	ReadAll(ctx context.Context, key string, pageSize int64, each func(*object.Encoded)) (revision int64, err error)

	// Follow watches the keys below key after a revision, or FromNowOn. Its first call of handle has no changes and
	// no revision: the watch has begun. Only then may RequestWatchProgress be called with this context, since the
	// answer to an earlier request could seem to be about this watch. The later calls have all changes, in order.
	//
	// Follow ends when ctx ends, handle fails, the connection is lost or the changes can't be read, and returns the
	// reason as its error. A 410 says that the changes are compacted. Follow does not check that the revision is of
	// this storage's history.
	Follow(ctx context.Context, key string, revision int64, handle func(Changes) error) error

	// History calls handle with the remembered changes below key, from the first one after a revision up to until, in
	// order and in batches. Each batch has all changes up to its revision, which is until for the last one. History
	// returns the error of handle. A *CompactedError has the revision from which changes are remembered.
	History(ctx context.Context, key string, after, until int64, handle func(PastChanges) error) error

	// Holds says whether objects, in the order of their keys, were all that was below key at a revision. It reads all
	// keys. A 410 says that the revision is forgotten.
	Holds(ctx context.Context, key string, revision int64, objects iter.Seq[*object.Encoded]) (bool, error)

	// OnWrite registers the function that is called with each object that this process writes, on the writer's
	// goroutine, as soon as it is written. Follow has the same change, earlier or later.
	OnWrite(seen func(ctx context.Context, obj *object.Encoded))
}

// FromNowOn makes Follow start with the first change after the watch has begun.
const FromNowOn int64 = -1

// Changes holds all changes of its revisions: no revision is spread over two of them.
type Changes struct {
	// Revision is the one up to which these are all the changes since those of the call before.
	Revision int64
	Changes  []Change
}

// Change is the change of one key. Object is nil if it was deleted.
type Change struct {
	Key      string
	Revision int64
	Object   *object.Encoded
}

// PastChanges holds changes that History read: all of them up to Revision since those of the call before.
type PastChanges struct {
	Revision int64
	Changes  []PastChange
}

// PastChange is a change with the object as it was before, nil if the change created it.
type PastChange struct {
	Change
	Before *object.Encoded
}

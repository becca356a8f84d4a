package store

import (
	"context"
	"iter"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/object"
)

// EncodedReader reads objects without decoding them. What Interface reads of the same storage is what these are, decoded.
//
// The objects are everybody's: to look into one costs a decoding, once for all who look, and nobody may change what they
// see. An object that can't be read is an error when somebody looks, and not earlier: that of Interface.Get.
type EncodedReader interface {
	// GetEncoded is Interface.Get. Nothing at the key is nil if opts.IgnoreNotFound.
	GetEncoded(ctx context.Context, key string, opts GetOptions) (*object.Encoded, error)

	ItemReader

	// WatchEncoded is Interface.Watch. The objects of ADDED, MODIFIED and DELETED events are *object.Encoded; those of
	// bookmarks and errors are not. A storage that has none to give answers as Watch does.
	WatchEncoded(ctx context.Context, key string, opts ListOptions) (watch.Interface, error)
}

// ItemReader reads lists item by item.
type ItemReader interface {
	// ListItems is Interface.GetList. Objects that can't be read are an error of it, as far as they are at hand; others are an
	// error of the items when they are met.
	ListItems(ctx context.Context, key string, opts ListOptions) (*ItemList, error)
}

// EncodedResult is where Interface.Get of an EncodedReader and GetList of an ItemReader put what they read, and Create and
// GuaranteedUpdate what they wrote, undecoded, if they are given it to fill. So there is one way through the layers for both.
type EncodedResult struct {
	// Object is nil if nothing is there and that is no error.
	Object *object.Encoded
	List   *ItemList
}

// GetObjectKind implements runtime.Object.
func (*EncodedResult) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (r *EncodedResult) DeepCopyObject() runtime.Object {
	out := *r
	return &out
}

// ItemList is a list: one moment of the storage.
type ItemList struct {
	// Revision is the moment.
	Revision int64
	// Continue is where the next page begins, and Remaining how many objects there are from there on, nil if nobody
	// counted them.
	Continue  string
	Remaining *int64
	// Items are read as they are taken, where they are not at hand: by whoever takes them, in a context that reads.
	Items object.Items
}

// EncodedSource is what a cacher fills itself from.
type EncodedSource interface {
	EncodedReader

	// KeyRevision is the revision of the last change of the object at key, 0 if there is none, and that of the storage:
	// by a linearizable read that does not read the object.
	KeyRevision(ctx context.Context, key string) (object, storage int64, err error)

	// ReadAll calls each with every object below key, in the order of keys, all at the revision that it returns. It reads
	// pageSize objects at a time; 0 is for the storage to decide.
	ReadAll(ctx context.Context, key string, pageSize int64, each func(*object.Encoded)) (revision int64, err error)

	// Follow calls handle with no changes and no revision when it has begun to follow: only then may RequestWatchProgress be
	// called with this context, since an answer to an earlier request could seem to be about this watch. Then it calls it
	// with all changes of what is below key after a revision, or FromNowOn, in order, until ctx ends, handle fails, the
	// connection is lost or the changes can't be had: that is its error. A 410 says that they can't be had any more. Whether
	// the storage is still the one that the revision is of is not looked at.
	Follow(ctx context.Context, key string, revision int64, handle func(Changes) error) error

	// History calls handle with the changes of what is below key after one revision and up to another, in order and in
	// batches, from what the storage remembers. Each batch has all changes up to its revision; the last one's is until. It
	// ends when handle fails, with its error. A *CompactedError says from where on changes are remembered.
	History(ctx context.Context, key string, after, until int64, handle func(PastChanges) error) error

	// Holds says whether objects, in the order of their keys, are what was below key at a revision. It costs a read of all
	// keys. A 410 says that nobody knows any more.
	Holds(ctx context.Context, key string, revision int64, objects iter.Seq[*object.Encoded]) (bool, error)

	// OnWrite has seen called with each object that this process writes, on the writer's goroutine, as soon as it is
	// written. The same change comes by Follow: earlier or later.
	OnWrite(seen func(ctx context.Context, obj *object.Encoded))
}

// FromNowOn is the revision to Follow after for all changes that come once it has begun.
const FromNowOn int64 = -1

// Changes are changes that belong together: whoever has seen one of a revision has seen all of it.
type Changes struct {
	// Revision is up to where there are no other changes than these, since the ones before.
	Revision int64
	Changes  []Change
}

// Change is the change of one key. Object is nil if it was deleted.
type Change struct {
	Key      string
	Revision int64
	Object   *object.Encoded
}

// PastChanges are changes that happened a while ago, and all there were up to Revision since the ones before.
type PastChanges struct {
	Revision int64
	Changes  []PastChange
}

// PastChange is a change with the object as it was before, nil if the change created it.
type PastChange struct {
	Change
	Before *object.Encoded
}

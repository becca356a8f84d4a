package registry

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// DryRunnableStorage stands in front of a storage, and does not let a dry run through to write: that reads what is
// there, does what the storage would do with it, and answers as if it had been done.
type DryRunnableStorage struct {
	Storage store.Interface
	// Codec turns what would have been stored into what would have been read.
	Codec runtime.Codec
}

// Versioner is the storage's.
func (s *DryRunnableStorage) Versioner() store.Versioner { return s.Storage.Versioner() }

// Stats is the storage's.
func (s *DryRunnableStorage) Stats(ctx context.Context) (store.Stats, error) {
	return s.Storage.Stats(ctx)
}

// readsEncoded says whether the storage can be read without decoding.
func (s *DryRunnableStorage) readsEncoded() bool {
	_, ok := s.Storage.(store.EncodedReader)
	return ok
}

// readsItems says whether the storage can list item by item.
func (s *DryRunnableStorage) readsItems() bool {
	_, ok := s.Storage.(store.ItemReader)
	return ok
}

// Get reads one object.
func (s *DryRunnableStorage) Get(ctx context.Context, key string, opts store.GetOptions, objPtr runtime.Object) (err error) {
	ctx, step := trace.Start(ctx, trace.DryRunGet, key)
	defer step.End(&err)
	return s.Storage.Get(ctx, key, opts, objPtr)
}

// GetList reads a list.
func (s *DryRunnableStorage) GetList(ctx context.Context, key string, opts store.ListOptions, listObj runtime.Object) (err error) {
	ctx, step := trace.Start(ctx, trace.DryRunList, key)
	defer step.End(&err)
	return s.Storage.GetList(ctx, key, opts, listObj)
}

// Watch starts a watch, of objects as they are stored if that is wanted.
func (s *DryRunnableStorage) Watch(ctx context.Context, key string, opts store.ListOptions, encoded bool) (w watch.Interface, err error) {
	ctx, step := trace.Start(ctx, trace.DryRunWatch, key)
	defer step.End(&err)
	if encoded {
		return s.Storage.(store.EncodedReader).WatchEncoded(ctx, key, opts)
	}
	return s.Storage.Watch(ctx, key, opts)
}

// Create stores obj. A dry run only looks whether the key is free.
func (s *DryRunnableStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64, dryRun bool) (err error) {
	ctx, step := trace.Start(ctx, trace.DryRunCreate, key)
	defer step.End(&err)
	if !dryRun {
		step.Why(whyNotDry)
		return s.Storage.Create(ctx, key, obj, out, ttl)
	}
	step.Why("dry run: look whether the key is free, write nothing")
	switch err := s.Storage.Get(ctx, key, store.GetOptions{}, out); {
	case err == nil, store.IsCorruptObject(err):
		return store.NewKeyExistsError(key, 0)
	case !store.IsNotFound(err):
		return err
	}
	return s.copyInto(obj, out)
}

// Delete removes an object. A dry run only reads and checks it.
func (s *DryRunnableStorage) Delete(ctx context.Context, key string, out runtime.Object, preconditions *store.Preconditions,
	deleteValidation store.ValidateObjectFunc, dryRun bool, cachedExistingObject runtime.Object, opts store.DeleteOptions) (err error) {
	ctx, step := trace.Start(ctx, trace.DryRunDelete, key)
	defer step.End(&err)
	if !dryRun {
		step.Why(whyNotDry)
		return s.Storage.Delete(ctx, key, out, preconditions, deleteValidation, cachedExistingObject, opts)
	}
	step.Why("dry run: read it and check it, remove nothing")
	if err := s.Storage.Get(ctx, key, store.GetOptions{}, out); err != nil {
		return err
	}
	if err := preconditions.Check(key, out); err != nil {
		return err
	}
	return deleteValidation(ctx, out)
}

// GuaranteedUpdate changes an object. A dry run calls tryUpdate once, on what is there now.
func (s *DryRunnableStorage) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *store.Preconditions, tryUpdate store.UpdateFunc, dryRun bool, cachedExistingObject runtime.Object) (err error) {
	ctx, step := trace.Start(ctx, trace.DryRunUpdate, key)
	defer step.End(&err)
	if !dryRun {
		step.Why(whyNotDry)
		return s.Storage.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, cachedExistingObject)
	}
	step.Why("dry run: try the update once on what is there, write nothing")
	current, err := newLike(destination)
	if err != nil {
		return err
	}
	if err := s.Storage.Get(ctx, key, store.GetOptions{IgnoreNotFound: ignoreNotFound}, current); err != nil {
		return err
	}
	if err := preconditions.Check(key, current); err != nil {
		return err
	}
	revision, err := s.Versioner().ObjectResourceVersion(current)
	if err != nil {
		return err
	}
	updated, _, err := tryUpdate(current, store.ResponseMeta{ResourceVersion: revision})
	if err != nil {
		return err
	}
	return s.copyInto(updated, destination)
}

const whyNotDry = "not a dry run: passed on"

// newLike is an empty object of obj's type.
func newLike(obj runtime.Object) (runtime.Object, error) {
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.NewEmptyInstance(), nil
	}
	v, err := conversion.EnforcePtr(obj)
	if err != nil {
		return nil, fmt.Errorf("unable to convert output object to pointer: %v", err)
	}
	return reflect.New(v.Type()).Interface().(runtime.Object), nil
}

// copyInto gives out what a reader would get, had in been stored.
func (s *DryRunnableStorage) copyInto(in, out runtime.Object) error {
	data, err := runtime.Encode(s.Codec, in)
	if err != nil {
		return err
	}
	_, _, err = s.Codec.Decode(data, nil, out)
	return err
}

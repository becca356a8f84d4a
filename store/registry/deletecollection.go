package registry

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

var (
	collectionDeleted = trace.Because("collection-deleted",
		"{objects} objects found and deleted",
		"找到并删除了 {objects} 个对象")
	collectionShrunk = trace.Because("collection-shrunk",
		"{objects} objects found; {gone} of them were gone when their turn came, which is no error",
		"找到 {objects} 个对象；轮到删除时其中 {gone} 个已经不在，这不算错误")
)

// DeleteCollection implements rest.CollectionDeleter: it lists objects and deletes them in parallel. It is not
// atomic. On the first error no further object is begun; those deleted by then stay deleted. The answer is the list
// as it was found; a long one is read a second time, at the same revision.
func (e *Store) DeleteCollection(ctx context.Context, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	listOptions *metainternalversion.ListOptions) (_ runtime.Object, err error) {
	workers := max(e.options.DeleteCollectionWorkers, 1)
	ctx, step := trace.Start(ctx, steps.StoreDeleteCollection, e.KeyRootFunc(ctx))
	defer step.End(&err)
	step.Int("workers", int64(workers))
	found, err := e.find(ctx, listOptions)
	if err != nil {
		return nil, err
	}
	names := make(chan string)
	var gone atomic.Int64
	group, groupCtx := errgroup.WithContext(ctx)
	for range workers {
		// Deletions under way are finished when another one fails, so they run in ctx, not in groupCtx.
		workerCtx := trace.Fork(ctx)
		group.Go(func() error {
			for name := range names {
				if groupCtx.Err() != nil {
					continue
				}
				err := e.deleteOne(workerCtx, name, deleteValidation, options)
				if apierrors.IsNotFound(err) {
					gone.Add(1) // somebody else was faster
				} else if err != nil {
					return err
				}
			}
			return nil
		})
	}
	feed(groupCtx, names, found.names)
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if n := gone.Load(); n > 0 {
		step.Why(collectionShrunk, int64(len(found.names)), n)
	} else {
		step.Why(collectionDeleted, int64(len(found.names)))
	}
	return found.answer(ctx)
}

// feed sends names to workers until ctx ends.
func feed(ctx context.Context, to chan<- string, names []string) {
	defer close(to)
	for _, name := range names {
		select {
		case to <- name:
		case <-ctx.Done():
			return
		}
	}
}

// deleteOne deletes one object of a collection. A panic would end the process, outside of the request's goroutine.
func (e *Store) deleteOne(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			slog.ErrorContext(ctx, "panic while deleting an object of a collection", "panic", reason, "stack", string(debug.Stack()))
			err = fmt.Errorf("DeleteCollection goroutine panicked: %v", reason)
		}
	}()
	// The strategy writes each object's grace period into its options.
	_, _, err = e.Delete(ctx, name, deleteValidation, options.DeepCopy())
	return err
}

// nameOf is an object's name. An encoded object need not be decoded for that: its key ends with it.
func nameOf(obj runtime.Object) (string, error) {
	if encoded, ok := obj.(*object.Encoded); ok {
		return path.Base(encoded.Key()), nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return "", err
	}
	return m.GetName(), nil
}

// heldBytes limits the objects that DeleteCollection keeps in memory for its answer.
const heldBytes = 1 << 20

// collection holds the objects to delete, and the answer.
type collection struct {
	store   *Store
	options *metainternalversion.ListOptions
	names   []string
	// list is the answer. tooLong says that it has to be read again: its objects would stay in memory, although they
	// are deleted everywhere else.
	list    runtime.Object
	tooLong bool
}

func (e *Store) find(ctx context.Context, options *metainternalversion.ListOptions) (*collection, error) {
	c := &collection{store: e, options: options}
	var err error
	if c.list, err = e.ListEncoded(ctx, options); err != nil {
		return nil, err
	}
	list, ok := c.list.(*object.List)
	if !ok {
		return c, meta.EachListItem(c.list, c.add)
	}
	var held []runtime.Object
	size := 0
	for item, err := range list.Items(ctx) {
		if err == nil {
			err = c.add(item)
		}
		if err != nil {
			return nil, err
		}
		if size += object.SizeOf(item); size > heldBytes {
			c.tooLong, held = true, nil
			continue
		}
		held = append(held, item)
	}
	if list.Items = object.ItemsOf(held); c.tooLong {
		list.Items = nil
	}
	return c, nil
}

func (c *collection) add(obj runtime.Object) error {
	name, err := nameOf(obj)
	c.names = append(c.names, strings.Clone(name)) // without the key that it is the end of
	return err
}

// answer returns the list as it was found.
func (c *collection) answer(ctx context.Context) (runtime.Object, error) {
	if !c.tooLong {
		return c.list, nil
	}
	again := &metainternalversion.ListOptions{}
	if c.options != nil {
		again = c.options.DeepCopy()
	}
	if again.Continue == "" {
		again.ResourceVersion = c.list.(*object.List).ResourceVersion
		again.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	}
	return c.store.ListEncoded(ctx, again)
}

package registry

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
)

// defaultDeleteCollectionPageSize bounds how many objects are read before the first of them are deleted.
const defaultDeleteCollectionPageSize = 10000

// DeleteCollection implements rest.CollectionDeleter: it lists, page by page, and deletes what it finds in parallel. It
// is not atomic. On the first error no further object is begun; those deleted by then stay deleted. The answer is the
// list of what was found: encoded, if that will do, for decoded it is several times as large.
func (e *Store) DeleteCollection(ctx context.Context, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	listOptions *metainternalversion.ListOptions) (_ runtime.Object, err error) {
	workers := max(e.DeleteCollectionWorkers, 1)
	ctx, step := trace.Start(ctx, trace.StoreDeleteCollection, e.KeyRootFunc(ctx))
	defer step.End(&err)
	step.Int("workers", int64(workers))
	listCtx := ctx
	ctx = rest.WithDecoded(ctx)

	found := make(chan runtime.Object, workers)
	group, groupCtx := errgroup.WithContext(ctx)
	for range workers {
		// Deletions under way are finished when another one fails, so they run in ctx, not in groupCtx.
		workerCtx := trace.Fork(ctx)
		group.Go(func() error {
			for obj := range found {
				if groupCtx.Err() != nil {
					continue
				}
				if err := e.deleteOne(workerCtx, obj, deleteValidation, options); err != nil {
					return err
				}
			}
			return nil
		})
	}
	list, items, listErr := e.listPages(listCtx, groupCtx.Done(), listOptions, found)
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if listErr != nil {
		return nil, listErr
	}
	step.Whyf("%d objects found and deleted", items)
	return list, nil
}

// deleteOne deletes one object of a collection. A panic would end the process, outside of the request's goroutine.
func (e *Store) deleteOne(ctx context.Context, obj runtime.Object, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			slog.ErrorContext(ctx, "panic while deleting an object of a collection", "panic", reason, "stack", string(debug.Stack()))
			err = fmt.Errorf("DeleteCollection goroutine panicked: %v", reason)
		}
	}()
	name, err := nameOf(obj)
	if err != nil {
		return err
	}
	// The strategy writes each object's grace period into its options.
	if _, _, err := e.Delete(ctx, name, deleteValidation, options.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
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

// listPages sends all objects to found and returns them as one list. A client's limit means one page. It stops when
// stop is closed, without an error: whoever closes it has one. It closes found at its end, also if the list panics: nobody
// waits for more then.
func (e *Store) listPages(ctx context.Context, stop <-chan struct{}, listOptions *metainternalversion.ListOptions,
	found chan<- runtime.Object) (whole runtime.Object, count int, err error) {
	defer close(found)
	page := &metainternalversion.ListOptions{}
	if listOptions != nil {
		page = listOptions.DeepCopy()
	}
	onePage := page.Limit > 0
	if !onePage {
		page.Limit = defaultDeleteCollectionPageSize
		if e.deleteCollectionPageSize > 0 {
			page.Limit = e.deleteCollectionPageSize
		}
	}
	var items []runtime.Object
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		list, err := e.List(ctx, page)
		if err != nil {
			return nil, 0, err
		}
		pageItems, err := meta.ExtractList(list)
		if err != nil {
			return nil, 0, err
		}
		items = append(items, pageItems...)
		for _, item := range pageItems {
			select {
			case found <- item:
			case <-stop:
				return nil, 0, ctx.Err()
			}
		}
		m, err := meta.ListAccessor(list)
		if err != nil {
			return nil, 0, err
		}
		if whole == nil {
			whole = list
		}
		if onePage {
			return whole, len(items), nil
		}
		if m.GetContinue() == "" {
			return whole, len(items), joinPages(whole, items)
		}
		page.Continue = m.GetContinue()
		page.ResourceVersion, page.ResourceVersionMatch = "", ""
	}
}

// joinPages puts the items of all pages into the first one, which then is the whole and continues nowhere.
func joinPages(first runtime.Object, items []runtime.Object) error {
	m, err := meta.ListAccessor(first)
	if err != nil {
		return err
	}
	m.SetContinue("")
	m.SetRemainingItemCount(nil)
	list, encoded := first.(*object.List)
	if !encoded {
		return meta.SetList(first, items)
	}
	list.Items = make([]*object.Encoded, len(items))
	for i, item := range items {
		encoded, ok := item.(*object.Encoded)
		if !ok {
			return fmt.Errorf("a page of an encoded list has a %T", item)
		}
		list.Items[i] = encoded
	}
	return nil
}

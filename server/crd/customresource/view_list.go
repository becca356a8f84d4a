package customresource

import (
	"context"
	"iter"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store"
)

var _ store.ListReader = &view{}

// GetList is ListEncoded with all items decoded and converted.
func (v *view) GetList(ctx context.Context, key string, opts store.ListOptions, listObj runtime.Object) error {
	found, err := v.ListEncoded(ctx, key, opts)
	if err != nil {
		return err
	}
	return found.Into(ctx, v.Versioner(), listObj)
}

// ListEncoded converts objects when they are read, several with one call of a webhook.
func (v *view) ListEncoded(ctx context.Context, key string, opts store.ListOptions) (*store.EncodedList, error) {
	if v.selectsAbove(&opts.Predicate) {
		return v.selectItems(ctx, key, opts)
	}
	list, err := v.below.ListEncoded(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	list.Items = v.convertItems(list.Items, int(opts.Predicate.Limit))
	return list, nil
}

// heldBytes limits the part of a page that stays in memory if its objects are selected after their conversion.
// The items of a larger page are read and converted again when the caller reads them.
const heldBytes = 1 << 20

// selectItems lists the converted objects that opts selects.
func (v *view) selectItems(ctx context.Context, key string, opts store.ListOptions) (*store.EncodedList, error) {
	selects := opts.Predicate
	limit := int(selects.Limit)
	if limit > 0 && opts.ResourceVersion != "" && opts.ResourceVersion != "0" && opts.ResourceVersionMatch == "" {
		opts.ResourceVersionMatch = metav1.ResourceVersionMatchExact // the limit implies it, but the storage does not see the limit
	}
	opts.Predicate = withoutSelectors(selects)
	opts.Predicate.Limit = 0
	list, err := v.below.ListEncoded(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	all := v.convertItems(list.Items, limit)
	if limit == 0 {
		list.Items = selectItems(all, &selects, 0)
		return list, nil
	}
	page, err := readPage(ctx, all, &selects, limit)
	if err != nil {
		return nil, err
	}
	if list.Items = object.ItemsOf(page.held); page.held == nil {
		list.Items = selectItems(all, &selects, page.count)
	}
	if page.more {
		list.Continue, err = store.EncodeContinue(v.keyOf(page.last, key)+"\x00", key+"/", list.Revision)
	}
	return list, err
}

// page is a limited part of a selection.
type page struct {
	count int
	last  *unstructured.Unstructured
	// held holds the page's items; it is nil if they are too large.
	held []runtime.Object
	// more means that further objects exist, selected or not.
	more bool
}

func readPage(ctx context.Context, all object.Items, selects *store.SelectionPredicate, limit int) (*page, error) {
	p := &page{held: []runtime.Object{}}
	size := 0
	for item, err := range all(ctx) {
		if err != nil {
			return nil, err
		}
		if p.more = p.count == limit; p.more {
			return p, nil
		}
		u, matches, err := match(item, selects)
		if err != nil {
			return nil, err
		}
		if !matches {
			continue
		}
		p.count, p.last = p.count+1, u
		if size += object.SizeOf(u); size > heldBytes {
			p.held = nil
		} else {
			p.held = append(p.held, item)
		}
	}
	return p, nil
}

// selectItems returns up to limit selected items, all of them if limit is 0.
func selectItems(items object.Items, selects *store.SelectionPredicate, limit int) object.Items {
	return func(ctx context.Context) iter.Seq2[runtime.Object, error] {
		return func(yield func(runtime.Object, error) bool) {
			left := limit
			for item, err := range items(ctx) {
				matches := false
				if err == nil {
					_, matches, err = match(item, selects)
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if !matches {
					continue
				}
				left--
				if !yield(item, nil) || left == 0 {
					return
				}
			}
		}
	}
}

// match decodes an item and reports whether it is selected. An item that the selector can't evaluate is not.
func match(item runtime.Object, selects *store.SelectionPredicate) (*unstructured.Unstructured, bool, error) {
	decoded, err := object.Decode(item)
	if err != nil {
		return nil, false, err
	}
	u, err := asUnstructured(decoded)
	if err != nil {
		return nil, false, err
	}
	matches, err := selects.Matches(u)
	return u, err == nil && matches, nil
}

// keyOf returns the key of an object below key, the key of a namespace or of all objects.
func (v *view) keyOf(u *unstructured.Unstructured, key string) string {
	if namespace := u.GetNamespace(); namespace != "" && key == v.prefix {
		key += "/" + namespace
	}
	return key + "/" + u.GetName()
}

// previous returns the converted object from before the change at a revision, nil if it did not exist.
func (v *view) previous(ctx context.Context, key string, revision uint64) (*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	err := v.GetList(ctx, key, store.ListOptions{
		ResourceVersion:      strconv.FormatUint(revision-1, 10),
		ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		Predicate:            store.Everything,
	}, list)
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}
